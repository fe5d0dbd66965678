"""Anytime-valid tests: one that stops as soon as it can, and the design of it and of the nightly checks.

Nothing here is a limit theorem. If the source is a total variation δ from the law, the set A of cells that it favours
is hit N (p(A) + δ) times on average, and fewer than N (p(A) + d), d = δ - sqrt(log(1 / beta) / (2 N)), with probability
at most beta (Hoeffding). Of all counts that hit some set so often above its expectation the e-value has a least, log E
being convex in the counts; where that reaches the alarm, the alarm is certain.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from math import ceil, exp, inf, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, zeta

from ..models.errors import InputError
from .arguments import checked_rates, checked_size, log_inverse
from .bounds import total_variation_bound
from .cells import Counts, Law, checked_counts, checked_law
from .design import Refuted, certain_message
from .eprocess import MAX_STARTS, concentrations, log_evidence, unspent

FIRST_LOOK = 1000
"""Draws before the first look."""

LOOK_GROWTH = 1.1
"""Factor by which the draws grow from look to look."""

LATEST_FIRST_NIGHT = 3 * 365
"""The night by which a deviation begins at the latest, by default: the later, the less is left to bet."""

LARGE_PROBABILITY = 0.2
"""Probability from which on both sides of a cell's expectation are examined one by one: five cells at most."""

MAX_LOG_MULTIPLIER = 6.0
"""Logarithm of the largest multiplier tried: exp(exp(6)) is still a number."""

MIN_START_NIGHTS = MAX_STARTS // 2
"""Nights for which a start is certain to be in memory (``EProcess.open_night``)."""


class SequentialResult(NamedTuple):
    """A result of a sequential test.

    refuted: whether the law is refuted; a right law is, with probability at most alpha
    draws: number of draws taken
    log_e: log of the evidence against the law, at the end
    upper: upper bound on the total variation, at confidence 1 - alpha
    impossible: the cell of probability 0 that was hit and its count, or None
    counts: [V], all draws
    """

    refuted: bool
    draws: int
    log_e: float
    upper: float
    impossible: tuple[int, int] | None
    counts: np.ndarray


def looks(max_draws: int) -> Iterator[int]:
    """Return the numbers of draws at which the test looks, ending with ``max_draws``."""
    at = min(FIRST_LOOK, max_draws)
    while at < max_draws:
        yield at
        at = max(at + 1, ceil(at * LOOK_GROWTH))
    yield max_draws


def sequential_test(
    draw: Callable[[int], Counts],
    law: Law,
    *,
    alpha: float = 1e-6,
    bound: float | None = None,
    max_draws: int = 1_000_000,
) -> SequentialResult:
    """Draw until the law is refuted, or the total variation is at most ``bound``, or ``max_draws`` are drawn.

    Refuted where log E >= log(1 / alpha) at any look; bounded where the upper bound, at confidence 1 - alpha_j with
    the alpha_j of all looks adding up to alpha, is at most ``bound``.
    draw: n -> counts of n fresh draws, [V]
    law: [V], sum 1
    bound: total variation, or None to go on to ``max_draws``
    Guarantee: under the law, Pr(refuted) <= alpha; whatever the law, Pr(TV > upper) <= alpha.
    Raises: InputError for a law that does not add up to 1, counts of another shape or another number of draws, and an
    alpha or bound outside of (0, 1).
    """
    if not 0 < alpha < 1 or not (bound is None or 0 < bound < 1) or max_draws < 1:
        raise InputError(f"expected 0 < alpha < 1, 0 < bound < 1, max_draws >= 1; got {alpha}, {bound}, {max_draws}")
    law = checked_law(law)
    row = np.array(list(law.values()))
    possible = row > 0
    counts = np.zeros(len(row), dtype=np.int64)
    log_e, upper, n = 0.0, 1.0, 0
    for look, n in enumerate(looks(max_draws)):
        wanted = n - int(counts.sum())
        seen = dict(checked_counts(draw(wanted), law))
        fresh = np.array([seen.pop(outcome, 0) for outcome in law])
        if seen:
            raise InputError(f"counts of {next(iter(seen))!r}, which the distribution does not list")
        if fresh.sum() != wanted:
            raise InputError(f"{fresh.sum()} draws were counted, expected {wanted}")
        counts += fresh
        impossible = np.where(possible, 0, counts)
        if impossible.any():
            worst = int(impossible.argmax())
            return SequentialResult(True, n, inf, 1.0, (worst, int(impossible[worst])), counts)
        log_e = float(log_evidence(counts[possible], row[possible]))
        share = alpha * (unspent(look) - unspent(look + 1))
        upper = min(upper, total_variation_bound(counts, row, share).upper)
        if log_e >= -log(alpha) or (bound is not None and upper <= bound):
            break
    return SequentialResult(log_e >= -log(alpha), n, log_e, upper, None, counts)


