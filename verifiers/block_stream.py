"""Block verification as a forward stream: the second published form."""

from .arithmetic import minimum, ratio, residual
from .chance import Chance
from .draft_block import Block, Verdict


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
            survival = minimum(survival * ratio(target[x], block.draft[i][x]), 1)
    return outcome
