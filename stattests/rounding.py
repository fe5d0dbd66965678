"""Is a source off its law by more than rounding? The routes by which counts refute it, and their detection limits."""

from bisect import bisect_left
from collections.abc import Collection, Hashable, Mapping
from typing import NamedTuple

import scipy

from .arguments import checked_distance, checked_rates, log_inverse
from .bounds import Distance, any_law_radius, one_law_radius, total_variation_bound
from .cells import Counts, Law, checked_counts, checked_law
from .design import min_detectable_goodness
from .goodness import LAW_FREE_METHOD, Goodness, goodness_of_fit, min_detectable_by_law_free
from .tails import binomial_tail

NEGLIGIBLE_SLACK = 0.01
"""Part of the detection limit below which rounding, spread over all cells, less than doubles a test's rate."""

MAX_LOG_RATE_SHIFT = 0.7
"""log 2: the most by which the logarithm of that rate may be moved if all rounding falls on the rarest cell."""


class Deviation(NamedTuple):
    """A decision whether the source is off its law by more than the slack.

    refuted: whether it is
    p_value: of the test of fit, multiplied so that it is to be compared with alpha
    distance: the bounds on the total variation, each at 1 - ``share``
    limit: from that total variation on a source is refuted except with probability beta
    fit: the test of fit
    share: the part of alpha that one route has
    """

    refuted: bool
    p_value: float
    distance: Distance
    limit: float
    fit: Goodness
    share: float


def deviation(
    counts: Counts,
    law: Law,
    slack: float = 0.0,
    alpha: float = 1e-6,
    beta: float = 1e-3,
    strange: Collection[Hashable] = (),
) -> Deviation:
    """Test whether the counts refute every source within a total variation of ``slack`` of the law.

    By any of three routes: outcomes of probability 0 seen more often than the slack explains; the test of fit, where
    rounding is negligible next to what it can detect; the lower bound on the total variation, of the outcomes as they
    are. The second detects small deviations, the third those that pooling hides. Each has alpha / 2 without slack,
    where the first costs nothing, else alpha / 4, the second counted twice for what rounding does to its rate.
    limit: the smaller of a + b + c and ``min_detectable_by_bound``, a: the mass of outcomes of probability 0 that may
    be taken for rounding; b: the limit of the test of fit between the laws as pooled; c: the law's mass in pooled
    cells.
    counts, law: as in ``goodness_of_fit``
    slack: total variation
    strange: outcomes that no rounding explains
    Guarantee: refutes a source within the slack with probability at most alpha; the limit is finite-sample but for the
    part of it that is the test of fit's (``min_detectable_goodness``).
    Raises: InputError as ``goodness_of_fit``. Source: Bonferroni; ``goodness``, ``bounds``.
    """
    law = checked_law(law)
    counts = checked_counts(counts, law)
    checked_rates(alpha, beta)
    if slack:
        checked_distance("slack", slack)
    n, possible = sum(counts.values()), sum(p > 0 for p in law.values())
    share = alpha / (4 if slack else 2)
    excused = impossible_by_rounding({o: m for o, m in counts.items() if o not in strange}, law, slack, share, n)
    left = {o: m for o, m in counts.items() if o not in excused}
    distance = total_variation_bound(counts, law, share)
    limit = min_detectable_by_bound(n, possible, slack, share, beta)
    if not any(left.values()):
        # All outcomes were impossible: only a slack near 1 excuses that, and the bound decides.
        fit = Goodness(0.0, 0, 1.0, 0, None, "none", 1.0, 0.0)
        return Deviation(distance.lower > slack, 1.0, distance, limit, fit, share)
    fit = goodness_of_fit(left, law)
    few, mass = most_excused(n, slack, share, beta)
    least = fit_limit(max(1, n - few), fit, share, beta)
    by_fit = negligible(n, slack, least, fit.rarest, share)
    refuted = fit.impossible is not None or distance.lower > slack or (by_fit and fit.p_value <= share)
    if by_fit:
        limit = min(limit, mass + least + fit.hidden)
    return Deviation(refuted, min(1.0, fit.p_value * (alpha / share)), distance, limit, fit, share)


def fit_limit(n: int, fit: Goodness, alpha: float, beta: float) -> float:
    """Return the detection limit of a test of fit that was made, between the laws as pooled."""
    if fit.cells < 2:
        return 1.0
    limit = min_detectable_by_law_free if fit.method == LAW_FREE_METHOD else min_detectable_goodness
    return limit(n, fit.cells, alpha, beta)


def impossible_by_rounding(
    counts: Mapping[Hashable, int], law: Mapping[Hashable, float], slack: float, alpha: float, n: int | None = None
) -> set[Hashable]:
    """Return the outcomes of probability 0 that were seen, if rounding can account for all of them together; else none.

    Pr(Binomial(n, slack) >= times seen) > alpha. n: of all draws, where counts has not all of them.
    Guarantee: for a source within a total variation of ``slack`` of the law they are left standing, and so refute it,
    with probability at most alpha.
    """
    strange = {o for o, m in counts.items() if m and not law.get(o, 0)}
    seen = sum(counts[o] for o in strange)
    n = sum(counts.values()) if n is None else n
    return strange if seen and binomial_tail(n, seen, slack) > alpha else set()


def most_excused(n: int, slack: float, alpha: float, beta: float) -> tuple[int, float]:
    """Return how many of n draws may be impossible and be taken for rounding, and of what source that leaves no more.

    The largest m with Pr(Binomial(n, slack) >= m) > alpha, and the probability r with Pr(Binomial(n, r) <= m) = beta.
    Guarantee: a source with more than that on outcomes of probability 0 is refuted by them except with probability
    beta.
    Source: Clopper and Pearson 1934.
    """
    if not slack:
        return 0, 0.0
    most = bisect_left(range(1, n + 1), True, key=lambda m: binomial_tail(n, m, slack) <= alpha)
    return most, 1.0 if most >= n else float(scipy.special.betaincinv(most + 1, n - most, 1 - beta))


def negligible(n: int, slack: float, limit: float, rarest: float, alpha: float) -> bool:
    """Check that the test of fit may decide although the source may be within ``slack`` of its law.

    slack <= 0.01 limit, and d (e + sqrt(2 e L) + L) / e - d <= 0.7 for d = n slack on the rarest cell, of expected
    count e, where counts up to about e + sqrt(2 e L) + L, L = log(1 / alpha), are not refuted (Bernstein).
    """
    if not slack:
        return True
    tail, moved = log_inverse(alpha), n * slack
    beyond = (2 * rarest * tail) ** 0.5 + tail
    return slack <= NEGLIGIBLE_SLACK * limit and moved * beyond <= MAX_LOG_RATE_SHIFT * rarest


def min_detectable_by_bound(n: int, cells: int, slack: float, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """Return the total variation from which on its lower bound is above ``slack``, except with probability beta.

    slack + radius(alpha) + sqrt(log(1 / beta) / (2 n)), radius: ``any_law_radius``; at most 1.
    cells: of positive probability
    slack: total variation
    Guarantee: finite-sample, for every law and source, nothing pooled. Source: ``bounds``.
    """
    return min(1.0, slack + any_law_radius(n, cells + 1, alpha) + one_law_radius(n, beta))
