"""Token verification: each draft token is accepted or rejected on its own."""

from .arithmetic import minimum, ratio, residual
from .chance import Chance
from .draft_block import Block, Verdict


def token_verification(block: Block, chance: Chance) -> Verdict:
    """Accept draft tokens until the first rejection, then draw from the residual.

    h_i = min(1, M_b(X_i | X^{i-1}) / M_s(X_i | X^{i-1}));  Y ~ max(M_b - M_s, 0) normalised, or M_b if all
    gamma tokens are accepted.
    Guarantee: valid (Eq. 7); with context-independent rows E[tau + 1] = (1 - a^{gamma+1}) / (1 - a),
    a = sum_x min(M_b(x), M_s(x)).
    Source: Leviathan et al. 2023, Algorithm 1; Chen et al. 2023; Sun et al. 2025, Algorithm 1 and Eq. (3).
    """
    for i, x in enumerate(block.tokens):
        if not chance.flip(minimum(ratio(block.target[i][x], block.draft[i][x]), 1)):
            return Verdict(i, chance.draw(residual(block.target[i], block.draft[i])))
    return Verdict(block.gamma, chance.draw(block.target[block.gamma]))
