"""Hierarchical speculative decoding: the block's joint ratio, resampled branch by branch; as published, and mended."""

from ..arithmetic import Number, Row, minimum, positive_part, quotient, ratio, residual
from ..chance import Chance
from ..sub_block import SubBlockRule, longest_sub_block
from .draft_tree import DraftTree, TreeVerdict, VerifyTree


def _survive(at: tuple, p: Number, q: Number) -> tuple:
    """Return R_j, the largest so far, a_j."""
    joint = at[0] * ratio(p, q)
    largest = at[1] + positive_part(joint - at[1])
    return joint, largest, joint / largest


def _accept(at: tuple, above: Number, target: Row, draft: Row) -> Number:
    below = sum(positive_part(q - at[2] * p) for p, q in zip(target, draft, strict=True))
    return quotient(above, below + positive_part(above - below), 1)


CAPPED = SubBlockRule(_survive, _accept, lambda at: at[2], (1, 1, 1), lambda p, q, at: residual(p, q, at[2]))
AS_PUBLISHED = CAPPED._replace(accept_all=lambda at: minimum(at[0], 1))


def _verifying(rule: SubBlockRule) -> VerifyTree:
    def verify(tree: DraftTree, chance: Chance) -> TreeVerdict:
        accepted, token = longest_sub_block(rule, tree.chain(), chance)
        return TreeVerdict(accepted - 1, token)

    return verify


hierarchical = _verifying(CAPPED)
"""Hierarchical speculative decoding with the cap at every place: in law it is block verification.

R_j = M_b(X^j) / M_s(X^j), a_k = R_k / max(1, R_1, .., R_k), D_k(x) = a_k M_b(x | X^k) - M_s(x | X^k).
The block is accepted with probability a_gamma; else on the way back X^k is kept with probability
sum D+ / max(sum D+, sum D-) and followed by Y ~ norm(D+).
Guarantee: valid, for a single path: a_k is p_k of block verification (Eq. 9), and sum D- = sum D+ + 1 - a_k.
Source: Zhou et al. 2026, "Hierarchical Speculative Decoding", with the cap of its branches at the end too.
"""

hierarchical_as_published = _verifying(AS_PUBLISHED)
"""The same with the joint ratio min(1, R_gamma) for the whole block, as the published code has it.

NOT valid: it accepts blocks that a prefix had already used up (TV 1/9 on the example with gamma = 2).
Source: Zhou et al. 2026, code in the repository of the authors: cumulative log ratios, not capped; the adapter ``hsd``
runs it.
"""
