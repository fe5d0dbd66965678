"""Counts of a source that may be off its law by rounding: what is refuted only beyond that, and what is then seen."""

from collections.abc import Hashable, Mapping

from scipy.stats import binom

from .bounds import mcdiarmid_radius, one_law_radius, weissman_radius

NEGLIGIBLE = 0.01
"""Part of the detection limit below which rounding moves the rate of a test of fit by less than a factor 2."""


def impossible_by_rounding(
    counts: Mapping[Hashable, int], law: Mapping[Hashable, float], slack: float, alpha: float
) -> set[Hashable]:
    """The outcomes of probability 0 that were seen, if rounding can account for all of them together; else none.

    Pr(Binomial(n, slack) >= times seen) > alpha.
    Guarantee: for a source within a total variation of ``slack`` of the law they are left standing, and so refute it,
    with probability at most alpha.
    """
    strange = {o for o, n in counts.items() if n and not law.get(o, 0)}
    seen = sum(counts[o] for o in strange)
    return strange if seen and binom.sf(seen - 1, sum(counts.values()), slack) > alpha else set()


def beyond_rounding(p_value: float, lower: float, slack: float, limit: float, alpha: float) -> bool:
    """Whether a test of fit refutes a source that may be within ``slack`` of its law.

    p_value: of the law itself; lower: bound on the true total variation at 1 - alpha (``total_variation_bound``); limit:
    of the test of fit. Where rounding is negligible beside the limit the p-value decides, else both must.
    Guarantee: refutes a source within the slack with probability at most alpha where both decide, and below 2 alpha
    where the p-value does. The empirical total variation will not do for ``lower``: chance alone moves it beyond the
    slack.
    """
    return p_value <= alpha and (slack <= NEGLIGIBLE * limit or lower > slack)


def min_detectable_beyond(n: int, cells: int, slack: float, limit: float, alpha: float, beta: float) -> float:
    """The total variation from which on a source is refuted except with probability beta, rounding allowed for.

    slack + radius(alpha) + sqrt(log(1 / beta) / (2 n)), and the limit of the test of fit where that is more or rounding
    is negligible beside it. cells: of positive probability. Never more than 1.
    Guarantee: of the part beyond ``limit`` finite-sample. Source: ``bounds``.
    """
    if slack <= NEGLIGIBLE * limit:
        return limit
    around = min(weissman_radius(n, cells + 1, alpha), mcdiarmid_radius(n, cells + 1, alpha))
    return min(1.0, max(limit, slack + around + one_law_radius(n, beta)))
