"""Lenient token verification: a lossy reference. The law it emits is not the target's, by an amount known exactly."""

from typing import Any

from .arithmetic import minimum, ratio, residual
from .chance import Chance
from .draft_block import Block, Verdict, Verify


def lenient_token_verification(lenience: Any) -> Verify:
    """Verify token by token, where the test compares the target with only a part of the draft's probability.

    h_i = min(1, M_b(X_i | X^{i-1}) / (l M_s(X_i | X^{i-1})));  Y as in ``token_verification``.
    lenience: l, 0 < l <= 1, a number of the rows' own kind. 1 is token verification; the smaller, the more is accepted.
    The appendix changes the comparison and says nothing of the residual, so the residual stays that of the algorithm.
    The other reading, max(M_b - l M_s, 0), gives another law.
    Guarantee: not valid for l < 1. No token has probability above M_b / l, and the first token's law is
    ``closed_forms.lenience_bias`` away from the target's in total variation.
    Raises: ValueError if l is outside (0, 1]. Source: Leviathan et al. 2023, Appendix A.5.
    """
    if not 0 < lenience <= 1:
        raise ValueError(f"lenience must be above 0 and at most 1, got {lenience}")

    def verify(block: Block, chance: Chance) -> Verdict:
        for i, x in enumerate(block.tokens):
            if not chance.flip(minimum(ratio(block.target[i][x], lenience * block.draft[i][x]), 1)):
                return Verdict(i, chance.draw(residual(block.target[i], block.draft[i])))
        return Verdict(block.gamma, chance.draw(block.target[block.gamma]))

    return verify
