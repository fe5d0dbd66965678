"""The walk that rules for one step share: from the context down, one token at a time, while a child is accepted."""

from collections.abc import Callable
from typing import NamedTuple

from ..arithmetic import Row
from ..chance import Chance
from .draft_tree import CONTEXT, DraftTree, TreeVerdict, VerifyTree


class Siblings(NamedTuple):
    """A set of siblings: what may follow the accepted text, in drawing order.

    target: M_b after that text, [V].
    drafts: the row that each was drawn from, [k, V].
    tokens: [k].
    how: as in ``DraftTree``.
    """

    target: Row
    drafts: tuple[Row, ...]
    tokens: tuple[int, ...]
    how: str


class Choice(NamedTuple):
    """A choice of the next token. accepted: whether it is one of the siblings."""

    token: int
    accepted: bool


Step = Callable[[Siblings, Chance], Choice]
"""One step of a rule. It is valid if the token follows M_b over the drawing of the siblings and its own chance."""


def descend(step: Step) -> VerifyTree:
    """Verify a tree by a rule for one step.

    Nodes with the same text go on together: their children are the siblings of the next step. That is sound because no
    step has looked at them yet.
    Guarantee: valid if the step is, for any number of siblings.
    Source: Sun et al. 2023 (SpecTr), Algorithm 2; Miao et al. 2024 (SpecInfer), Algorithm 2.
    """

    def verify(tree: DraftTree, chance: Chance) -> TreeVerdict:
        alive: tuple[int, ...] = (CONTEXT,)
        while children := tree.children(*alive):
            tokens = tuple(tree.tokens[n] for n in children)
            drafts = tuple(tree.draft[n] for n in children)
            token, accepted = step(Siblings(tree.target[alive[0] + 1], drafts, tokens, tree.how), chance)
            if not accepted:
                return TreeVerdict(alive[0], token)
            alive = tuple(n for n in children if tree.tokens[n] == token)
        return TreeVerdict(alive[0], chance.draw(tree.target[alive[0] + 1]))

    return verify
