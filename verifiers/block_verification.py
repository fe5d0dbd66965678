"""Block verification: the whole draft block is verified jointly. Source: Sun et al. 2025, Algorithm 2.

Both published forms: by sub-blocks, and as a forward stream.
"""

from .arithmetic import Number, Row, minimum, quotient, ratio, residual
from .chance import Chance
from .draft_block import Block, Verdict
from .sub_block import SubBlockRule, longest_sub_block


def survive(survival: Number, p: Number, q: Number) -> Number:
    """Return the probability that the prefix survives step i.

    p_i = min(p_{i-1} M_b(X_i) / M_s(X_i), 1).

    Source: Algorithm 2, line 4; Eq. (9).
    """
    return minimum(survival * ratio(p, q), 1)


def accept(survival: Number, surplus: Number, target: Row, draft: Row) -> Number:
    """Return the probability with which the sub-block of the first i tokens is accepted.

    h_i = S / (S + 1 - p_i), S = sum_x max(p_i M_b(x) - M_s(x), 0). Source: Eq. (5).

    0/0 arises where p_i = 1 and the two rows are equal. There Pr(tau >= i + 1) is already 1 for every
    continuation (Lemma 3), so any value is the same law; 1 also keeps the empty residual from being drawn.
    """
    return quotient(surplus, surplus + 1 - survival, 1)


def accept_all(survival: Number) -> Number:
    """Return h_gamma = p_gamma. Source: Figure 2."""
    return survival


RULE = SubBlockRule(survive, accept, accept_all)


def block_verification(block: Block, chance: Chance) -> Verdict:
    """Keep the longest accepted sub-block, then draw from the residual that its survival leaves.

    Guarantee: valid (Theorem 1); Pr(tau >= i | X^i) = p_i(X^i) (Lemma 3), the largest of all valid verifiers (Lemma 4,
    Theorem 2). Source: Sun et al. 2025, Algorithm 2, Eq. (4) and (5).
    """
    return longest_sub_block(RULE, block, chance)


def block_stream(block: Block, chance: Chance) -> Verdict:
    """Walk the block once; at each step the outcome so far stays, or a longer one replaces it.

    At step i with a = p_i the weights are max(a M_b(x) - M_s(x), 0) for "X^i then x" and 1 - a for "as before"; after
    the last token M_s is the zero row, so that the bonus token is drawn with weight a M_b(x). All weights are zero
    where a = 1 and the rows are equal: the outcome of this step is then surely replaced at a later one, so the step is
    skipped. Where only rounding made them equal, a later step replaces what is not there yet. (The published sketch
    fails there, and appends its zero row to the caller's list.)
    Guarantee: equal in law to Algorithm 2.
    Source: Leviathan, "Fixing a 'Bug' in Speculative Decoding" (2024); Sun et al. 2025, Appendix A.
    """
    gamma = block.gamma
    survival, outcome = 1, Verdict(0, -1)
    for i in range(gamma + 1):
        target = block.target[i]
        rest = residual(target, block.draft[i], survival) if i < gamma else [survival * p for p in target]
        stays = 1 - survival if outcome.token >= 0 else 0
        if sum(rest) + stays != 0:
            k = chance.draw([*rest, stays])
            if k < len(rest):
                outcome = Verdict(i, k)
        if i < gamma:
            x = block.tokens[i]
            survival = survive(survival, target[x], block.draft[i][x])
    return outcome
