"""The closed forms of Leviathan et al. 2023 for independent, identical acceptance rates, and the bias of lenience.

``symbolic.derivations`` derives each of them from the code of the verifiers, for all rows of a size.
Source: "Fast Inference from Transformers via Speculative Decoding", Sections 3.1 to 3.5 and Appendix A.5.
"""

from collections.abc import Sequence
from typing import Any

from ..verifiers.arithmetic import minimum


def acceptance_rate(target: Sequence[Any], draft: Sequence[Any]) -> Any:
    """Return alpha = sum_x min(M_b(x), M_s(x)) = 1 - the total variation of the two rows. Source: Corollary 3.6."""
    return sum(minimum(p, q) for p, q in zip(target, draft, strict=True))


def expected_tokens(alpha: Any, gamma: int) -> Any:
    """Return E[tau + 1] = (1 - alpha^{gamma+1}) / (1 - alpha), gamma + 1 at alpha = 1. Source: Eq. (1)."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"the acceptance rate must lie in [0, 1], got {alpha}")
    return gamma + 1 if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)


def wall_time_factor(alpha: Any, gamma: int, cost: Any) -> Any:
    """Return how much faster than plain decoding: E[tau + 1] / (gamma c + 1).

    cost: c, the time of one draft step over the time of one target step. Source: Theorem 3.8.
    """
    if cost < 0:
        raise ValueError(f"the cost ratio must not be negative, got {cost}")
    return expected_tokens(alpha, gamma) / (gamma * cost + 1)


def operations_factor(alpha: Any, gamma: int, cost: Any) -> Any:
    """Return how many more arithmetic operations a token than plain decoding: (gamma c + gamma + 1) / E[tau + 1].

    cost: the operations of one draft step over those of one target step, for one token. Source: Theorem 3.11.
    """
    if cost < 0:
        raise ValueError(f"the cost ratio must not be negative, got {cost}")
    return (gamma * cost + gamma + 1) / expected_tokens(alpha, gamma)


def lenience_bias(target: Sequence[Any], draft: Sequence[Any], lenience: Any) -> Any:
    """Return how far ``lenient_token_verification`` takes the first token from the target, in total variation.

    bias(l) = sum_x (min(M_b(x) / l, M_s(x)) - min(M_b(x), M_s(x))), which is also what lenience adds to the
    acceptance rate: each accepted draft token more is one wrong token more. A token with M_s > M_b adds
    (1/l - 1) M_b until l falls to M_b / M_s, and M_s - M_b from there on.

    lenience: l, 0 < l <= 1; with the rows, numbers of one kind.
    Guarantee: exact for every gamma >= 1 where drafts are made from ``draft``; 0 at l = 1, and never falls as l falls.
    For more than the first token: ``laws.output_law`` of ``Reference("lenient", lenient_token_verification(l), ...)``.
    Raises: ValueError if l is outside (0, 1].
    Source: Leviathan et al. 2023, Appendix A.5, which gives the acceptance rate and no bias.
    """
    if not 0 < lenience <= 1:
        raise ValueError(f"lenience must be above 0 and at most 1, got {lenience}")
    return sum(minimum(p / lenience, q) - minimum(p, q) for p, q in zip(target, draft, strict=True))


def best_gamma(alpha: Any, cost: Any, longest: int = 1000) -> int:
    """Return the block length in 0..longest with the largest wall-time factor (0: do not speculate). Source: Section
    3.5.

    The factor rises while alpha^{gamma+1} (1 + c gamma) exceeds c E[tau + 1 | gamma] and falls ever after, since
    the left side less the right falls with gamma; so the first gamma that is not improved on is the best.
    """
    if not 0 <= alpha < 1 or cost <= 0:
        raise ValueError(f"the best gamma is finite only for 0 <= alpha < 1 and a positive cost, got {alpha}, {cost}")
    gamma = 0
    while gamma < longest and wall_time_factor(alpha, gamma + 1, cost) > wall_time_factor(alpha, gamma, cost):
        gamma += 1
    return gamma
