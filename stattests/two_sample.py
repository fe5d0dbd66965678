"""Two samples of independent draws where the law of neither source is known."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from ..models.errors import InputError
from .arguments import checked_rates
from .cells import MIN_EXPECTED, Counts, checked_counts, pooled
from .goodness import BOUND_METHOD, MIN_SIMULATED_ALPHA, MONTE_CARLO_METHOD, draws_for, monte_carlo_p
from .tails import hypergeometric_tail, likelihood_ratio


class Homogeneity(NamedTuple):
    """The result of a test of two samples.

    statistic: G
    p_value: valid at any rate
    cells: number of cells after pooling
    method: "bound" or "monte-carlo"
    witness: what differs most
    """

    statistic: float
    p_value: float
    cells: int
    method: str
    witness: str


def homogeneity(
    counts: Counts, other: Counts, alpha: float = 1e-6, method: str | None = None, seed: int = 0
) -> Homogeneity:
    """Test whether two samples of independent draws come from one law.

    G = 2 sum over cells and samples of x log(x / e), e from the margins; outcomes that expect less than 5 in the
    smaller sample pooled, rarest first, no other outcome among them. p-value given both margins: at alpha of 1e-3 and
    more from 2 / alpha random tables, below that from Chernoff's bound with the exact generating function.
    counts, other: outcome -> times seen
    method: "bound" or "monte-carlo", by alpha if not given
    Guarantee: Pr(p_value <= a) <= a if both follow one law, whatever it is, for every a and any sample sizes.
    Raises: InputError if either sample is empty or its counts are broken.
    Source: Fisher's conditioning on the margins; Hoeffding 1965; ``tails``.
    """
    checked_rates(alpha)
    if method not in (None, MONTE_CARLO_METHOD, BOUND_METHOD):
        raise InputError(f"method is {method!r}, expected {MONTE_CARLO_METHOD} or {BOUND_METHOD}")
    counts, other = checked_counts(counts), checked_counts(other, where="the other counts")
    n, m = sum(counts.values()), sum(other.values())
    together = Counter(counts) + Counter(other)
    mixed = {outcome: times / (n + m) for outcome, times in together.items()}
    cells = pooled(counts, mixed, MIN_EXPECTED * max(1.0, n / m))
    totals = np.array([sum(together[o] for o in group) for group in cells.outcomes])

    def statistics(tables: np.ndarray) -> np.ndarray:
        first, second = totals * (n / (n + m)), totals * (m / (n + m))
        return likelihood_ratio(tables, first) + likelihood_ratio(totals - tables, second)

    statistic = float(statistics(cells.observed))
    method = method or (MONTE_CARLO_METHOD if alpha >= MIN_SIMULATED_ALPHA else BOUND_METHOD)
    if len(totals) == 1:
        p_value = 1.0
    elif method == MONTE_CARLO_METHOD:
        draw = np.random.default_rng(seed).multivariate_hypergeometric
        p_value, _ = monte_carlo_p(statistic, lambda m: statistics(draw(totals, n, size=m)), draws_for(alpha))
    else:
        p_value = hypergeometric_tail(statistic, n, totals)
    return Homogeneity(statistic, p_value, len(totals), method, furthest(counts, other))


def furthest(counts: Mapping[Hashable, int], other: Mapping[Hashable, int]) -> str:
    """Return the outcome whose shares of the two samples are furthest apart, in words."""
    n, m = sum(counts.values()), sum(other.values())

    def apart(outcome: Hashable) -> float:
        x, y = counts.get(outcome, 0), other.get(outcome, 0)
        if not x + y:
            return 0.0
        e, f = (x + y) * n / (n + m), (x + y) * m / (n + m)
        return float(xlogy(x, x / e) + xlogy(y, y / f))

    worst = max(counts.keys() | other.keys(), key=lambda o: (apart(o), str(o)))
    return f"{worst!r} was seen {counts.get(worst, 0)} of {n} and {other.get(worst, 0)} of {m} times"
