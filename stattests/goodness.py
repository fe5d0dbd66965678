"""Pearson's chi-square test of the joint law of completed tokens, and what it could have seen."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

FEWEST = 5.0
"""Expected count below which cells are pooled."""


class Goodness(NamedTuple):
    """statistic and degrees of freedom of Pearson's test; p_value: under the law; cells: after pooling.

    impossible: an outcome seen to which the law gives probability 0, with its count. That is a certain refutation,
    not a statistic; the p-value is then 0.
    """

    statistic: float
    freedom: int
    p_value: float
    cells: int
    impossible: tuple[Hashable, int] | None


def chi_square(counts: Mapping[Hashable, int], law: Mapping[Hashable, float]) -> Goodness:
    """Do the counts follow the law?

    sum over cells of (observed - expected)^2 / expected, cells of expected count below 5 pooled into one, the rarest
    first; p-value from the chi-square law with one degree of freedom less than cells (an approximation, good at
    expected counts of 5 and more).
    counts: outcome -> times seen; law: outcome -> probability, sum 1.
    Raises: ValueError if nothing was counted or the law does not add up to 1.
    """
    n = sum(counts.values())
    total = sum(law.values())
    if n == 0:
        raise ValueError("no samples were counted (n = 0)")
    if abs(total - 1) > 1e-9:
        raise ValueError(f"the law sums to {total:.9g}, expected 1")
    strange = [o for o in counts if counts[o] and not law.get(o, 0)]
    if strange:
        worst = max(strange, key=lambda o: counts[o])
        return Goodness(float("inf"), 0, 0.0, 0, (worst, counts[worst]))
    cells: list[tuple[int, float]] = []
    seen, expected = 0, 0.0
    for outcome in sorted((o for o in law if law[o] > 0), key=lambda o: law[o]):
        seen, expected = seen + counts.get(outcome, 0), expected + n * law[outcome]
        if expected >= FEWEST:
            cells.append((seen, expected))
            seen, expected = 0, 0.0
    if expected:
        last = cells.pop() if cells else (0, 0.0)
        cells.append((last[0] + seen, last[1] + expected))
    statistic = sum((o - e) ** 2 / e for o, e in cells)
    freedom = len(cells) - 1
    return Goodness(statistic, freedom, float(chi2.sf(statistic, freedom)) if freedom else 1.0, len(cells), None)


def detection_limit(n: int, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """The total variation (between the pooled laws) beyond which n samples would have told.

    A deviation of total variation t has sum (p' - p)^2 / p >= 4 t^2 (Cauchy-Schwarz), so the noncentrality is at
    least 4 n t^2; t is where Pearson's test at false-alarm rate alpha misses with probability beta. Never more
    than 1.
    """
    if n < 1 or cells < 1:
        raise ValueError(f"needs at least one sample and one cell, got n = {n}, cells = {cells}")
    if cells == 1:
        return 1.0
    freedom = cells - 1
    critical = chi2.isf(alpha, freedom)

    def missed(noncentrality):
        return float(ncx2.cdf(critical, freedom, noncentrality)) - beta

    high = critical + 10.0
    while missed(high) > 0:
        high *= 2
    return min(1.0, float(brentq(missed, 1e-9, high) / (4 * n)) ** 0.5)
