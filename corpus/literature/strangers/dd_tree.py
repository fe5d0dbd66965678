"""DDTree after its code: the likeliest prefixes under a drafter's rows, one a place, and samples of the target."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from draftproof.models.law import Prefix
from draftproof.verifiers.arithmetic import Row
from draftproof.verifiers.chance import Chance
from draftproof.verifiers.trees.draft_tree import CONTEXT, TOP, DraftTree, TreeVerdict
from draftproof.verifiers.trees.in_floats import function_of
from draftproof.verifiers.trees.registry import TreeReference


def mass(per_depth: Sequence[Row], text: Prefix) -> Any:
    """Return the probability of a text whose places are drawn apart."""
    return prod((per_depth[i][t] for i, t in enumerate(text)), start=sum(per_depth[0]))


def best_first(per_depth: Sequence[Row], budget: int) -> list[Prefix]:
    """The texts of the nodes, the likeliest first. Each opens its next sibling by rank and its own likeliest child.

    Source: Ringel and Romano 2026 (DDTree, 2604.12989); liranringel/ddtree at c96427a1, build_ddtree_tree.
    """
    ranked = [sorted(range(len(row)), key=lambda t, row=row: (-row[t], t)) for row in per_depth]
    offered: list[Prefix] = [(0,)]
    nodes: list[Prefix] = []
    while offered and len(nodes) < budget:
        texts = {ranks: tuple(ranked[i][r] for i, r in enumerate(ranks)) for ranks in offered}
        ranks = max(offered, key=lambda ranks: mass(per_depth, texts[ranks]))
        offered.remove(ranks)
        nodes.append(texts[ranks])
        offered += [(*ranks[:-1], ranks[-1] + 1)] if ranks[-1] + 1 < len(per_depth[0]) else []
        offered += [(*ranks, 0)] if len(ranks) < len(per_depth) else []
    return nodes


def drafted(target: Callable[[Prefix], Row], per_depth: Sequence[Row], budget: int) -> DraftTree:
    """Return the tree of these nodes, level by level, with the target's rows."""
    nodes = sorted(best_first(per_depth, budget), key=len)
    parents = tuple(nodes.index(x[:-1]) if len(x) > 1 else CONTEXT for x in nodes)
    chosen = [tuple(int(t == x[-1]) for t in range(len(per_depth[0]))) for x in nodes]
    return DraftTree([target(x) for x in ((), *nodes)], chosen, tuple(x[-1] for x in nodes), parents, TOP)


def follow(tree: DraftTree, chance: Chance) -> TreeVerdict:
    """Sample the target after the accepted node; go on while the sample is one of its children.

    Source: the same, follow_verified_tree; it samples after every node, and follows the samples.
    """
    node = CONTEXT
    while True:
        token = chance.draw(tree.target[node + 1])
        following = [n for n in tree.children(node) if tree.tokens[n] == token]
        if not following:
            return TreeVerdict(node, token)
        node = following[0]


RULE = TreeReference("dd-tree", follow, "liranringel/ddtree at c96427a1", (TOP,))
verify = function_of(RULE)