def assert_sequential(draw: Callable[[int], Counts], law: Law, **options: Any) -> SequentialResult:
    """Assert that a black box follows the law, as far as its draws show. options: those of ``sequential_test``.

    Guarantee: refutes the right law with probability at most alpha (``sequential_test``).
    Raises: Refuted with the impossible outcome, or the cell that is most off; InputError.
    """
    result, row = sequential_test(draw, law, **options), checked_law(law)
    if result.impossible is not None:
        place, times = result.impossible
        raise Refuted(certain_message(list(row)[place], times), result)
    if result.refuted:
        seen = zip(row, result.counts.tolist(), strict=True)
        outcome, times = max(seen, key=lambda o: abs(o[1] / result.draws - row[o[0]]))
        witness = f"{outcome!r} was seen {times} times, expected {result.draws * row[outcome]:.6g}"
        raise Refuted(f"not the distribution: log E = {result.log_e:.4g} after {result.draws} draws; {witness}", result)
    return result


def min_detectable_sequential(n: float, cells: int | Law, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """Return the total variation from which on a sequential test of at most n draws refutes, except with probability
    beta.

    d(n) + sqrt(log(1 / beta) / (2 n)), d(n): the least total variation between counts and law at which log E is
    certain to be log(1 / alpha) or more.
    n: ``max_draws`` of the test
    cells, alpha, beta, Guarantee, Raises, Source: as in ``min_detectable_anytime``.
    """
    checked_size("n", n, 1)
    checked_rates(alpha, beta)
    return _detectable(n, _row(cells), log_inverse(alpha), beta)


def min_detectable_anytime(
    n: float,
    cells: int | Law,
    nights: int = 1,
    alpha: float = 1e-6,
    beta: float = 1e-3,
    checks: int = 1,
    begins: int = LATEST_FIRST_NIGHT,
) -> float:
    """Return the total variation from which on a deviation raises an alarm in its first nights, except with
    probability beta.

    d + sqrt(log(1 / beta) / (2 N)), N = n nights, d: the least total variation between counts and law at which the
    start of the first night, w E(N draws), is certain to reach checks / alpha.
    n: draws a night
    cells: the law, or the number of cells of equal probability
    nights: number of nights from the first one that deviates, that one included; a start is in memory for 16 nights: of
    more nights the last 16 count
    alpha: the budget of the cohort that the check belongs to (``cohort_alpha``)
    checks: number of checks of that cohort
    begins: the deviation begins on that night of the check, counted from 1, or earlier
    Result: at most 1, which is then no statement.
    Guarantee: finite-sample, for every source that is at least so far from the law (in any direction, draws
    independent, or each at least so far in one direction given the past), whatever came in the nights before and
    whatever Holm's procedure has refuted. In simulations it was 1.05 (4 cells) to 1.4 times (256) the total variation
    that would have been enough in the direction hardest to detect. Raises: InputError for a law, a size or a rate out
    of range.
    Source: Hoeffding 1963 (binomial tail); the least of log E by Lagrange duality; ``eprocess``, ``holm`` for the rule.
    """
    for name, value in (("n", n), ("nights", nights), ("checks", checks), ("begins", begins)):
        checked_size(name, value, 1)
    checked_rates(alpha, beta)
    used = min(nights, MIN_START_NIGHTS)
    start = begins + nights - used
    goal = log(checks) + log_inverse(alpha) - log(unspent(start - 1) - unspent(start))
    return _detectable(n * used, _row(cells), goal, beta)


def _row(cells: int | Law) -> tuple[float, ...]:
    if isinstance(cells, int):
        checked_size("cells", cells, 1)
        return (1 / cells,) * cells
    return tuple(sorted(p for p in checked_law(cells).values() if p > 0))


def _detectable(draws: float, row: tuple[float, ...], goal: float, beta: float) -> float:
    if len(row) == 1:
        # Only what the law excludes can deviate: one draw of it is an alarm.
        return 1 - exp(log(beta) / draws)
    return min(1.0, certain_from(draws, row, goal) + sqrt(log_inverse(beta) / (2 * draws)))


@lru_cache(maxsize=1024)
def certain_from(draws: float, row: tuple[float, ...], goal: float) -> float:
    """Return the total variation between counts and law from which on log E is at least ``goal``, whatever the counts.

    The least d of a search with g(l, m) + l N d >= goal + log(mixture), where, for one concentration c,
    g = log Γ(c) / Γ(c + N) + m N + sum_k min_x (φ_k(x) - l (x - N p_k)+ - m x), φ_k(x) = log Γ(c p_k + x) / Γ(c p_k) -
    x log p_k: the dual of the least of log E_c over counts of sum N with sum (x - N p_k)+ >= N d.
    draws: N, their number
    row: positive probabilities in rising order
    goal: log of what the e-value has to reach
    Result: above 1 where no counts are certain.
    Guarantee: every pair (l, m) gives a d that is large enough (weak duality), so a search that stops early returns too
    much, never too little. Source: Boyd and Vandenberghe 2004, Section 5.1.
    """
    values, repeated = np.unique(row, return_counts=True)
    mixture, large = concentrations(len(row)), values >= LARGE_PROBABILITY
    distance = 0.0
    for case in product(*(range(m + 1) for m in repeated[large])):
        up = np.zeros(len(values))
        up[large] = case
        if large.all() and up.sum() in (0, len(row)):
            continue  # all cells cannot be on one side of their expectations
        sides = np.where(large, 0, repeated), up, np.where(large, repeated - up, 0)
        duals = [_Dual(draws, values, sides, c, goal + log(len(mixture))) for c in mixture]
        likely = sorted(duals, key=lambda dual: dual.distance(dual.start))[:2]
        distance = max(distance, min(dual.least() for dual in likely))
    return distance


class _Dual:
    """A function of two multipliers: d at m and the logarithm of l.

    sides: [k] each, how many cells of each of the k probabilities may be on either side of their expectation, are above
    it, are below it
    """

    def __init__(self, draws: float, values: np.ndarray, sides: tuple[np.ndarray, ...], c: float, goal: float):
        self.draws, self.sides, self.logs = draws, sides, np.log(values)
        self.expected, self.before = draws * values, c * values
        repeated = sides[0] + sides[1] + sides[2]
        self.missing = goal - float(gammaln(c) - gammaln(c + draws) - repeated @ gammaln(self.before))
        # All cells moved in proportion to their probability, half of the mass up and half down, by a likely size.
        size = min(0.45, sqrt((goal + 0.5 * repeated.sum() * log1p(draws / c)) / (2 * draws)))
        down, up = log(c + draws * (1 - 2 * size)), log(c + draws * (1 + 2 * size))
        self.start, self.step = np.array([down, log(up - down)]), (up - down) / 8

    def distance(self, point: np.ndarray) -> float:
        """Return the d of one pair of multipliers. The slope of φ is m + l in cells above their expectation, m below
        it.
        """
        if point[1] > MAX_LOG_MULTIPLIER:
            return inf
        down, up = point[0], point[0] + exp(point[1])
        # Both slopes in one call of the special functions, which is where the time goes.
        k = len(self.logs)
        at = _inverse_digamma(np.concatenate([self.logs + down, self.logs + up]))
        x, y = np.clip(at[:k] - self.before, 0, self.expected), np.maximum(at[k:] - self.before, self.expected)
        worth = gammaln(np.concatenate([self.before + x, self.before + y]))
        below = worth[:k] - x * (self.logs + down)
        above = worth[k:] - y * (self.logs + up) + (up - down) * self.expected
        either, all_above, all_below = self.sides
        total = either @ np.minimum(below, above) + all_above @ above + all_below @ below
        return float((self.missing - total - down * self.draws) / ((up - down) * self.draws))

    def least(self) -> float:
        """Return the least d of the search."""
        corners = self.start + np.array([[0, 0], [self.step, 0], [0, 0.25]])
        options = {"initial_simplex": corners, "xatol": 1e-4, "fatol": 1e-7, "maxiter": 400}
        return max(0.0, float(minimize(self.distance, self.start, method="Nelder-Mead", options=options).fun))


def _inverse_digamma(y: np.ndarray) -> np.ndarray:
    """Invert the digamma function by Newton's method from Minka's start (2000, Estimating a Dirichlet distribution,
    Appendix C).
    """
    x = np.where(y >= -2.22, np.exp(y) + 0.5, -1 / (y - digamma(1)))
    for _ in range(5):
        x = x - (digamma(x) - y) / zeta(2, x)  # zeta(2, x) is the trigamma function, in a fraction of the time
    return x
