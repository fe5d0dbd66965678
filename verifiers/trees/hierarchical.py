"""Hierarchical speculative decoding: the block's joint ratio, resampled branch by branch; as published, and mended."""

from ..arithmetic import Number, minimum, positive_part, quotient, ratio, residual
from ..chance import Chance
from .draft_tree import DraftTree, TreeVerdict, VerifyTree


def _hierarchical(capped_at_the_end: bool) -> VerifyTree:
    def verify(tree: DraftTree, chance: Chance) -> TreeVerdict:
        block = tree.chain()
        joint: Number = 1
        largest: Number = 1
        capped = [joint]
        for i, x in enumerate(block.tokens):
            joint = joint * ratio(block.target[i][x], block.draft[i][x])
            largest = largest + positive_part(joint - largest)
            capped.append(joint / largest)
        if chance.flip(capped[-1] if capped_at_the_end else minimum(joint, 1)):
            return TreeVerdict(block.gamma - 1, chance.draw(block.target[block.gamma]))
        for i in range(block.gamma - 1, -1, -1):
            p, q = block.target[i], block.draft[i]
            above = residual(p, q, capped[i])
            below = sum(positive_part(b - capped[i] * a) for a, b in zip(p, q, strict=True))
            larger = below + positive_part(sum(above) - below)
            if i == 0 or chance.flip(quotient(sum(above), larger, 1)):
                return TreeVerdict(i - 1, chance.draw(above))
        raise AssertionError("unreachable: the empty prefix is always kept")

    return verify


hierarchical = _hierarchical(capped_at_the_end=True)
"""Hierarchical speculative decoding with the cap at every place: in law it is block verification.

R_j = M_b(X^j) / M_s(X^j), a_k = R_k / max(1, R_1, .., R_k), D_k(x) = a_k M_b(x | X^k) - M_s(x | X^k).
The block is accepted with probability a_gamma; else on the way back X^k is kept with probability
sum D+ / max(sum D+, sum D-) and followed by Y ~ norm(D+).
Guarantee: valid, for a single path: a_k is p_k of block verification (Eq. 9), and sum D- = sum D+ + 1 - a_k.
Source: Zhou et al. 2026, "Hierarchical Speculative Decoding", with the cap of its branches at the end too.
"""

hierarchical_as_published = _hierarchical(capped_at_the_end=False)
"""The same with the joint ratio min(1, R_gamma) for the whole block, as the published code has it.

NOT valid: it accepts blocks that a prefix had already used up (TV 1/9 on the example with gamma = 2).
Source: Zhou et al. 2026, code in the repository of the authors: cumulative log ratios, not capped; the adapter ``hsd``
runs it.
"""
