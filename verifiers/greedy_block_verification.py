"""Greedy block verification: accepts most in one iteration, and must change the target (models/decoding.py)."""

from .arithmetic import Number, Row, minimum, positive_part, quotient, ratio
from .chance import Chance
from .draft_block import Block, Verdict
from .sub_block import SubBlockRule, longest_sub_block


def survive(survival: Number, p: Number, q: Number) -> Number:
    """Return p_i = p_{i-1} M_b(X_i) / M_s(X_i), without a cap. Source: Algorithm 4, line 4."""
    return survival * ratio(p, q)


def accept(survival: Number, surplus: Number, target: Row, draft: Row) -> Number:
    """Return h_i = min(1, sum_x max(p_i M_b - M_s, 0) / sum_x max(M_s - p_i M_b, 0)). Source: Algorithm 4, line 5.

    The denominator is zero only where p_i M_b >= M_s everywhere; every continuation is then accepted (Lemma 9), so any
    value is the same law, and 1 is the limit.
    """
    shortfall = sum(positive_part(q - survival * p) for p, q in zip(target, draft, strict=True))
    return minimum(quotient(surplus, shortfall, 1), 1)


def accept_all(survival: Number) -> Number:
    """Return h_gamma = min(1, p_gamma). Source: Algorithm 4, line 13."""
    return minimum(survival, 1)


RULE = SubBlockRule(survive, accept, accept_all)


def greedy_block_verification(block: Block, chance: Chance) -> Verdict:
    """Keep the longest accepted sub-block under uncapped likelihood ratios.

    Guarantee: Pr(X^l = x, tau >= l) = min(M_b(x), M_s(x)) (Lemma 9), so E[tau] reaches the optimal coupling
    (Lemma 10). NOT valid in the plain loop, only in Algorithm 6: the next gamma - tau - 1 tokens follow Algorithm 5's
    law.
    Source: Sun et al. 2025, Appendix C, Algorithm 4 and Eq. (30).
    """
    return longest_sub_block(RULE, block, chance)
