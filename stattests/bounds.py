"""After a pass: an exact bound on the total variation that is left open, and tokens per call against theory."""

from collections.abc import Mapping
from math import log, log1p, sqrt
from typing import NamedTuple

from ..models.errors import InputError
from .arguments import checked_rates, checked_size, log_inverse
from .cells import Counts, Law, checked_counts, checked_law
from .mean import Mean, mean_interval


class Distance(NamedTuple):
    """A pair of bounds on the total variation between the source of n counts and a law.

    empirical: total variation between counts and law
    lower, upper: the true one is above, and below, each with probability 1 - alpha
    n: number of counts
    """

    empirical: float
    lower: float
    upper: float
    n: int


def weissman_radius(n: int, cells: int, alpha: float = 1e-6) -> float:
    """Return how far, in total variation, the empirical law of n draws is from the true one at most.

    sqrt(log((2^k - 2) / alpha) / (2 n)), k = cells.
    Guarantee: exceeded with probability at most alpha, for every law on k cells and every n.
    Source: Weissman, Ordentlich, Seroussi, Verdu, Weinberger 2003, Theorem 2.1 with phi >= 2 (Hoeffding's inequality
    for each of the 2^k - 2 events).
    """
    _check(n, cells, alpha)
    if cells == 1:
        return 0.0
    return min(1.0, sqrt((cells * log(2) + log1p(-(2.0 ** (1 - cells))) + log_inverse(alpha)) / (2 * n)))


def mcdiarmid_radius(n: int, cells: int, alpha: float = 1e-6) -> float:
    """Return the same from the mean of the empirical total variation and its deviation from it.

    sqrt((k - 1) / n) / 2 + sqrt(log(1 / alpha) / (2 n)): E TV <= sum_k sqrt(p_k (1 - p_k) / n) / 2 (Jensen), which is
    largest for the uniform law, and one draw moves the total variation by 1/n at most.
    Guarantee: exceeded with probability at most alpha, for every law on k cells and every n.
    Source: McDiarmid 1989 (bounded differences); the mean as in Kamath, Orlitsky, Pichapati, Suresh 2015.
    """
    _check(n, cells, alpha)
    return 0.0 if cells == 1 else min(1.0, sqrt((cells - 1) / n) / 2 + one_law_radius(n, alpha))


def any_law_radius(n: int, cells: int, alpha: float = 1e-6) -> float:
    """Return the smaller of the two above: which one it is depends on n and k only. Guarantee: as theirs."""
    return min(weissman_radius(n, cells, alpha), mcdiarmid_radius(n, cells, alpha))


def one_law_radius(n: int, alpha: float = 1e-6) -> float:
    """Return how much less than the true distance to one law the empirical distance can be: sqrt(log(1 / alpha) / (2
    n)).

    TV(., p) is convex, so E TV(empirical, p) >= TV(true, p) (Jensen), and one draw moves it by 1/n at most.
    Guarantee: exceeded with probability at most alpha, for every true law, every p fixed beforehand, and every n.
    Never more than either radius above, which hold for all p at once. Source: McDiarmid 1989 and Jensen's inequality.
    """
    _check(n, 1, alpha)
    return min(1.0, sqrt(log_inverse(alpha) / (2 * n)))


def total_variation_bound(counts: Counts, law: Law, alpha: float = 1e-6) -> Distance:
    """Return confidence bounds on the total variation between the source of the counts and a law.

    upper = TV(empirical, p) + ``one_law_radius``, lower = TV(empirical, p) - ``any_law_radius``; k: the outcomes of
    positive probability, and one for all others; nothing is pooled.
    counts: outcome -> times seen, of independent draws
    law: outcome -> probability
    Guarantee: Pr(TV(true, law) > upper) <= alpha and Pr(TV(true, law) < lower) <= alpha, for every n and every source.
    Raises: InputError as ``goodness_of_fit``. Source: McDiarmid 1989; Weissman et al. 2003; see the radii.
    """
    law = checked_law(law)
    counts = checked_counts(counts, law)
    n, k = sum(counts.values()), sum(p > 0 for p in law.values()) + 1
    empirical = sum(abs(counts.get(o, 0) / n - law.get(o, 0.0)) for o in law.keys() | counts.keys()) / 2
    lower, upper = empirical - any_law_radius(n, k, alpha), empirical + one_law_radius(n, alpha)
    return Distance(empirical, max(0.0, lower), min(1.0, upper), n)


def min_detectable_equivalence(n: int, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """Return the smallest delta for which n draws of the law itself show "TV <= delta" except with probability beta.

    sqrt((k - 1) / n) / 2 + sqrt(log(1 / beta) / (2 n)) + sqrt(log(1 / alpha) / (2 n)): the mean of the empirical total
    variation, its deviation, and the radius; at most 1.
    Guarantee: finite-sample, for every law on k cells. Source: as ``one_law_radius``.
    """
    _check(n, cells, alpha, beta)
    spread = 0.0 if cells == 1 else sqrt(cells - 1) / 2 + sqrt(log_inverse(beta) / 2)
    return min(1.0, (spread + sqrt(log_inverse(alpha) / 2)) / sqrt(n))


class TokensPerCall(NamedTuple):
    """A comparison of the accepted draft tokens per call with what theory allows.

    accepted: E[tau], as measured
    optimum, cap: theory's
    above_cap: no lossless rule accepts so many, the text is biased
    above_optimum: no rule that is valid in one iteration (Definition 1) accepts so many
    below_optimum: fewer than block verification accepts; a price, not an error
    """

    accepted: Mean
    optimum: float
    cap: float
    above_cap: bool
    above_optimum: bool
    below_optimum: bool


def tokens_per_call(
    counts: Mapping[int, int], gamma: int, optimum: float, cap: float, alpha: float = 1e-6
) -> TokensPerCall:
    """Return a comparison of the accepted draft tokens per call with what theory allows.

    counts: tau -> calls, tau in 0..gamma, from independent calls on one problem; the emitted tokens are tau + 1
    gamma: draft tokens per call
    optimum: E[tau] of block verification (Theorem 2)
    cap: sum over l = 1..gamma of sum over x^l of min(M_b(x^l), M_s(x^l)), since X^l is accepted and emitted with no
    more than either probability
    Guarantee: E[tau] is in the interval with probability at least 1 - alpha; each flag is wrong with at most alpha / 2.
    Raises: InputError if the numbers do not fit together or nothing was counted.
    Source: Sun et al. 2025, Theorem 2 and Lemma 10; the interval: ``mean_interval``.
    """
    checked_size("gamma", gamma, 1)
    if not 0 <= optimum <= cap * (1 + 1e-9) <= gamma * (1 + 2e-9):
        given = f"optimum = {optimum!r}, cap = {cap!r}, gamma = {gamma!r}"
        raise InputError(f"expected 0 <= optimum <= cap <= gamma, got {given}")
    mean = mean_interval(counts, gamma, alpha)
    return TokensPerCall(mean, optimum, cap, mean.lower > cap, mean.lower > optimum, mean.upper < optimum)


def _check(n: int, cells: int, alpha: float, beta: float = 0.5) -> None:
    checked_size("n", n, 1)
    checked_size("cells", cells, 1)
    checked_rates(alpha, beta)
