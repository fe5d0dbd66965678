"""The closed forms of Leviathan et al. 2023 for independent, identical acceptance rates.

Source: "Fast Inference from Transformers via Speculative Decoding", Eq. (1), Theorem 3.8, Section 3.5.
"""

from collections.abc import Sequence
from typing import Any

from ..verifiers.arithmetic import minimum


def acceptance_rate(target: Sequence[Any], draft: Sequence[Any]) -> Any:
    """alpha = sum_x min(M_b(x), M_s(x)) = 1 - the total variation of the two rows. Source: Corollary 3.6."""
    return sum(minimum(p, q) for p, q in zip(target, draft, strict=True))


def expected_tokens(alpha: Any, gamma: int) -> Any:
    """E[tau + 1] = (1 - alpha^{gamma+1}) / (1 - alpha) tokens an iteration; gamma + 1 at alpha = 1. Source: Eq. (1)."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"the acceptance rate must lie in [0, 1], got {alpha}")
    return gamma + 1 if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)


def wall_time_factor(alpha: Any, gamma: int, cost: Any) -> Any:
    """How much faster than plain decoding: E[tau + 1] / (gamma c + 1).

    cost: c, the time of one draft step over the time of one target step. Source: Theorem 3.8.
    """
    if cost < 0:
        raise ValueError(f"the cost ratio must not be negative, got {cost}")
    return expected_tokens(alpha, gamma) / (gamma * cost + 1)


def best_gamma(alpha: Any, cost: Any, longest: int = 1000) -> int:
    """The block length in 0..longest with the largest wall-time factor (0: do not speculate). Source: Section 3.5.

    The factor rises while alpha^{gamma+1} (1 + c gamma) exceeds c E[tau + 1 | gamma] and falls ever after, since
    the left side less the right falls with gamma; so the first gamma that is not improved on is the best.
    """
    if not 0 <= alpha < 1 or cost <= 0:
        raise ValueError(f"the best gamma is finite only for 0 <= alpha < 1 and a positive cost, got {alpha}, {cost}")
    gamma = 0
    while gamma < longest and wall_time_factor(alpha, gamma + 1, cost) > wall_time_factor(alpha, gamma, cost):
        gamma += 1
    return gamma
