"""Two samples of independent draws where the law of neither source is known."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
import scipy

from .cells import MIN_EXPECTED, Counts, checked_counts, pooled
from .goodness import BOUND_METHOD
from .tails import hypergeometric_tail, likelihood_ratio


class Homogeneity(NamedTuple):
    """A result of a test of two samples.

    statistic: G
    p_value: valid at any rate
    cells: number of cells after pooling
    method: "bound"
    witness: what differs most
    """

    statistic: float
    p_value: float
    cells: int
    method: str
    witness: str


def homogeneity(counts: Counts, other: Counts) -> Homogeneity:
    """Test whether two samples of independent draws come from one law.

    G = 2 sum over cells and samples of x log(x / e), e from the margins; outcomes that expect less than 5 in the
    smaller sample pooled, rarest first, no other outcome among them. The p-value is Chernoff's bound given both
    margins, with the exact generating function.
    counts, other: outcome -> times seen
    Guarantee: Pr(p_value <= a) <= a if both follow one law, whatever it is, for every a and any sample sizes.
    Raises: InputError if either sample is empty or its counts are broken.
    Source: Fisher's conditioning on the margins; Hoeffding 1965; ``tails``.
    """
    counts, other = checked_counts(counts), checked_counts(other, where="the other counts")
    n, m = sum(counts.values()), sum(other.values())
    together = Counter(counts) + Counter(other)
    mixed = {outcome: times / (n + m) for outcome, times in together.items()}
    cells = pooled(counts, mixed, MIN_EXPECTED * max(1.0, n / m))
    totals = np.array([sum(together[o] for o in group) for group in cells.outcomes])

    first, second = totals * (n / (n + m)), totals * (m / (n + m))
    statistic = float(likelihood_ratio(cells.observed, first) + likelihood_ratio(totals - cells.observed, second))
    p_value = hypergeometric_tail(statistic, n, totals)
    return Homogeneity(statistic, p_value, len(totals), BOUND_METHOD, furthest(counts, other))


def furthest(counts: Mapping[Hashable, int], other: Mapping[Hashable, int]) -> str:
    """Return the outcome whose shares of the two samples are furthest apart, in words."""
    n, m = sum(counts.values()), sum(other.values())

    def apart(outcome: Hashable) -> float:
        x, y = counts.get(outcome, 0), other.get(outcome, 0)
        if not x + y:
            return 0.0
        e, f = (x + y) * n / (n + m), (x + y) * m / (n + m)
        return float(scipy.special.xlogy(x, x / e) + scipy.special.xlogy(y, y / f))

    worst = max(counts.keys() | other.keys(), key=lambda o: (apart(o), str(o)))
    return f"{worst!r} was seen {counts.get(worst, 0)} of {n} and {other.get(worst, 0)} of {m} times"
