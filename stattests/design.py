"""Design of a test: assert, the smallest total variation it can see, and the samples it needs.

``assert_*`` raises ``Refuted`` with a witness, or returns what was found. ``min_detectable_*``: at that total variation
and beyond, n samples refute except with probability beta. ``samples_needed_*`` is its inverse: samples_needed(
min_detectable(n)) = n wherever that limit is below 1. alpha: false alarms, beta: misses. The same three for equivalence
are in ``bounds``, for a mean in ``mean``, for audits and nights in ``anytime_design``, for texts and seeds in
``sequence_design``, for an order of two verifiers in ``paired``.
"""

from collections.abc import Hashable, Sequence
from math import sqrt
from typing import Any

from ..models.errors import InputError
from .bounds import Distance, TokensPerCall, tokens_per_call, total_variation_bound
from .cells import Counts, Law, checked_law
from .explanation import most_off
from .goodness import Goodness, goodness_of_fit
from .independence import Independence, independence
from .mean import Mean, mean_interval
from .power import (
    bound_noncentrality,
    checked_distance,
    checked_rates,
    checked_size,
    limit_noncentrality,
    rounded_up,
)
from .two_sample import Homogeneity, homogeneity


class Refuted(AssertionError):
    """A test refutes. ``found``: its result; the message has the witness."""

    def __init__(self, message: str, found: Any):
        super().__init__(message)
        self.found = found


class NotShown(Refuted):
    """An equivalence is not shown, which is no evidence that it does not hold."""


def assert_goodness(counts: Counts, law: Law, alpha: float = 1e-6, seed: int = 0) -> Goodness:
    """The counts follow the law, as far as they can tell.

    Guarantee: refutes a source that follows the law with probability at most alpha (``goodness_of_fit``).
    Raises: Refuted with the outcome, position or context that is most off; InputError.
    """
    found = goodness_of_fit(counts, law, alpha, seed=seed)
    if found.impossible is not None:
        outcome, times = found.impossible
        raise Refuted(f"{outcome!r} has probability 0 and was seen {times} times: certain", found)
    if found.p_value <= alpha:
        raise Refuted(f"not the law: p = {found.p_value:.2g} ({found.method}); {most_off(counts, law)}", found)
    return found


