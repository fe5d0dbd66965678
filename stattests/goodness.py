"""Goodness of fit to a known law: a p-value that is valid at any rate, by the method that suits the case."""

from collections.abc import Callable, Hashable
from math import ceil, comb, exp, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from ..models.errors import InputError
from .arguments import checked_rates, checked_size
from .cells import MIN_EXPECTED, Cells, Counts, Law, checked_counts, checked_law, impossible, pooled
from .power import needed_noncentrality
from .tails import chernoff_critical, likelihood_ratio, multinomial_tail


def draws_for(alpha: float) -> int:
    """Return how many draws under the law a decision at rate alpha needs: 2 / alpha, so one chance draw does not undo
    it.
    """
    return ceil(2 / alpha)


def monte_carlo_p(
    observed: float, statistics: Callable[[int], np.ndarray], most: int, stop_after: int = 20, batch: int = 4096
) -> tuple[float, int]:
    """Return how often a draw under the law is at least as extreme as the observation: p and the number of draws.

    p = (1 + b) / (1 + B) after B draws with b as extreme; s / l if the last of s such came with draw l.
    observed: the statistic of the data
    statistics: m -> [m], of fresh draws under the law (or of random permutations)
    most, stop_after, batch: B, s, draws made together at most
    Guarantee: Pr(p <= alpha) <= alpha under the law, over the data and the draws together, at any alpha; the
    smallest p that can come out is 1 / (1 + B). The seed of the draws must not depend on the data.
    Source: Besag and Clifford 1991 (Sequential Monte Carlo p-values); Phipson and Smyth 2010 for the 1 + b.
    """
    seen = done = 0
    size = min(batch, 64)
    # A statistic that is equal in exact arithmetic may differ in its last digits: equal counts as extreme.
    least = observed - 1e-9 * max(1.0, abs(observed))
    while done < most:
        size = min(size, most - done)
        extreme = statistics(size) >= least
        if seen + np.count_nonzero(extreme) >= stop_after:
            last = int(np.flatnonzero(extreme)[stop_after - seen - 1])
            return stop_after / (done + last + 1), done + last + 1
        seen, done = seen + int(np.count_nonzero(extreme)), done + size
        size = min(batch, 2 * size)
    return (1 + seen) / (1 + most), done


MAX_TABLES = 300_000
"""Tables of counts beyond which the exact law of the statistic is not enumerated."""

MIN_SIMULATED_ALPHA = 1e-3
"""Rate of false alarms from which on the law is simulated: so few draws are needed, and they lose no power."""

CERTAIN_METHOD, EXACT_METHOD, MONTE_CARLO_METHOD, BOUND_METHOD = "certain", "exact", "monte-carlo", "bound"
LAW_FREE_METHOD = "law-free bound"

MAX_BOUND_WORK = 2e7
"""cells * sqrt(samples) beyond which the sharper bound of ``goodness_of_fit`` takes more than some ten seconds."""


