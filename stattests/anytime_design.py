"""Design of the anytime-valid tests: assert, the smallest total variation detected in time, and the draws it needs.

Nothing here is a limit theorem. If the source is a total variation δ from the law, the set A of cells that it favours
is hit N (p(A) + δ) times on average, and fewer than N (p(A) + d), d = δ - sqrt(log(1 / beta) / (2 N)), with probability
at most beta (Hoeffding). Of all counts that hit some set so often above its expectation the e-value has a least, log E
being convex in the counts; where that reaches the alarm, the alarm is certain.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from math import ceil, exp, inf, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, zeta

from ..models.errors import InputError
from .anytime import SequentialResult, sequential_test
from .arguments import checked_distance, checked_rates, checked_size, log_inverse
from .cells import Counts, Law, checked_law
from .design import Refuted, certain_message
from .eprocess import MAX_STARTS, concentrations, unspent
from .power import root

LATEST_FIRST_NIGHT = 3 * 365
"""The night by which a deviation begins at the latest, by default: the later, the less is left to bet."""

MAX_DRAWS = 10**12
"""Draws beyond which none are recommended."""

LARGE_PROBABILITY = 0.2
"""Probability from which on both sides of a cell's expectation are examined one by one: five cells at most."""

MAX_LOG_MULTIPLIER = 6.0
"""Logarithm of the largest multiplier tried: exp(exp(6)) is still a number."""

MIN_START_NIGHTS = MAX_STARTS // 2
"""Nights for which a start is certain to be in memory (``EProcess.open_night``)."""


def assert_sequential(draw: Callable[[int], Counts], law: Law, **options: Any) -> SequentialResult:
    """A black box follows the law, as far as its draws show. options: those of ``sequential_test``.

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
        raise Refuted(f"not the law: log E = {result.log_e:.4g} after {result.draws} draws; {witness}", result)
    return result


def min_detectable_sequential(n: float, cells: int | Law, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """The total variation from which on a sequential test of at most n draws refutes, except with probability beta.

    d(n) + sqrt(log(1 / beta) / (2 n)), d(n): the least total variation between counts and law at which log E is
    certain to be log(1 / alpha) or more.
    n: ``max_draws`` of the test
    cells, alpha, beta, Guarantee, Raises, Source: as in ``min_detectable_anytime``.
    """
    checked_size("n", n, 1)
    checked_rates(alpha, beta)
    return _detectable(n, _row(cells), log_inverse(alpha), beta)


def samples_needed_sequential(distance: float, cells: int | Law, alpha: float = 1e-6, beta: float = 1e-3) -> int:
    """The inverse of ``min_detectable_sequential`` wherever that is below 1. Guarantee: as there."""
    return _needed(distance, lambda n: min_detectable_sequential(n, cells, alpha, beta))


def min_detectable_anytime(
    n: float,
    cells: int | Law,
    nights: int = 1,
    alpha: float = 1e-6,
    beta: float = 1e-3,
    checks: int = 1,
    begins: int = LATEST_FIRST_NIGHT,
) -> float:
    """The total variation from which on a deviation is an alarm by the end of its first nights, except with probability beta.

    d + sqrt(log(1 / beta) / (2 N)), N = n nights, d: the least total variation between counts and law at which the start
    of the first night, w E(N draws), is certain to reach checks / alpha.
    n: draws a night
    cells: the law, or the number of cells of equal probability
    nights: number of nights from the first one that deviates, that one included; a start is in memory for 16 nights: of
    more nights the last 16 count
    alpha: the budget of the cohort that the check belongs to (``cohort_alpha``)
    beta: rate of misses
    checks: number of checks of that cohort
    begins: the deviation begins on that night of the check, counted from 1, or earlier
    Result: at most 1, which is then no statement.
    Guarantee: finite-sample, for every source that is at least so far from the law (in any direction, draws independent,
    or each at least so far in one direction given the past), whatever came in the nights before and whatever Holm's
    procedure has refuted. In simulations it was 1.05 (4 cells) to 1.4 times (256) the total variation that would have
    been enough in the direction hardest to detect.
    Raises: InputError for a law, a size or a rate out of range.
    Source: Hoeffding 1963 (binomial tail); the least of log E by Lagrange duality; ``eprocess``, ``holm`` for the rule.
    """
    for name, value in (("n", n), ("nights", nights), ("checks", checks), ("begins", begins)):
        checked_size(name, value, 1)
    checked_rates(alpha, beta)
    used = min(nights, MIN_START_NIGHTS)
    start = begins + nights - used
    goal = log(checks) + log_inverse(alpha) - log(unspent(start - 1) - unspent(start))
    return _detectable(n * used, _row(cells), goal, beta)


def samples_needed_anytime(distance: float, cells: int | Law, *args: Any, **options: Any) -> int:
    """The draws a night: the inverse of ``min_detectable_anytime`` wherever that is below 1.

    args, options: the further arguments of that. Guarantee, Raises: as there.
    """
    return _needed(distance, lambda n: min_detectable_anytime(n, cells, *args, **options))


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


def _needed(distance: float, limit: Callable[[float], float]) -> int:
    checked_distance("distance", distance)
    high = 1
    while limit(high) > distance:
        high *= 4
        if high > MAX_DRAWS:
            raise InputError(f"distance is {distance:g}: {MAX_DRAWS:g} draws would not be enough")
    if high == 1:
        return 1
    n = ceil(root(lambda n: limit(n) - distance, high / 4, high, relative=1e-9))
    while limit(n) > distance:
        n += 1
    while limit(n - 1) <= distance:
        n -= 1
    return n


@lru_cache(maxsize=1024)
def certain_from(draws: float, row: tuple[float, ...], goal: float) -> float:
    """The total variation between counts and law from which on log E is at least ``goal``, whatever the counts.

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
        counted = _Cells(draws, values, np.where(large, 0, repeated), up, np.where(large, repeated - up, 0))
        duals = [_Dual(counted, c, goal + log(len(mixture))) for c in mixture]
        likely = sorted(duals, key=lambda dual: dual.distance(dual.start))[:2]
        distance = max(distance, min(dual.least() for dual in likely))
    return distance