def min_detectable_goodness(n: int, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """The total variation, between the laws as pooled, beyond which n samples would have told.

    sqrt(v / (4 n)), v: the noncentrality that a chi-square variable with k - 1 degrees of freedom, against Chernoff's
    critical value, misses with probability beta. A deviation of total variation t has n sum (p' - p)^2 / p >= 4 n t^2
    (Cauchy-Schwarz), with equality for the same relative change everywhere.
    cells: k, after pooling. Never more than 1. Between the laws as they are, the law's mass in pooled cells
    (``Goodness.hidden``) is to be added: ``rounding.deviation`` does, and has a route that pools nothing.
    Guarantee: alpha is the test's own, finite-sample; beta is that of the noncentral chi-square limit, which simulation
    confirms at expected counts of 5 and more. Where the test is exact or by simulation it sees more.
    """
    checked_size("n", n, 1)
    return 1.0 if cells == 1 else min(1.0, sqrt(_goodness(cells, alpha, beta) / (4 * n)))


def samples_needed_goodness(distance: float, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> int:
    """The fewest samples that tell every deviation of that total variation, between the laws as pooled.

    The inverse of ``min_detectable_goodness`` wherever that is below 1 (and n below 1e9, for rounding).
    Guarantee: as there.
    """
    checked_distance("distance", distance)
    return rounded_up(_goodness(cells, alpha, beta) / (4 * distance**2))


def noncentrality(law: Law, other: Law) -> float:
    """What one sample adds to the noncentrality of the chi-square test of ``law`` if ``other`` is true.

    sum_k (other_k - law_k)^2 / law_k; infinite where ``other`` has an outcome that ``law`` has not.
    """
    law, other = checked_law(law), checked_law(other, "the other law")
    if any(other[o] > 0 and not law.get(o, 0) for o in other):
        return float("inf")
    return sum((other.get(o, 0.0) - p) ** 2 / p for o, p in law.items() if p > 0)


def samples_needed_against(law: Law, other: Law, alpha: float = 1e-6, beta: float = 1e-3) -> int:
    """The fixed-sample optimum of the chi-square test of ``law`` against one known alternative.

    v / sum_k (other_k - law_k)^2 / law_k, v from the chi-square law's own critical value: what a test whose tail were
    exactly the limit's would need. 1 if ``other`` has an outcome that ``law`` has not.
    Guarantee: of the limit (a bench mark, to be printed beside what a test really took).
    Raises: InputError if the laws are the same.
    """
    checked_rates(alpha, beta)
    each = noncentrality(law, other)
    if each == 0:
        raise InputError("the other law is the law itself: no number of samples tells them apart")
    freedom = sum(p > 0 for p in checked_law(law).values()) - 1
    return 1 if each == float("inf") else rounded_up(limit_noncentrality(freedom, alpha, beta) / each)


POOLED_BY_SAMPLE = 1.08
"""What two samples need more: which outcomes are pooled follows from their frequencies in both. Measured, not proved."""


def assert_homogeneity(counts: Counts, other: Counts, alpha: float = 1e-6, seed: int = 0) -> Homogeneity:
    """Two samples of independent draws come from one law, as far as they can tell.

    Guarantee: refutes two samples of one law with probability at most alpha (``homogeneity``).
    Raises: Refuted with the outcome whose shares are furthest apart; InputError.
    """
    found = homogeneity(counts, other, alpha, seed=seed)
    if found.p_value <= alpha:
        raise Refuted(f"not one law: p = {found.p_value:.2g} ({found.method}); {found.witness}", found)
    return found


def min_detectable_homogeneity(
    n: int, cells: int, other: int | None = None, alpha: float = 1e-6, beta: float = 1e-3
) -> float:
    """The total variation between two sources, as pooled, beyond which n samples of one and ``other`` of the second tell.

    sqrt(v / (4 h)), h = n m / (n + m): n m / (n + m) sum_k (p_k - q_k)^2 / mixed_k >= 4 h t^2 (Cauchy-Schwarz).
    other: m, equal to n if not given. Guarantee: as ``min_detectable_goodness``.
    """
    m = n if other is None else other
    checked_size("n", n, 1)
    checked_size("other", m, 1)
    return min(1.0, sqrt(POOLED_BY_SAMPLE * _goodness(cells, alpha, beta) * (n + m) / (4 * n * m)))


def samples_needed_homogeneity(distance: float, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> int:
    """The fewest samples of each of two sources that tell every such distance between them.

    The inverse of ``min_detectable_homogeneity`` with m = n, wherever that is below 1. Guarantee: as there.
    """
    checked_distance("distance", distance)
    return rounded_up(POOLED_BY_SAMPLE * _goodness(cells, alpha, beta) / (2 * distance**2))


def assert_mean(counts: Counts, expected: float, top: float = 1.0, alpha: float = 1e-6) -> Mean:
    """The mean of draws between 0 and ``top`` is as expected: a coin (top = 1), tokens per call (top = gamma).

    Guarantee: refutes the right mean with probability at most alpha (``mean_interval``); what it sees:
    ``min_detectable_mean``, ``samples_needed_mean``.
    Raises: Refuted with the interval; InputError.
    """
    found = mean_interval(counts, top, alpha)
    if not found.lower <= expected <= found.upper:
        raise Refuted(
            f"the mean of {found.n} draws is {found.mean:.6g}, between {found.lower:.6g} and {found.upper:.6g} at "
            f"1 - {alpha:g}; expected {expected:.6g}",
            found,
        )
    return found


def assert_tokens_per_call(
    counts: Counts, gamma: int, optimum: float, cap: float, alpha: float = 1e-6
) -> TokensPerCall:
    """No more draft tokens are accepted than a lossless rule can; fewer are a price and no refutation.

    Guarantee: refutes a rule within the optimum with probability at most alpha / 2 (``tokens_per_call``).
    Raises: Refuted, saying which of optimum and cap is exceeded; InputError.
    """
    found = tokens_per_call(counts, gamma, optimum, cap, alpha)
    if found.above_optimum:
        what = f"the cap {cap:.6g} of every lossless rule" if found.above_cap else f"the optimum {optimum:.6g}"
        raise Refuted(f"{found.accepted.lower:.6g} or more draft tokens are accepted per call, above {what}", found)
    return found


def assert_independence(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    context: Sequence[Hashable] | None = None,
    alpha: float = 1e-6,
    seed: int = 0,
) -> Independence:
    """Two draws are independent given the context, as far as the pairs can tell.

    Guarantee: refutes independent draws with probability at most alpha (``independence``).
    Raises: Refuted with the pair of outcomes that is most off; InputError.
    """
    found = independence(first, second, context, alpha, seed)
    if found.p_value <= alpha:
        raise Refuted(f"not independent: p = {found.p_value:.2g}; {found.witness}", found)
    return found


def min_detectable_independence(n: int, rows: int, columns: int, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """The total variation between a joint law and the product of its margins beyond which n pairs tell.

    sqrt(v / (4 n)) with (r - 1)(c - 1) degrees of freedom (Cauchy-Schwarz, as for goodness of fit).
    Guarantee: alpha is the test's own; beta is the noncentral chi-square limit's, confirmed by simulation.
    """
    checked_size("n", n, 1)
    return min(1.0, sqrt(_independence(rows, columns, alpha, beta) / (4 * n)))


def samples_needed_independence(
    distance: float, rows: int, columns: int, alpha: float = 1e-6, beta: float = 1e-3
) -> int:
    """The fewest pairs that tell every such dependence. The inverse of ``min_detectable_independence``. Guarantee: as there."""
    checked_distance("distance", distance)
    return rounded_up(_independence(rows, columns, alpha, beta) / (4 * distance**2))


def assert_equivalence(counts: Counts, law: Law, delta: float, alpha: float = 1e-6) -> Distance:
    """The source is within a total variation of delta of the law: shown, not only not refuted.

    Guarantee: passes a source further than delta with probability at most alpha (``total_variation_bound``); what it
    takes: ``min_detectable_equivalence``, ``samples_needed_equivalence``.
    Raises: NotShown with the bound; InputError.
    """
    checked_distance("delta", delta)
    found = total_variation_bound(counts, law, alpha)
    if found.upper > delta:
        raise NotShown(f"not shown: the total variation may be up to {found.upper:.4g}, above {delta:.4g}", found)
    return found


def _goodness(cells: int, alpha: float, beta: float) -> float:
    checked_rates(alpha, beta)
    checked_size("cells", cells, 2)
    return bound_noncentrality(cells - 1, alpha, beta)


def _independence(rows: int, columns: int, alpha: float, beta: float) -> float:
    checked_rates(alpha, beta)
    checked_size("rows", rows, 2)
    checked_size("columns", columns, 2)
    return limit_noncentrality((rows - 1) * (columns - 1), alpha, beta)
