"""The law that lenience leaves, as a function of its parameter, from the code that runs, for all rows of a size.

For any V the bias can be read off that law: a token with M_s > M_b has min(M_b / l, M_s) >= M_b and nothing of the
residual; any other has at most M_b, for (1 - alpha_l) / (1 - alpha) <= 1. So the total variation is what the first kind
has too much, sum_x (min(M_b / l, M_s) - min(M_b, M_s)) = alpha_l - alpha.

Source: Leviathan et al. 2023, Appendix A.5.
"""

from collections.abc import Callable
from typing import Any

from ...models.law import Prefix
from ...verifiers.arithmetic import minimum, positive_part
from ...verifiers.draft_block import Verify
from ...verifiers.lenient_token_verification import lenient_token_verification
from ..closed_forms import lenience_bias
from ..field import QQ
from ..laws.reference_laws import acceptance_ccdf, completed, total_variation
from .generic_rows import GenericRows, cells

Lenient = Callable[[Any], Verify]
"""A verifier for each lenience."""


def first_token(here: GenericRows, verify: Verify, gamma: int = 1) -> dict[Prefix, Any]:
    """Return the law of the first token."""
    return completed(here.law(gamma, verify), here.problem(gamma).target, 1)


def bias(here: GenericRows, verify: Verify) -> Any:
    """Return the total variation between the first token's law and the target."""
    return total_variation(first_token(here, verify), {(x,): p for x, p in enumerate(here.target)})


def bias_holds(lenient: Lenient = lenient_token_verification) -> bool:
    """Check that the law's distance from the target is the closed form, and so is alpha_l - alpha, alpha_l = Pr(tau >=
    1).

    The code emits x first with probability min(M_b / l, M_s) + (1 - alpha_l) max(M_b - M_s, 0) / (1 - alpha).
    """
    for here in cells(2, 1) + cells(3, 1):
        lenience, rate = here.leniences[0], here.rate
        verify = lenient(lenience)
        accepted = acceptance_ccdf(here.law(1, verify), 1)[1]
        expected = {
            (x,): minimum(p / lenience, q) + (1 - accepted) * positive_part(p - q) / (1 - rate)
            for x, (p, q) in enumerate(zip(here.target, here.draft))
        }
        if any(first_token(here, verify, gamma) != expected for gamma in (1, 2)):
            return False
        if not bias(here, verify) == accepted - rate == lenience_bias(*here[:2], lenience):
            return False
    return True


def bound_holds(most: Callable[[Any, Any], Any] = lambda p, lenience: p / lenience) -> bool:
    """Check that no token is sampled with a probability above M_b / l."""
    return all(
        first_token(here, lenient_token_verification(here.leniences[0]))[(x,)] <= most(p, here.leniences[0])
        for here in cells(2, 1) + cells(3, 1)
        for x, p in enumerate(here.target)
    )


def strict_is_lossless(lenient: Lenient = lenient_token_verification) -> bool:
    """Check that there is no bias at l = 1, and some at every l < 1 if the rows differ and have no zeros."""
    here_and_below = ((here, lenient(here.leniences[0])) for here in cells(2, 1) + cells(3, 1))
    return all(bias(here, lenient(QQ(1))) == 0 < bias(here, below) for here, below in here_and_below)


def monotone(order: Callable[[list], list] = list) -> bool:
    """Check that of two leniences the smaller has the larger bias, or the same."""
    for here in cells(2, 2) + cells(3, 2):
        less, more = (bias(here, verify) for verify in map(lenient_token_verification, order(here.leniences)))
        if not less <= more:
            return False
    return True
