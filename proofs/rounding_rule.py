"""The rule by which a deviation is called rounding: how large a total variation it may be, by dtype."""

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


def resolution_allowed(dtype: str) -> float:
    """The total variation to which a law has to be known for a claim: 16 epsilon, and 9e-13 in float64.

    A law is known to a resolution where noise ran a race, or where paths were left out; it is added to what rounding
    is allowed. Beyond this there is no law, and the verifier is sampled.
    """
    return 9e-13 if dtype == "float64" else min(16 * EPSILON[dtype], 0.05)


def sampling_slack(gamma: int, dtype: str) -> float:
    """The total variation that samples do not count as a deviation: none where rounding is far below what they see."""
    return 0.0 if dtype in ("exact", "float64") else rounding_allowed(gamma, dtype)
