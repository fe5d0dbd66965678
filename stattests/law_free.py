"""Goodness of fit to a known law at any number of samples: a bound that needs no computation by cell."""

from math import exp, log, sqrt

from .arguments import checked_rates, checked_size
from .cells import Counts, Law, checked_counts, checked_law, impossible, pooled
from .goodness import Goodness, certain, goodness_of_fit, pooled_result
from .power import needed_noncentrality
from .tails import chernoff_critical, likelihood_ratio

LAW_FREE_METHOD = "law-free bound"

MAX_BOUND_WORK = 2e7
"""cells * sqrt(samples) beyond which the sharper bound of ``goodness_of_fit`` takes more than some ten seconds."""


def fit_of_many(counts: Counts, law: Law, alpha: float = 1e-6) -> Goodness:
    """Do the counts follow the law, be they hundreds or billions?

    ``goodness_of_fit``, and where that is too much work the same statistic with a bound that needs k and G only.
    Which of the two depends on n and the law, never on the counts.
    Guarantee, Raises: as ``goodness_of_fit``.
    """
    law = checked_law(law)
    counts = checked_counts(counts, law)
    n, k = sum(counts.values()), sum(p > 0 for p in law.values())
    seen = impossible(counts, law)
    if seen is not None:
        return certain(seen)
    if sharp(n, k):
        return goodness_of_fit(counts, law, alpha)
    cells = pooled(counts, law)
    statistic, freedom = float(likelihood_ratio(cells.observed, cells.expected)), len(cells.observed) - 1
    return pooled_result(cells, statistic, law_free_tail(statistic, freedom), LAW_FREE_METHOD)


def sharp(n: int, cells: int) -> bool:
    """Whether ``fit_of_many`` takes the sharper bound."""
    return cells * sqrt(n) <= MAX_BOUND_WORK


def law_free_tail(statistic: float, freedom: int) -> float:
    """An upper bound on Pr(G >= statistic), whatever the law and the number of samples.

    e^(-G/2) (e G / (2 f))^f for G > 2 f, f = k - 1: Chernoff's bound for a chi-square variable with 2 f degrees of
    freedom.
    Guarantee: never below the true tail. Source: Agrawal 2020, Theorem 1.2, with G = 2 n KL(empirical, law).
    """
    if freedom < 1 or statistic <= 2 * freedom:
        return 1.0
    return exp(freedom - statistic / 2 + freedom * log(statistic / (2 * freedom)))


def min_detectable_by_law_free(n: int, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """The total variation, between the laws as pooled, detectable with n samples by the law-free bound.

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
