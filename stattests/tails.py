"""Finite-sample tails of the likelihood-ratio statistic: Chernoff's bound with the exact moment generating function.

The chi-square law is a limit, and in the far tail (1e-6) it is too light for cells of few counts. Here nothing is
approximated: independent counts N_1, ..., N_k given their sum are multinomial (if Poisson) or hypergeometric (if
binomial), so

    E[exp(s G) | sum N = n] = [z^n] prod_i sum_j w_i(j) e^(s g_i(j)) z^j  /  Pr(sum N = n),

one coefficient of a product of polynomials, taken by a Fourier transform whose aliasing only adds.
"""

from collections.abc import Iterable
from functools import partial
from math import ceil, exp, expm1, inf, log, log2

import numpy as np
import scipy

MAX_TILT = 0.48
"""Largest s: the generating function is finite below 1/2."""

NEGLIGIBLE_LOG_WEIGHT = 60.0
"""-log of the weight of one value of a count that may be left out (its bound is added to the result)."""

SMALLEST_P_VALUE = 1e-300
"""Smallest bound that is returned."""

FFT_ROUNDING = 1e-12
"""Added to the coefficient, whose size is about 1 / sqrt(n): more than a Fourier transform rounds off."""


def binomial_tail(n: int, least: int, chance: float) -> float:
    """Return Pr(Binomial(n, chance) >= least) = I_chance(least, n - least + 1), the regularised incomplete beta
    function.

    Source: the binomial law.
    """
    return float(scipy.special.betainc(least, n - least + 1, chance)) if 0 < least <= n else float(least <= 0)


