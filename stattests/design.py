"""Design of a test: assert, and the smallest detectable total variation.

``assert_*`` raises ``Refuted`` with a witness, or returns the result. ``min_detectable_*``: at that total variation and
beyond, n samples refute except with probability beta; ``samples_needed`` inverts it. alpha: rate of false alarms; beta:
rate of misses. All of them are listed in ``draftproof.stattests``.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from math import copysign, inf, sqrt
from typing import Any, NamedTuple

import scipy

from .arguments import checked_distance, checked_rates, checked_size
from .bounds import Distance, TokensPerCall, tokens_per_call, total_variation_bound
from .cells import Counts, Law, checked_counts, checked_law
from .goodness import Goodness, goodness_of_fit
from .mean import Mean, mean_interval
from .power import bound_noncentrality
from .two_sample import Homogeneity, homogeneity


class TokenDeviation(NamedTuple):
    """A token at a position, and how far its frequency there is from the law.

    position, token: the place, from 0, and the token there
    context: the tokens before, or None for whatever came before
    seen, n: it was seen in ``seen`` of ``n`` draws there
    expected: its probability there
    standard_errors: signed root of the deviance, near the number of standard errors where counts are large, and not
    misled by a single hit where they are small
    """

    position: int
    context: tuple | None
    token: Hashable
    seen: int
    n: int
    expected: float
    standard_errors: float

    def __str__(self) -> str:
        after = "" if self.context is None else f" after {','.join(map(str, self.context)) or 'nothing'}"
        return (
            f"token {self.token} at position {self.position}{after} was seen {self.seen} of {self.n} times, "
            f"expected {self.n * self.expected:.6g} ({self.standard_errors:+.1f} standard errors)"
        )


def largest_token_deviation(counts: Counts, law: Law) -> TokenDeviation:
    """Return the token whose frequency at some position, overall or after some context, is furthest from the law's.

    counts, law: of sequences of equal length (tuples), or of single tokens
    Guarantee: none; the largest of many deviations is large in a clean sample too. It says where to look once the
    joint law is refuted. Raises: InputError as ``goodness_of_fit``.
    """
    return oddities(counts, law)[0]


def oddities(counts: Counts, law: Law) -> list[TokenDeviation]:
    """Return all tokens at all positions and contexts that were seen, the most off first."""
    law = checked_law(law)
    seen, expected, rows = _by_place(checked_counts(counts, law)), _by_place(law), []
    for place, tokens in seen.items():
        n, weight = sum(tokens.values()), sum(expected[place].values())
        for token in expected[place].keys() | tokens.keys():
            p = expected[place][token] / weight if weight else 0.0
            rows.append(TokenDeviation(*place, token, tokens[token], n, p, _root(tokens[token], n, p)))
    # Of equally odd ones, the simplest to say: no context, then the earliest.
    return sorted(rows, key=lambda o: (-abs(o.standard_errors), o.context is not None, o.position, str(o.token)))


def _by_place(weights: Mapping) -> dict[tuple[int, tuple | None], Counter]:
    places: dict[tuple[int, tuple | None], Counter] = defaultdict(Counter)
    for outcome, weight in weights.items():
        tokens = outcome if isinstance(outcome, tuple) else (outcome,)
        for i, token in enumerate(tokens if weight else ()):
            places[i, None][token] += weight
            if i:
                places[i, tokens[:i]][token] += weight
    return places


def _root(seen: int, n: int, p: float) -> float:
    if (p <= 0 and seen) or (p >= 1 and seen < n):
        return copysign(inf, seen - n * p)
    if p <= 0 or p >= 1:
        return 0.0
    deviance = 2 * (
        scipy.special.xlogy(seen, seen / (n * p)) + scipy.special.xlogy(n - seen, (n - seen) / (n * (1 - p)))
    )
    return copysign(sqrt(max(0.0, float(deviance))), seen - n * p)


class Refuted(AssertionError):
    """A test refutes. ``result``: its result; the message contains the witness."""

    def __init__(self, message: str, result: Any):
        super().__init__(message)
        self.result = result


class NotShown(Refuted):
    """An equivalence is not shown, which is no evidence that it does not hold."""


def assert_goodness(counts: Counts, law: Law, alpha: float = 1e-6) -> Goodness:
    """Assert that the counts follow the law, as far as they show.

    Guarantee: refutes a source that follows the law with probability at most alpha (``goodness_of_fit``).
    Raises: Refuted with the outcome, position or context that is most off; InputError.
    """
    checked_rates(alpha)
    fit = goodness_of_fit(counts, law)
    if fit.impossible is not None:
        raise Refuted(certain_message(*fit.impossible), fit)
    if fit.p_value <= alpha:
        raise Refuted(
            f"not the distribution: p = {fit.p_value:.2g} ({fit.method}); {largest_token_deviation(counts, law)}", fit
        )
    return fit


def certain_message(outcome: Hashable, times: int) -> str:
    return f"{outcome!r} has probability 0 and was seen {times} times: certain"


def min_detectable_goodness(n: int, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """Return the total variation, between the laws as pooled, detectable with n samples.

    sqrt(v / (4 n)), v: the noncentrality that a chi-square variable with k - 1 degrees of freedom, against Chernoff's
    critical value, misses with probability beta. A deviation of total variation t has n sum (p' - p)^2 / p >= 4 n t^2
    (Cauchy-Schwarz), with equality for the same relative change everywhere.
    cells: k, after pooling
    Result: at most 1. Between the laws as they are, the law's mass in pooled cells (``Goodness.hidden``) is to be
    added: ``rounding.deviation`` does, and has a route that pools nothing.
    Guarantee: alpha is the test's own, finite-sample; beta is that of the noncentral chi-square limit, which simulation
    confirms at expected counts of 5 and more. Where the test is exact it detects more.
    """
    checked_size("n", n, 1)
    return 1.0 if cells == 1 else min(1.0, sqrt(_goodness(cells, alpha, beta) / (4 * n)))


POOLED_BY_SAMPLE = 1.08
"""Factor by which two samples need more, measured: which outcomes are pooled follows from their frequencies in both."""


def assert_homogeneity(counts: Counts, other: Counts, alpha: float = 1e-6) -> Homogeneity:
    """Assert that two samples of independent draws come from one law, as far as they show.

    Guarantee: refutes two samples of one law with probability at most alpha (``homogeneity``).
    Raises: Refuted with the outcome whose shares are furthest apart; InputError.
    """
    checked_rates(alpha)
    result = homogeneity(counts, other)
    if result.p_value <= alpha:
        raise Refuted(f"not one distribution: p = {result.p_value:.2g} ({result.method}); {result.witness}", result)
    return result


def min_detectable_homogeneity(
    n: int, cells: int, other: int | None = None, alpha: float = 1e-6, beta: float = 1e-3
) -> float:
    """Return the total variation between two sources, as pooled, detectable with samples of both.

    sqrt(v / (4 h)), h = n m / (n + m): n m / (n + m) sum_k (p_k - q_k)^2 / mixed_k >= 4 h t^2 (Cauchy-Schwarz).
    n: number of samples of the first source
    cells: k, after pooling
    other: m, of the second source; n if not given
    Guarantee: as ``min_detectable_goodness``.
    """
    m = n if other is None else other
    checked_size("n", n, 1)
    checked_size("other", m, 1)
    return min(1.0, sqrt(POOLED_BY_SAMPLE * _goodness(cells, alpha, beta) * (n + m) / (4 * n * m)))


def assert_mean(counts: Counts, expected: float, top: float = 1.0, alpha: float = 1e-6) -> Mean:
    """Assert that the mean of draws between 0 and ``top`` is as expected: a coin (top = 1), tokens per call (top =
    gamma).

    Guarantee: refutes the right mean with probability at most alpha (``mean_interval``).
    Raises: Refuted with the interval; InputError.
    """
    mean = mean_interval(counts, top, alpha)
    if not mean.lower <= expected <= mean.upper:
        interval = f"{mean.mean:.6g}, between {mean.lower:.6g} and {mean.upper:.6g} at 1 - {alpha:g}"
        raise Refuted(f"the mean of {mean.n} draws is {interval}; expected {expected:.6g}", mean)
    return mean


def assert_tokens_per_call(
    counts: Mapping[int, int], gamma: int, optimum: float, cap: float, alpha: float = 1e-6
) -> TokensPerCall:
    """Assert that no more draft tokens are accepted than a lossless rule can. Fewer are a price, not a refutation.

    Guarantee: refutes a rule within the optimum with probability at most alpha / 2 (``tokens_per_call``).
    Raises: Refuted, saying which of optimum and cap is exceeded; InputError.
    """
    result = tokens_per_call(counts, gamma, optimum, cap, alpha)
    if result.above_optimum:
        what = f"the cap {cap:.6g} of every lossless rule" if result.above_cap else f"the optimum {optimum:.6g}"
        raise Refuted(f"{result.accepted.lower:.6g} or more draft tokens are accepted per call, above {what}", result)
    return result


def assert_equivalence(counts: Counts, law: Law, delta: float, alpha: float = 1e-6) -> Distance:
    """Assert that the source is within a total variation of delta of the law: shown, not only not refuted.

    Guarantee: passes a source further than delta with probability at most alpha (``total_variation_bound``).
    Raises: NotShown with the bound; InputError.
    """
    checked_distance("delta", delta)
    distance = total_variation_bound(counts, law, alpha)
    if distance.upper > delta:
        raise NotShown(f"not shown: the total variation may be up to {distance.upper:.4g}, above {delta:.4g}", distance)
    return distance


def _goodness(cells: int, alpha: float, beta: float) -> float:
    checked_rates(alpha, beta)
    checked_size("cells", cells, 2)
    return bound_noncentrality(cells - 1, alpha, beta)
