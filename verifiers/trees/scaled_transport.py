"""Transport scaled by the prefix: level by level the optimal plan between what is left of the target and the drafts."""

from ..arithmetic import or_else, quotient
from ..chance import Chance
from .descent import Siblings
from .draft_tree import CONTEXT, DraftTree, TreeVerdict
from .optimal_transport import offered


def scaled_transport(tree: DraftTree, chance: Chance) -> TreeVerdict:
    """Choose on the way down one of the drafts S in proportion to the plan from a p to the drafts; accept on the way
    up.

    a: the prefix acceptance probability of a node, 1 at the context and sum_x moved(S, x) / Pr(S) at the child.
    The way up: the last node is accepted with probability a, one above with (a - m) / (1 - m), m what the plan moved,
    and followed by Y from what the plan left of a p.
    Guarantee: valid where siblings are drawn as the rows of the tree say; on a single path it is block verification.
        How the plan is spread over the sets S changes E[tau] below the first depth.
    Source: Weng, Hu and Yairi 2026 (UniVer), by the abstract: "prefix acceptance probabilities act as scaling factors
        .. composing local optimal transport plans under prefix constraints"; the rest is derived here.
    """
    alive, weight = (CONTEXT,), 1
    above = []  # of each node on the way down: the node, its weight, what the plan moved and what it left
    while children := tree.children(*alive):
        row = [weight * p for p in tree.target[alive[0] + 1]]
        drafted = tuple(tree.tokens[n] for n in children)
        tokens, weights, left = offered(Siblings(row, tuple(tree.draft[n] for n in children), drafted, tree.how))
        above.append((alive[0], weight, weight - sum(left), left))
        weight = quotient(sum(weights[:-1]), sum(weights), 0)
        if weight == 0:
            break
        x = tokens[chance.draw(weights[:-1])]
        alive = tuple(n for n in children if tree.tokens[n] == x)
    else:
        if chance.flip(weight):
            return TreeVerdict(alive[0], chance.draw(tree.target[alive[0] + 1]))
    for node, a, moved, left in reversed(above):
        if node == CONTEXT or chance.flip(quotient(a - moved, 1 - moved, 1)):
            return TreeVerdict(node, chance.draw(or_else(left, tree.target[node + 1])))
    raise AssertionError("unreachable: the context is always accepted")
