"""The input and the output of a verifier of trees."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arithmetic import Row
from ..draft_block import Block

CONTEXT = -1
"""The parent of the nodes that follow the context."""

IID = "iid"
"""Siblings that are drawn independently from a row."""

WITHOUT_REPLACEMENT = "without-replacement"
"""Siblings each of which is drawn from what its elder siblings left."""

TOP = "top"
"""Siblings that are the most likely tokens."""

HUB = "hub"
"""Two siblings, one of which is the most likely token (``spec_hub``)."""

WAYS = (IID, WITHOUT_REPLACEMENT, TOP)
"""Ways of drawing that a verifier of trees is for if it does not say so itself."""

EVERY_WAY = (*WAYS, HUB)


@dataclass(frozen=True)
class Drafting:
    """A way of drawing trees.

    children: of each node at depth 0..gamma-1, [gamma]; of a ragged tree the most of each depth.
    how: one of ``EVERY_WAY``.
    parents: as in ``DraftTree``, of a ragged tree, whose nodes of one depth have different numbers of children, level
        by level, and of a tree whose nodes are drawn depth first; None of others. Which nodes have children does not
        depend on what is drawn.
    """

    children: tuple[int, ...]
    how: str = IID
    parents: tuple[int, ...] | None = None

    def places(self, node: int, depth: int) -> Sequence[int]:
        """Return the children of a node of ``parents``; without parents as many zeros as there are children."""
        if self.parents is not None:
            return [n for n, parent in enumerate(self.parents) if parent == node]
        return [0] * self.children[depth] if depth < len(self.children) else []

    @property
    def nodes(self) -> int:
        """Return N, if no row runs out of tokens."""
        if self.parents is not None:
            return len(self.parents)
        total, level = 0, 1
        for count in self.children:
            level *= count
            total += level
        return total

    @property
    def fits(self) -> bool:
        """Return whether there are no more siblings than that way of drawing has: two with a hub."""
        return self.how != HUB or max(self.children) <= 2

    @property
    def depth_first(self) -> bool:
        """Return whether what follows a node is drawn before its next sibling, and stands before it."""
        return self.parents is not None and list(self.parents) != sorted(self.parents)

    @property
    def chain(self) -> bool:
        """Return whether a single path is drawn."""
        return set(self.children) == {1}

    @property
    def block(self) -> bool:
        """Return whether a draft block is drawn: a single path, each token from the draft's row."""
        return self.chain and self.how != TOP

    @property
    def drawn(self) -> str:
        """Return what is drawn, in words."""
        return "a draft block" if self.block else "the likeliest tokens" if self.chain else "a tree of several drafts"

    @property
    def paths(self) -> int | None:
        """Return K, if K independent paths are drawn."""
        independent = self.how == IID and self.parents is None and set(self.children[1:]) <= {1}
        return self.children[0] if independent else None

    def __str__(self) -> str:
        """Return the numbers of children by depth: "2x1", or "2x1+0" if the second of two has none; and the order."""
        if self.parents is None:
            return "x".join(map(str, self.children))
        level, depths = [CONTEXT], []
        for _ in self.children:
            counts = [self.parents.count(node) for node in level]
            depths.append("+".join(map(str, counts if len(set(counts)) > 1 else counts[:1])))
            level = [n for node in level for n in self.places(node, 0)]
        return "x".join(depths) + ("-depth-first" if self.depth_first else "")


def drafting_by_parents(parents: tuple[int, ...], how: str = IID) -> Drafting:
    """Return the way of drafting a tree with these parents, level by level or depth first; not ragged if even, level
    by level.

    Raises: ValueError if nodes stand in another order, or before their parents.
    """
    levels, behind = list(parents) == sorted(parents), all(CONTEXT <= p < n for n, p in enumerate(parents))
    if not parents or not behind or not (levels or _depth_first(parents)):
        raise ValueError(
            f"parents {list(parents)}: expected each node behind its parent, level by level or depth first"
        )
    level, children, even = [CONTEXT], [], levels
    while any(node in parents for node in level):
        counts = [parents.count(node) for node in level]
        children.append(max(counts))
        even = even and len(set(counts)) == 1
        level = [n for n, parent in enumerate(parents) if parent in level]
    return Drafting(tuple(children), how, None if even else parents)


def _depth_first(parents: tuple[int, ...]) -> bool:
    """Return whether each node follows the one before it or one of that node's ancestors."""
    open_nodes = [CONTEXT]
    for n, parent in enumerate(parents):
        while open_nodes and open_nodes[-1] != parent:
            open_nodes.pop()
        if not open_nodes:
            return False
        open_nodes.append(n)
    return True


class DraftTree(NamedTuple):
    """A draft tree of N nodes in drawing order, with the rows of both models.

    target: row 0 after the context, row n + 1 after node n, [N + 1, V].
    draft: the row that node n was drawn from, [N, V]; where nothing was drawn (top), the point mass at its token.
    tokens: of the nodes, [N].
    parents: index of the parent, -1 for a child of the context; a parent comes before its children, [N].
    how: one of ``EVERY_WAY``.
    """

    target: Sequence[Row]
    draft: Sequence[Row]
    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    how: str = IID

    def children(self, *nodes: int) -> tuple[int, ...]:
        """Return the children of some nodes, in drawing order."""
        return tuple(n for n, parent in enumerate(self.parents) if parent in nodes)

    def path(self, node: int) -> tuple[int, ...]:
        """Return the tokens from the context to a node."""
        return () if node == CONTEXT else (*self.path(self.parents[node]), self.tokens[node])

    def chain(self) -> Block:
        """Return the draft block that a tree of a single path is. Raises: ValueError for another tree."""
        if self.parents != tuple(range(-1, len(self.tokens) - 1)):
            raise ValueError(f"the tree with parents {list(self.parents)} is not a single path")
        return Block(self.target, self.draft, self.tokens)


class TreeVerdict(NamedTuple):
    """An outcome of one verification.

    node: the last accepted node, CONTEXT if none is.
    token: Y, the token that follows it.
    """

    node: int
    token: int

    def tokens(self, tree: DraftTree) -> tuple[int, ...]:
        """Return the accepted path and Y: the tau + 1 tokens that one iteration adds to the text."""
        return (*tree.path(self.node), self.token)


VerifyTree = Callable[[DraftTree, Any], TreeVerdict]
"""verify(tree, chance) -> TreeVerdict: a verification algorithm for trees."""
