"""Block verification: the whole draft block is verified jointly. Source: Sun et al. 2025, Algorithm 2."""

from .arithmetic import Number, Row, minimum, quotient, ratio
from .chance import Chance
from .draft_block import Block, Verdict
from .sub_block import SubBlockRule, longest_sub_block


def survive(survival: Number, p: Number, q: Number) -> Number:
    """p_i = min(p_{i-1} M_b(X_i) / M_s(X_i), 1). Source: Algorithm 2, line 4; Eq. (9)."""
    return minimum(survival * ratio(p, q), 1)


def accept(survival: Number, surplus: Number, target: Row, draft: Row) -> Number:
    """h_i = S / (S + 1 - p_i), S = sum_x max(p_i M_b(x) - M_s(x), 0). Source: Eq. (5).

    0/0 arises where p_i = 1 and the two rows are equal. There Pr(tau >= i + 1) is already 1 for every
    continuation (Lemma 3), so any value is the same law; 1 also keeps the empty residual from being drawn.
    """
    return quotient(surplus, surplus + 1 - survival, 1)


def accept_all(survival: Number) -> Number:
    """h_gamma = p_gamma. Source: Figure 2."""
    return survival


RULE = SubBlockRule(survive, accept, accept_all)


def block_verification(block: Block, chance: Chance) -> Verdict:
    """Keep the longest accepted sub-block, then draw from the residual that its survival leaves.

    Guarantee: valid (Theorem 1); Pr(tau >= i | X^i) = p_i(X^i) (Lemma 3), the largest of all valid verifiers (Lemma 4,
    Theorem 2). Source: Sun et al. 2025, Algorithm 2, Eq. (4) and (5).
    """
    return longest_sub_block(RULE, block, chance)