class _Cells(NamedTuple):
    """How many cells of each probability may be on either side of their expectation, are above it, are below it."""

    draws: float
    values: np.ndarray
    either: np.ndarray
    above: np.ndarray
    below: np.ndarray


class _Dual:
    """d as a function of the two multipliers: m, and the logarithm of l."""

    def __init__(self, cells: _Cells, c: float, goal: float):
        self.cells, self.logs, draws = cells, np.log(cells.values), cells.draws
        self.expected, self.before = draws * cells.values, c * cells.values
        repeated = cells.either + cells.above + cells.below
        self.missing = goal - float(gammaln(c) - gammaln(c + draws) - repeated @ gammaln(self.before))
        # All cells moved in proportion to their probability, half of the mass up and half down, by a likely size.
        size = min(0.45, sqrt((goal + 0.5 * repeated.sum() * log1p(draws / c)) / (2 * draws)))
        down, up = log(c + draws * (1 - 2 * size)), log(c + draws * (1 + 2 * size))
        self.start, self.step = np.array([down, log(up - down)]), (up - down) / 8

    def distance(self, point: np.ndarray) -> float:
        """The d of one pair of multipliers. Of cells above their expectation the slope of φ is m + l, of those below it m."""
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
        total = self.cells.either @ np.minimum(below, above) + self.cells.above @ above + self.cells.below @ below
        return float((self.missing - total - down * self.cells.draws) / ((up - down) * self.cells.draws))

    def least(self) -> float:
        """The least d of the search."""
        corners = self.start + np.array([[0, 0], [self.step, 0], [0, 0.25]])
        options = {"initial_simplex": corners, "xatol": 1e-4, "fatol": 1e-7, "maxiter": 400}
        return max(0.0, float(minimize(self.distance, self.start, method="Nelder-Mead", options=options).fun))


def _inverse_digamma(y: np.ndarray) -> np.ndarray:
    """By Newton's method from Minka's start (2000, Estimating a Dirichlet distribution, Appendix C)."""
    x = np.where(y >= -2.22, np.exp(y) + 0.5, -1 / (y - digamma(1)))
    for _ in range(5):
        x = x - (digamma(x) - y) / zeta(2, x)  # zeta(2, x) is the trigamma function, in a fraction of the time
    return x
