"""The rule by which a deviation is called rounding: how large a total variation it may be, by dtype."""

import math

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The spacing of the numbers at 1, of each type that rows can have."""


def rounding_allowed(gamma: int, dtype: str) -> float:
    """The total variation that rounding alone can account for: (gamma + 1) (epsilon + 2^-46).

    Each of the gamma accept decisions and the last draw rounds a likelihood ratio or a normalised row (epsilon / 2 an
    operation) and compares it with a uniform on a lattice of spacing epsilon / 2: one epsilon a decision. (Of half
    precision at most 0.05 in all, so that the claim does not become empty for long blocks.) The 2^-46 is for
    logarithms of small probabilities in float64; there the whole is below 1e-12 for gamma up to 65, and at most that.
    """
    allowed = (gamma + 1) * (EPSILON[dtype] + 2.0**-46)
    return min(allowed, 1e-12 if dtype == "float64" else 0.05)


def rows_in_use_allowed(dtype: str) -> float:
    """How far the rows that a function says it verifies with may lie from those it is given, in total variation.

    32 epsilon, at most 0.05: a softmax of logarithms is off by epsilon |log p| / 2 in each entry, and |log p| < 64 where p
    matters. Beyond that they are other rows: the function is judged by those that it is given, and has no exact law.
    """
    return min(32 * EPSILON[dtype], 0.05)


def resolution_allowed(dtype: str) -> float:
    """The total variation to which a law has to be known for a claim: 16 epsilon, and 9e-13 in float64.

    A law is known to a resolution where noise ran a race, or where paths were left out; it is added to what rounding
    is allowed. Beyond this there is no law, and the verifier is sampled.
    """
    return 9e-13 if dtype == "float64" else min(16 * EPSILON[dtype], 0.05)


def wide_rounding_allowed(gamma: int, dtype: str, vocabulary: int) -> float:
    """The same on a wide problem: (gamma + 1) (epsilon (1 + log2(V) / 2) + 2^-46) + V epsilon / 4.

    log2(V) / 2: each residual is divided by a sum of V entries, off by epsilon / 2 for each level of pairwise summation.
    V epsilon / 4: the last token is looked up once in a running sum. Each of its V edges is rounded by up to epsilon / 4,
    and the uniform's lattice moves an entry by as much again; half the sum of both is the total variation. At most 0.05
    of half precision. In float64: 1.5e-11 at V = 262,144; in float32 0.0046 at V = 151,936, where a running sum over the
    vocabulary is not negligible.
    """
    epsilon = EPSILON[dtype]
    allowed = (gamma + 1) * (epsilon * (1 + math.log2(vocabulary) / 2) + 2.0**-46) + vocabulary * epsilon / 4
    return min(allowed, 1.0 if dtype in ("float64", "float32") else 0.05)


def wide_resolution_allowed(gamma: int, dtype: str, vocabulary: int) -> float:
    """``resolution_allowed`` of a wide problem: 16 times as much, or what rounding is allowed there if that is more.

    A race of a whole row adds up more errors than one of a few contestants.
    """
    return max(wide_rounding_allowed(gamma, dtype, vocabulary), 16 * resolution_allowed(dtype))


def sampling_slack(gamma: int, dtype: str) -> float:
    """The total variation that samples do not count as a deviation: none where rounding is far below what they see."""
    return 0.0 if dtype in ("exact", "float64") else rounding_allowed(gamma, dtype)
