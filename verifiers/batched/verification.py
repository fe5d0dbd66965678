"""Token, block and greedy block verification of a batch."""

from typing import NamedTuple

import torch
from torch import Tensor

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


def block_verification(rows: BatchRows, chance: Uniforms) -> Emitted:
    """Keep the longest accepted sub-block, then draw from the residual that its survival leaves.

    Guarantee: the law of ``verifiers.block_verification``, to the rounding of the rows' type; a token to which the
    target gives probability 0 is never emitted. Source: Sun et al. 2025, Algorithm 2, Eq. (4) and (5).
    """
    survival = rows.survival()
    accepted, rest = rows.longest_sub_block(survival, chance.acceptance)
    return emitted(rows.tokens, accepted, draw(rest, chance.residual))


class Modification(NamedTuple):
    """A modification: what Algorithm 5 needs of the text since an iteration began, whatever its length.

    remaining: how many of the next tokens still follow the modified target, [B] int64.
    log_ratio: log(M_b(y | c) / M_s(y | c)), joint over the tokens y since then, [B] float64.
    """

    remaining: Tensor
    log_ratio: Tensor


def greedy_block_verification(rows: BatchRows, chance: Uniforms) -> tuple[Emitted, Modification]:
    """Keep the longest accepted sub-block under uncapped likelihood ratios.

    p_i = p_{i-1} M_b(X_i | X^{i-1}) / M_s(X_i | X^{i-1}).
    Guarantee: the law of ``verifiers.greedy_block_verification``, to the rounding of the rows' type. NOT valid in the
    plain loop: the next gamma - tau - 1 tokens must follow ``modified``, with the modification that is returned.
    Source: Sun et al. 2025, Appendix C, Algorithm 4 and Eq. (30).
    """
    walk = rows.log_ratios().cumsum(-1)
    survival = walk.exp()
    accepted, rest = rows.longest_sub_block(survival, chance.acceptance)
    last = draw(rest, chance.residual)
    fresh = Modification(torch.full_like(accepted, survival.shape[1]), torch.zeros_like(walk[:, 0]))
    return emitted(rows.tokens, accepted, last), _after(fresh, rows, walk, accepted, last)


def carried(modification: Modification, rows: BatchRows, given: Emitted) -> Modification:
    """Return an earlier modification after one more iteration, which emitted ``given``.

    rows: with the target as it was before this modification (but after all that are older), and the same draft.
    """
    accepted = given.accepted
    last = given.tokens.gather(1, accepted[:, None])
    return _after(modification, rows, rows.log_ratios().cumsum(-1), accepted, last)


def _after(before: Modification, rows: BatchRows, walk: Tensor, accepted: Tensor, last: Tensor) -> Modification:
    gamma = walk.shape[1]
    start = torch.cat([torch.zeros_like(walk[:, :1]), walk], 1).gather(1, accepted[:, None]).squeeze(1)
    step = rows.log_ratio(accepted.clamp(max=gamma - 1), last.squeeze(1))  # unused behind gamma tokens
    return Modification((before.remaining - accepted - 1).clamp(min=0), before.log_ratio + start + step)


def modified(target: Tensor, rows: BatchRows, draft: Tensor, modification: Modification) -> Tensor:
    """Return the target's rows along the next draft block, [B, gamma + 1, V] probabilities, by Algorithm 5.

    M_new(x | y) is proportional to max(M_b(y, x | c) - M_s(y, x | c), 0) = max(r M_b(x) - M_s(x), 0) M_s(y | c), with
    r = M_b(y | c) / M_s(y | c), for the first ``remaining`` rows; M_b from there on, and where nothing is left.
    target, draft: probabilities, [B, gamma + 1, V] and [B, gamma, V].
    rows: the same with the draft tokens. Reference: ``models.decoding``.
    Source: Sun et al. 2025, Algorithm 5 and Eq. (31); nested when ``target`` is itself modified (footnote 6).
    """
    gamma = draft.shape[1]
    walk = modification.log_ratio[:, None] + rows.log_ratios().cumsum(-1)
    ratio = torch.cat([modification.log_ratio[:, None], walk[:, :-1]], 1).exp()
    scale, share = ratio.clamp(max=1).to(target.dtype), (1 / ratio.clamp(min=1)).to(target.dtype)
    left = (target[:, :-1] * scale[..., None] - draft * share[..., None]).clamp_(min=0)
    total = left.sum(-1, keepdim=True)
    changed = torch.arange(gamma, device=draft.device) < modification.remaining[:, None]
    changed = changed[..., None] & (total > 0)
    return torch.cat([torch.where(changed, left / total, target[:, :-1]), target[:, -1:]], 1)
