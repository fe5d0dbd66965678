"""Goodness of fit to a known law: a p-value that is valid at any rate, by the method that suits the case."""

from collections.abc import Hashable
from math import comb, exp, log, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from .arguments import checked_rates, checked_size
from .cells import MIN_EXPECTED, Counts, Law, checked_counts, checked_law, impossible, pooled
from .power import needed_noncentrality
from .tails import chernoff_critical, likelihood_ratio, multinomial_tail

MAX_TABLES = 300_000
"""Tables of counts beyond which the exact law of the statistic is not enumerated."""

CERTAIN_METHOD, EXACT_METHOD, BOUND_METHOD, LAW_FREE_METHOD = "certain", "exact", "bound", "law-free bound"
"""Names of the ways to a p-value."""

MAX_BOUND_WORK = 2e7
"""cells * sqrt(samples) beyond which the sharper bound of ``goodness_of_fit`` takes more than some ten seconds."""


class Goodness(NamedTuple):
    """A result of a test of fit.

    statistic: G
    freedom: one less than cells
    p_value: valid at any rate, in the way that ``method`` says
    cells: number of cells after pooling
    impossible: an outcome of probability 0 that was seen, with its count: certain, and the p-value is 0; or None
    method: "certain", "exact", "bound" or "law-free bound"
    hidden: the law's mass in cells of several outcomes, the most by which the total variation as pooled falls short
    rarest: the least expected count of a cell
    """

    statistic: float
    freedom: int
    p_value: float
    cells: int
    impossible: tuple[Hashable, int] | None
    method: str
    hidden: float
    rarest: float


def goodness_of_fit(counts: Counts, law: Law) -> Goodness:
    """Test whether the counts follow the law, be they hundreds or billions.

    G = 2 sum_k x_k log(x_k / (n p_k)), its p-value by the first of these that applies, chosen from n and the law alone:
    certain: an outcome of probability 0 was seen (p = 0);
    exact: at most 300,000 tables of counts are possible (any n up to 300,000 for 2 outcomes, 773 for 3, 119 for 4, 12
    for 10): all are enumerated, cells not pooled;
    bound: Chernoff's bound with the exact generating function of G (``tails``);
    law-free bound: a bound that needs k and G only, where the one before is too much work.
    The last two pool outcomes that expect less than 5 to cells of 5, rarest first; rare ones that expect less than 5
    all together are one cell, no other outcome in it (the p-values hold at any expected count).
    counts: outcome -> times seen, or a row; of independent draws: of whole blocks with their continuation, in one
    context: of several contexts the deviations may cancel in the sum
    law: outcome -> probability, sum 1, or a row
    Guarantee: Pr(p_value <= a) <= a under the law, for every a, n and law. The p-value of "bound" is about 10 to 100
    times the true one.
    Raises: InputError if nothing was counted, the law does not add up to 1, or counts and law do not belong together.
    Source: Hoeffding 1965 (G); Chernoff 1952; Agrawal 2020.
    """
    law = checked_law(law)
    counts = checked_counts(counts, law)
    seen = impossible(counts, law)
    if seen is not None:
        return Goodness(float("inf"), 0, 0.0, 0, seen, CERTAIN_METHOD, 0.0, 0.0)
    n, possible = sum(counts.values()), sum(p > 0 for p in law.values())
    exact = comb(n + possible - 1, possible - 1) <= MAX_TABLES
    cells = pooled(counts, law, 0.0 if exact else MIN_EXPECTED)
    statistic, freedom = float(likelihood_ratio(cells.observed, cells.expected)), len(cells.observed) - 1
    if exact:
        p_value, method = _exact_p(statistic, n, cells.expected / n), EXACT_METHOD
    elif sharp(n, possible):
        p_value, method = multinomial_tail(statistic, cells.expected), BOUND_METHOD
    else:
        p_value, method = law_free_tail(statistic, freedom), LAW_FREE_METHOD
    rarest = float(cells.expected.min())
    return Goodness(statistic, freedom, p_value, freedom + 1, None, method, cells.hidden, rarest)


def sharp(n: int, cells: int) -> bool:
    """Check that the sharper bound of ``goodness_of_fit`` takes no more than MAX_BOUND_WORK."""
    return cells * sqrt(n) <= MAX_BOUND_WORK


def law_free_tail(statistic: float, freedom: int) -> float:
    """Return an upper bound on Pr(G >= statistic), whatever the law and the number of samples.

    e^(-G/2) (e G / (2 f))^f for G > 2 f, f = k - 1: Chernoff's bound for a chi-square variable with 2 f degrees of
    freedom.
    Guarantee: never below the true tail. Source: Agrawal 2020, Theorem 1.2, with G = 2 n KL(empirical, law).
    """
    if freedom < 1 or statistic <= 2 * freedom:
        return 1.0
    return exp(freedom - statistic / 2 + freedom * log(statistic / (2 * freedom)))


def min_detectable_by_law_free(n: int, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """Return the total variation, between the laws as pooled, detectable with n samples by the law-free bound.

    sqrt(v / (4 n)), v: the noncentrality that a chi-square variable with k - 1 degrees of freedom, against the bound's
    critical value, misses with probability beta.
    cells: k, after pooling
    Guarantee: alpha is the test's own, finite-sample; beta is that of the noncentral chi-square limit.
    """
    checked_size("n", n, 1)
    checked_size("cells", cells, 2)
    checked_rates(alpha, beta)
    missed = needed_noncentrality(chernoff_critical(2 * (cells - 1), alpha), cells - 1, beta)
    return min(1.0, sqrt(missed / (4 * n)))


def _exact_p(statistic: float, n: int, law: np.ndarray) -> float:
    """Return the probability of all tables whose G is no smaller, by enumeration of them."""
    left, g, log_p = np.array([n]), np.zeros(1), np.array([scipy.special.gammaln(n + 1)])
    for p in law[:-1]:
        sizes = left + 1
        start = np.repeat(np.cumsum(sizes) - sizes, sizes)
        x = np.arange(sizes.sum()) - start
        g = np.repeat(g, sizes) + scipy.special.xlogy(x, x / (n * p))
        log_p = np.repeat(log_p, sizes) + scipy.special.xlogy(x, p) - scipy.special.gammaln(x + 1)
        left = np.repeat(left, sizes) - x
    g += scipy.special.xlogy(left, left / (n * law[-1]))
    log_p += scipy.special.xlogy(left, law[-1]) - scipy.special.gammaln(left + 1)
    # Tables of equal G may differ in their last digits.
    as_extreme = 2 * g >= statistic - 1e-9 * max(1.0, statistic)
    return float(min(1.0, np.exp(log_p[as_extreme]).sum()))
