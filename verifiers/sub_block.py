"""The procedure that block verification and greedy block verification share.

Both keep the longest accepted sub-block X^tau = X_1..X_tau, and differ only in the formulas that Algorithm 4
highlights against Algorithm 2. Those formulas are a ``SubBlockRule``; the procedure is ``longest_sub_block``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from .arithmetic import Number, Row, residual
from .chance import Chance
from .draft_block import Block, Verdict


class SubBlockRule(NamedTuple):
    """A set of formulas of one algorithm.

    survive: (p_{i-1}, p = M_b(X_i), q = M_s(X_i)) -> p_i.
    accept: (p_i, surplus, target, draft) -> h_i for i < gamma, with the rows after X^i and
        surplus = sum_x max(p_i M_b(x) - M_s(x), 0), the mass of the residual of Eq. (4).
    accept_all: p_gamma -> h_gamma.
    start: p_0, which may be more than a number.
    rest: (target, draft, p_i) -> Y's weights.
    """

    survive: Callable[[Number, Number, Number], Number]
    accept: Callable[[Number, Number, Row, Row], Number]
    accept_all: Callable[[Number], Number]
    start: Any = 1
    rest: Callable[[Row, Row, Any], list[Number]] = residual


def longest_sub_block(rule: SubBlockRule, block: Block, chance: Chance) -> Verdict:
    """Return tau = max{i : eta_i <= h_i}, then Y from the residual at tau (from M_b if tau = gamma).

    The coins are flipped from the longest sub-block down, so that the first success decides. They are independent, so
    the order does not change the law, and h_i is computed only where it is needed.
    """
    survival: list[Number] = [rule.start]
    for i, x in enumerate(block.tokens):
        survival.append(rule.survive(survival[i], block.target[i][x], block.draft[i][x]))
    if chance.flip(rule.accept_all(survival[block.gamma])):
        return Verdict(block.gamma, chance.draw(block.target[block.gamma]))
    for i in range(block.gamma - 1, -1, -1):
        rest = rule.rest(block.target[i], block.draft[i], survival[i])
        if i == 0 or chance.flip(rule.accept(survival[i], sum(rest), block.target[i], block.draft[i])):
            return Verdict(i, chance.draw(rest))
    raise AssertionError("unreachable: the empty sub-block is always accepted")
