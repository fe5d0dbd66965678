"""Block verification of a batch: each draft block is verified jointly."""

from .emitted import Emitted, emitted
from .rows import BatchRows
from .sampling import Uniforms, draw


def block_verification(rows: BatchRows, chance: Uniforms) -> Emitted:
    """Keep the longest accepted sub-block, then draw from the residual that its survival leaves.

    Guarantee: the law of ``verifiers.block_verification``, to the rounding of the rows' type; a token to which the
    target gives probability 0 is never emitted. Source: Sun et al. 2025, Algorithm 2, Eq. (4) and (5).
    """
    survival = rows.survival()
    accepted, rest = rows.longest_sub_block(survival, chance.acceptance)
    return emitted(rows.tokens, accepted, draw(rest, chance.residual))