def likelihood_ratio(observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return G = 2 sum_k x_k log(x_k / e_k): asymptotically chi-square, like Pearson's, but with a light tail.

    observed: [..., k]; expected: [k], positive, of the same sum; result: [...]
    Source: Hoeffding 1965 (Asymptotically Optimal Tests for Multinomial Distributions).
    """
    return np.maximum(2 * (scipy.special.xlogy(observed, observed).sum(axis=-1) - observed @ np.log(expected)), 0.0)


def multinomial_tail(statistic: float, expected: np.ndarray) -> float:
    """Return an upper bound on Pr(G >= statistic) for multinomial counts of the expected sizes.

    min_s e^(-s G) E[e^(s G)] at an s near the best.
    expected: [k], their sum n a whole number.
    Guarantee: never below the true tail, for every law and every n, up to rounding in floating point.
    Source: Chernoff 1952; counts as Poisson variables given their sum; a law-free bound of this kind is Agrawal 2020.
    """
    n = round(float(expected.sum()))
    sizes, repeated = np.unique(expected, return_counts=True)
    at_total = scipy.special.xlogy(n, n) - n - scipy.special.gammaln(n + 1)
    counts = [
        (
            m,
            n,
            lambda j, m=m: scipy.special.xlogy(j, m) - m - scipy.special.gammaln(j + 1),
            lambda j, m=m: 2 * (scipy.special.xlogy(j, j / m) - j + m),
        )
        for m in sizes
    ]
    return _tail(statistic, len(expected) - 1, n, float(at_total), zip(counts, repeated, strict=True))


def hypergeometric_tail(statistic: float, first: int, totals: np.ndarray) -> float:
    """Return an upper bound on Pr(G >= statistic) for a 2-by-k table with both margins fixed.

    first: the sum of the first row; totals: [k], the sums of the columns.
    Guarantee: never below the true tail, whatever the common law of the two samples, up to rounding.
    Source: as ``multinomial_tail``, with binomial counts given their sum.
    """
    totals = totals[totals > 0]
    n = int(totals.sum())
    share = first / n
    sizes, repeated = np.unique(totals, return_counts=True)

    def log_binomial(total, j):
        ways = scipy.special.gammaln(total + 1) - scipy.special.gammaln(j + 1) - scipy.special.gammaln(total - j + 1)
        return ways + scipy.special.xlogy(j, share) + scipy.special.xlogy(total - j, 1 - share)

    def deviance(total, j):
        mean, rest = total * share, total - j
        return 2 * (scipy.special.xlogy(j, j / mean) + scipy.special.xlogy(rest, rest / (total - mean)))

    counts = [(t * share, int(t), partial(log_binomial, t), partial(deviance, t)) for t in sizes]
    at_total = float(log_binomial(n, first))
    return _tail(statistic, len(totals) - 1, first, at_total, zip(counts, repeated, strict=True))


def chernoff_critical(freedom: float, alpha: float) -> float:
    """Find where Chernoff's bound for a chi-square variable falls to alpha: (c - f) / 2 - f / 2 log(c / f) = log(1 /
    alpha).

    The finite-sample tails above reach alpha near here, wherever expected counts are well above 5.
    """
    low = high = float(freedom)
    goal = log(1 / alpha)

    def spent(c):
        return (c - freedom) / 2 - freedom / 2 * log(c / freedom)

    while spent(high) < goal:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) < goal else (low, middle)
    return high


def _tail(statistic: float, freedom: int, n: int, at_total: float, counts: Iterable) -> float:
    if freedom < 1 or statistic <= freedom:
        return 1.0
    s = min(MAX_TILT, 0.5 - freedom / (2 * statistic))
    cells = [(*_window(cell, s), int(repeated)) for cell, repeated in counts]
    return max(SMALLEST_P_VALUE, exp(min(0.0, _log_generating(cells, s, n) - at_total - s * statistic)))


def _window(cell, s):
    """Return the values of one count that can matter, their tilted log weights, and the bound on a value beyond them.

    w(j) <= exp(-g(j) / 2) for Poisson and binomial counts, so a value weighs at most exp(-(1/2 - s) g(j)); and g is at
    least the square of a Bernstein deviation.
    """
    mean, most, log_weight, deviance = cell
    far = NEGLIGIBLE_LOG_WEIGHT / (0.5 - s)
    low = max(0, int(mean - (far * mean) ** 0.5) - 1)
    high = min(most, int(mean + far / 6 + (far**2 / 36 + far * mean) ** 0.5) + 2)
    j = np.arange(low, high + 1)
    edges = [(low - mean, -(0.5 - s) * deviance(low))] if low > 0 else []
    if high < most:
        edges.append((high - mean, -(0.5 - s) * deviance(high)))
    return j, j - mean, log_weight(j) + s * deviance(j), edges, most


def _log_generating(cells, s: float, n: int) -> float:
    """Return log of [z^n] of the product, from above.

    A tilt e^(theta (j - mean)) changes nothing at the sum n and brings the coefficient there to its largest, where the
    transform is accurate.
    """
    theta = variance = 0.0
    for _ in range(4):
        mean = variance = 0.0
        for j, from_mean, exponent, _, _, repeated in cells:
            weight = np.exp(exponent + theta * from_mean - (exponent + theta * from_mean).max())
            weight /= weight.sum()
            average = weight @ j
            mean, variance = mean + repeated * average, variance + repeated * (weight @ (j - average) ** 2)
        theta -= (mean - n) / variance
    length = 2 ** ceil(log2(max(64.0, 16 * variance**0.5)))
    product, scale, left_out = np.ones(length // 2 + 1, dtype=complex), 0.0, 0.0
    for j, from_mean, exponent, edges, most, repeated in cells:
        tilted = exponent + theta * from_mean
        top = float(tilted.max())
        weight = np.exp(tilted - top)
        mass = weight.sum()
        folded = np.bincount(j % length, weights=weight / mass, minlength=length)
        product *= np.fft.rfft(folded) ** repeated
        scale += repeated * (top + log(mass))
        for away, bound in edges:
            beyond = bound + theta * away
            if beyond >= 0:
                return inf
            left_out += repeated * (most + 1) * exp(beyond - top - log(mass))
    coefficient = float(np.fft.irfft(product, length)[n % length])
    return scale + log(max(coefficient, 0.0) + FFT_ROUNDING + expm1(min(left_out, 700.0)))