class Goodness(NamedTuple):
    """The result of a test of fit.

    statistic: G
    freedom: one less than cells
    p_value: valid at any rate, in the way that ``method`` says
    cells: number of cells after pooling
    impossible: an outcome of probability 0 that was seen, with its count: certain, and the p-value is 0; or None
    method: "certain", "exact", "monte-carlo", "bound" or "law-free bound"
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


def pooled_result(cells: Cells, statistic: float, p_value: float, method: str) -> Goodness:
    """Return the result for pooled counts."""
    k = len(cells.observed)
    return Goodness(statistic, k - 1, p_value, k, None, method, cells.hidden, float(cells.expected.min()))


def goodness_of_fit(
    counts: Counts, law: Law, alpha: float = 1e-6, method: str | None = None, seed: int = 0
) -> Goodness:
    """Test whether the counts follow the law.

    G = 2 sum_k x_k log(x_k / (n p_k)), its p-value by the first of these that applies, chosen from n, the law and
    alpha alone:
    certain: an outcome of probability 0 was seen (p = 0);
    exact: at most 300,000 tables of counts are possible (any n up to 300,000 for 2 outcomes, 773 for 3, 119 for 4, 12
    for 10): all are enumerated, cells not pooled;
    monte-carlo: alpha is 1e-3 or more: 2 / alpha draws under the law, fewer where they show nothing;
    bound: Chernoff's bound with the exact generating function of G (``tails``).
    The last two pool outcomes that expect less than 5 to cells of 5, rarest first; rare ones that expect less than 5
    all together are one cell, no other outcome in it (the p-values hold at any expected count).
    counts: outcome -> times seen, or a row; of independent draws: of whole blocks with their continuation, in one
    context: of several contexts the deviations may cancel in the sum
    law: outcome -> probability, sum 1, or a row
    alpha: rate at which the p-value decides
    method: one of the last three, chosen if not given
    Guarantee: Pr(p_value <= a) <= a under the law, for every a, n and law ("monte-carlo": over the draws as well).
    The p-value of "bound" is about 10 to 100 times the true one.
    Raises: InputError if nothing was counted, the law does not add up to 1, or counts and law do not belong together.
    Source: Hoeffding 1965 (G); Chernoff 1952; Besag and Clifford 1991.
    """
    law = checked_law(law)
    counts = checked_counts(counts, law)
    checked_rates(alpha)
    if method not in (None, EXACT_METHOD, MONTE_CARLO_METHOD, BOUND_METHOD):
        raise InputError(f"method is {method!r}, expected {EXACT_METHOD}, {MONTE_CARLO_METHOD} or {BOUND_METHOD}")
    seen = impossible(counts, law)
    if seen is not None:
        return Goodness(float("inf"), 0, 0.0, 0, seen, CERTAIN_METHOD, 0.0, 0.0)
    n, possible = sum(counts.values()), sum(p > 0 for p in law.values())
    if method is None:
        method = MONTE_CARLO_METHOD if alpha >= MIN_SIMULATED_ALPHA else BOUND_METHOD
        if comb(n + possible - 1, possible - 1) <= MAX_TABLES:
            method = EXACT_METHOD
    cells = pooled(counts, law, 0.0 if method == EXACT_METHOD else MIN_EXPECTED)
    statistic = float(likelihood_ratio(cells.observed, cells.expected))
    if len(cells.observed) == 1:
        p_value = 1.0
    elif method == EXACT_METHOD:
        p_value = _exact_p(statistic, n, cells.expected / n)
    elif method == MONTE_CARLO_METHOD:
        draw, row = np.random.default_rng(seed).multinomial, cells.expected / cells.expected.sum()
        p_value, _ = monte_carlo_p(
            statistic, lambda m: likelihood_ratio(draw(n, row, size=m), cells.expected), draws_for(alpha)
        )
    else:
        p_value = multinomial_tail(statistic, cells.expected)
    return pooled_result(cells, statistic, p_value, method)


def fit_of_many(counts: Counts, law: Law, alpha: float = 1e-6) -> Goodness:
    """Test whether the counts follow the law, be they hundreds or billions.

    ``goodness_of_fit``, and where that is too much work the same statistic with a bound that needs k and G only.
    Which of the two depends on n and the law, never on the counts.
    Guarantee, Raises: as ``goodness_of_fit``.
    """
    law = checked_law(law)
    counts = checked_counts(counts, law)
    n, k = sum(counts.values()), sum(p > 0 for p in law.values())
    if impossible(counts, law) is not None or sharp(n, k):
        return goodness_of_fit(counts, law, alpha)
    cells = pooled(counts, law)
    statistic, freedom = float(likelihood_ratio(cells.observed, cells.expected)), len(cells.observed) - 1
    return pooled_result(cells, statistic, law_free_tail(statistic, freedom), LAW_FREE_METHOD)


def sharp(n: int, cells: int) -> bool:
    """Return whether ``fit_of_many`` takes the sharper bound."""
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
    left, g, log_p = np.array([n]), np.zeros(1), np.array([gammaln(n + 1)])
    for p in law[:-1]:
        sizes = left + 1
        start = np.repeat(np.cumsum(sizes) - sizes, sizes)
        x = np.arange(sizes.sum()) - start
        g = np.repeat(g, sizes) + xlogy(x, x / (n * p))
        log_p = np.repeat(log_p, sizes) + xlogy(x, p) - gammaln(x + 1)
        left = np.repeat(left, sizes) - x
    g += xlogy(left, left / (n * law[-1]))
    log_p += xlogy(left, law[-1]) - gammaln(left + 1)
    # Tables of equal G may differ in their last digits.
    as_extreme = 2 * g >= statistic - 1e-9 * max(1.0, statistic)
    return float(min(1.0, np.exp(log_p[as_extreme]).sum()))
