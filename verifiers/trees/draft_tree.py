"""The input and the output of a verifier of trees."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arithmetic import Row
from ..draft_block import Block

CONTEXT = -1
"""The parent of the nodes that follow the context."""

IID, WITHOUT_REPLACEMENT, TOP = "iid", "without-replacement", "top"
"""How siblings are drawn: independently from one row; each from what its elder siblings left; the most likely tokens."""

WAYS = (IID, WITHOUT_REPLACEMENT, TOP)


@dataclass(frozen=True)
class Drafting:
    """How a tree is drawn.

    children: of each node at depth 0..gamma-1, [gamma].
    how: IID, WITHOUT_REPLACEMENT or TOP.
    """

    children: tuple[int, ...]
    how: str = IID

    @property
    def nodes(self) -> int:
        """N, if no row runs out of tokens."""
        total, level = 0, 1
        for count in self.children:
            level *= count
            total += level
        return total

    @property
    def chain(self) -> bool:
        """Whether a single path is drawn."""
        return set(self.children) == {1}

    @property
    def paths(self) -> int | None:
        """K, if K independent paths are drawn."""
        return self.children[0] if self.how == IID and set(self.children[1:]) <= {1} else None


class DraftTree(NamedTuple):
    """A draft tree of N nodes in drawing order, with the rows of both models.

    target: row 0 after the context, row n + 1 after node n, [N + 1, V].
    draft: the row that node n was drawn from, [N, V]; where nothing was drawn (top), the point mass at its token.
    tokens: of the nodes, [N].
    parents: index of the parent, -1 for a child of the context; a parent comes before its children, [N].
    how: IID, WITHOUT_REPLACEMENT or TOP.
    """

    target: Sequence[Row]
    draft: Sequence[Row]
    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    how: str = IID

    def children(self, *nodes: int) -> tuple[int, ...]:
        """The children of some nodes, in drawing order."""
        return tuple(n for n, parent in enumerate(self.parents) if parent in nodes)

    def path(self, node: int) -> tuple[int, ...]:
        """The tokens from the context to a node."""
        return () if node == CONTEXT else (*self.path(self.parents[node]), self.tokens[node])

    def chain(self) -> Block:
        """The draft block that a tree of a single path is. Raises: ValueError for another tree."""
        if self.parents != tuple(range(-1, len(self.tokens) - 1)):
            raise ValueError(f"the tree with parents {list(self.parents)} is not a single path")
        return Block(self.target, self.draft, self.tokens)


class TreeVerdict(NamedTuple):
    """The outcome of one verification.

    node: the last accepted node, CONTEXT if none is.
    token: Y, the token that follows it.
    """

    node: int
    token: int

    def tokens(self, tree: DraftTree) -> tuple[int, ...]:
        """The accepted path and Y: the tau + 1 tokens that one iteration adds to the text."""
        return (*tree.path(self.node), self.token)


VerifyTree = Callable[[DraftTree, Any], TreeVerdict]
"""verify(tree, chance) -> TreeVerdict: a verification algorithm for trees."""
