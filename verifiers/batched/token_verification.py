"""Token verification of a batch: each draft token is accepted or rejected on its own."""

import torch

from .emitted import Emitted, emitted
from .rows import BatchRows
from .sampling import Uniforms, draw


def token_verification(rows: BatchRows, chance: Uniforms) -> Emitted:
    """Accept draft tokens until the first rejection, then draw from the residual at that row.

    Guarantee: the law of ``verifiers.token_verification``, to the rounding of the rows' type; a token to which the
    target gives probability 0 is never emitted.
    Source: Leviathan et al. 2023, Algorithm 1; Sun et al. 2025, Algorithm 1 and Eq. (3).
    """
    ratio = rows.log_ratios().exp()
    accepted = (chance.acceptance < ratio).cumprod(-1).sum(-1)
    rest = rows.excess(accepted, torch.ones_like(ratio))
    return emitted(rows.tokens, accepted, draw(rest, chance.residual))
