"""Block verification of a batch: each draft block is verified jointly.

Source: Sun et al. 2025, Algorithm 2. The reference is verifiers/block_verification.py.
"""

from torch import Tensor

from .emitted import Emitted, emitted
from .rows import Rows
from .sampling import Uniforms, draw
from .sub_block import longest_sub_block


def survival(log_ratios: Tensor) -> Tensor:
    """p_i = min(p_{i-1} M_b(X_i) / M_s(X_i), 1) for i = 1..gamma, [B, gamma].

    In logarithms a walk that is held at 0 from above: its sums, less the highest of them so far where that is
    above 0. Exactly 1 where it is held. Source: Algorithm 2, line 4.
    """
    walk = log_ratios.cumsum(-1)
    return (walk - walk.cummax(-1).values.clamp_(min=0)).exp()


def block_verification(rows: Rows, chance: Uniforms) -> Emitted:
    """Keep the longest accepted sub-block, then draw from the residual that its survival leaves.

    Guarantee: the law of ``verifiers.block_verification``, to the rounding of the rows' type; a token to which the
    target gives probability 0 is never emitted.
    Source: Sun et al. 2025, Algorithm 2, Eq. (4) and (5).
    """
    kept = survival(rows.log_ratios())
    accepted = longest_sub_block(rows, kept, chance.acceptance)
    rest = rows.excess(accepted, kept)
    return emitted(rows.tokens, accepted, draw(rest, chance.residual))
