"""Traversal verification: from the leaves to the root, so that a parent stays usable after its children have failed."""

from ..arithmetic import Number, minimum, normalised, quotient, ratio, residual
from ..chance import Chance
from .draft_tree import CONTEXT, DraftTree, TreeVerdict


def traversal(tree: DraftTree, chance: Chance) -> TreeVerdict:
    """Examine each child's branch with weight min(1, a p(x) / q(x)); then the node itself, accepted with probability a.

    When a branch is rejected, with S = sum_x max(a p(x) - q(x), 0): p <- norm(max(a p - q, 0)), a <- S / (S + 1 - a).
    a: 1 at the context; q: the row that the child was drawn from.
    0/0 arises where a = 1 and p = q: then no branch is ever rejected.
    Guarantee: valid where siblings are drawn as the rows of the tree say; on a single path it is block verification.
    Source: Weng et al. 2025, "Traversal Verification for Speculative Tree Decoding", Algorithms 1 and 2.
    """

    def examine(node: int, weight: Number) -> TreeVerdict | None:
        p = tree.target[node + 1]
        for child in tree.children(node):
            q, x = tree.draft[child], tree.tokens[child]
            verdict = examine(child, minimum(weight * ratio(p[x], q[x]), 1))
            if verdict is not None:
                return verdict
            rest = residual(p, q, weight)
            surplus = sum(rest)
            weight = quotient(surplus, surplus + 1 - weight, 1)
            p = normalised(rest) if surplus != 0 else p
        if node == CONTEXT or chance.flip(weight):
            return TreeVerdict(node, chance.draw(p))
        return None

    verdict = examine(CONTEXT, 1)
    assert verdict is not None, "the context is always accepted"
    return verdict
