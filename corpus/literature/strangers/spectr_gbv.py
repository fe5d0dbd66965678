"""SpecTr-GBV's verifier after its code: every path's prefixes in turn, each accepted by a coin of its own."""

from draftproof.verifiers.arithmetic import minimum, or_else, positive_part, quotient
from draftproof.verifiers.chance import Chance
from draftproof.verifiers.trees.draft_tree import CONTEXT, IID, DraftTree, TreeVerdict
from draftproof.verifiers.trees.in_floats import function_of
from draftproof.verifiers.trees.registry import TreeReference


def spectr_gbv(tree: DraftTree, chance: Chance) -> TreeVerdict:
    """Go through the paths, each from the length that is accepted so far; stop at a path that is accepted whole.

    P and Q: the target's and the draft's probability of a prefix; share(r) = 1 - (1 - min(r, 1))^K. A prefix of less
    than gamma tokens is accepted with

        (sum_x P(x) (1 - share(Q(x) / P(x))) - P (1 - share(Q / P))) / (1 - (1 - Q)^K - sum_x P(x) share(Q(x) / P(x))),

    P(x) of the prefix and x, if no path before had it and lost the coin; a whole path with P share(Q / P) / (1 - (1 -
    Q)^K). Y is drawn from P(x) (1 - min(Q(x) / P(x), 1)^K) at the accepted prefix.
    Source: Lin, Sheng, Cai and Zhou 2026 (SpecTr-GBV); junemily/SpecTr-GBV at e399f446, src/engine.py. What it adds to
        denominators is left out; where nothing is left, Y is drawn from the target.
    """
    paths = [[CONTEXT, *path] for path in _paths(tree)]
    count, gamma = len(paths), len(paths[0]) - 1
    node, best, lost = CONTEXT, (0, 1, 1), set()
    for path in paths:
        start = best[0]
        above = below = 1  # P and Q
        for i, n in enumerate(path[1:], 1):
            token, whole = tree.tokens[n], i == gamma
            above, below = above * tree.target[path[i - 1] + 1][token], below * tree.draft[n][token]
            if i <= start or (not whole and tree.path(n) in lost):
                continue
            share = _share(below, above, count)
            drafted = 1 - (1 - below) ** count
            if whole:
                coin = quotient(above * share, drafted, 0)
            else:
                rows = zip(tree.target[n + 1], tree.draft[path[i + 1]], strict=True)
                longer = [(above * p, _share(below * q, above * p, count)) for p, q in rows]
                excess = sum(p * (1 - s) for p, s in longer) - above * (1 - share)
                coin = quotient(excess, drafted - sum(p * s for p, s in longer), int(excess > 0))
            if chance.flip(minimum(positive_part(coin), 1)):
                node, best = n, (i, above, below)
            elif not whole:
                lost.add(tree.path(n))
        if best[0] == gamma:
            break
    length, above, below = best
    row = tree.target[node + 1]
    if length == gamma:
        return TreeVerdict(node, chance.draw(row))
    draft = tree.draft[next(path[length + 1] for path in paths if path[length] == node)]
    left = [above * p * (1 - minimum(quotient(below * q, above * p, 1), 1) ** count) for p, q in zip(row, draft)]
    return TreeVerdict(node, chance.draw(or_else(left, row)))


def _share(below, above, count):
    return 1 - (1 - minimum(quotient(below, above, 1), 1)) ** count


def _paths(tree: DraftTree) -> list[list[int]]:
    """Return the nodes of each path, from the context's child on."""
    found = []
    for n in tree.children(CONTEXT):
        path = [n]
        while below := tree.children(path[-1]):
            path.append(below[0])
        found.append(path)
    return found


RULE = TreeReference("spectr-gbv", spectr_gbv, "junemily/SpecTr-GBV at e399f446", (IID,), "paths", lossless=False)
verify = function_of(RULE)
