"""Transport scaled by the prefix: level by level an optimal plan between what is left of the target and the drafts."""

from functools import lru_cache, partial
from itertools import accumulate

from ..arithmetic import Number, Row, minimum, or_else, quotient
from ..chance import Chance
from .descent import Siblings
from .draft_tree import CONTEXT, IID, WITHOUT_REPLACEMENT, DraftTree, TreeVerdict
from .optimal_transport import Flow, Planner, TransportPlan, best_plan, law_of_drafts, offered


def scaled_transport(tree: DraftTree, chance: Chance) -> TreeVerdict:
    """Choose on the way down one of the drafts S in proportion to the plan from a p to the drafts; accept on the way
    up.

    a: the prefix acceptance probability of a node, 1 at the context and sum_x moved(S, x) / Pr(S) at the child.
    The way up: the last node is accepted with probability a, one above with (a - m) / (1 - m), m what the plan moved,
    and followed by Y from what the plan left of a p.
    Guarantee: valid where siblings are drawn as the rows of the tree say, whatever the plans; on a single path it is
        block verification. Of the optimal plans it takes that of ``plan_for_the_tree``, which says for which trees it
        is the best.
    Source: derived here from one sentence of the abstract of Weng, Hu and Yairi 2026 (UniVer): "prefix acceptance
        probabilities" scale the transport of each level. Whether UniVer's rule is this one is not known.
    """
    alive, weight, depth = (CONTEXT,), 1, 0
    above = []  # of each node on the way down: the node, its weight, what the plan moved and what it left
    while children := tree.children(*alive):
        row = [weight * p for p in tree.target[alive[0] + 1]]
        drafted, depth = tuple(tree.tokens[n] for n in children), depth + 1
        below = max(len(tree.children(n)) for n in range(len(tree.tokens)) if len(tree.path(n)) == depth)
        siblings = Siblings(row, tuple(tree.draft[n] for n in children), drafted, tree.how)
        tokens, weights, left = offered(siblings, planner(tree.how, below))
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


def planner(how: str, below: int) -> Planner:
    """Return the choice of plans where a sibling has up to ``below`` children.

    It must depend on no row that was drawn. How many children are drawn without replacement does, so one is assumed.
    """
    if how == WITHOUT_REPLACEMENT:
        below = 1
    return partial(plan_for_the_tree, below=below) if below and how in (IID, WITHOUT_REPLACEMENT) else best_plan


@lru_cache(maxsize=4096)
def plan_for_the_tree(target: Row, draft: Row, count: int, how: str, below: int) -> TransportPlan:
    """Return of the optimal plans the one after which most is accepted one level further down, on rows like these.

    After the drafts S, of which n go on, a child of weight a keeps f_n(a) = 1 + min over H of a p(H) - q(H)^n: so what
    is made largest is the sum of Pr(S) f_n(a(S)), a(S) = sum_x moved(S, x) / Pr(S). What the sets S can give is a
    polymatroid and f_n is concave, so the steepest pieces first, each as far as it goes, is optimal (Federgruen and
    Groenevelt 1986); whatever S has given it keeps.
    Guarantee: for two siblings, with or without replacement, no choice of plans accepts more where the children's rows
        are these and nothing is drafted further down (and, without replacement, each child has one child). Rows of
        children that were not drafted are not known, and which plan is best depends on them: none is for all. Of more
        siblings S does not say how many are equal, count / |S| are taken to go on, and nothing is claimed.
    """
    if count == 1:  # what each S gives is decided
        return best_plan(target, draft, count, how)
    supply = law_of_drafts(draft, count, how)
    mass = sum(target)
    p = tuple(w / mass for w in target) if mass != 0 else target
    ends = {s: kept_by_slope(p, draft, below * (count // len(s) if how == IID else 1)) for s in supply}
    spread = Flow(supply, target)
    for slope in sorted({slope for pieces in ends.values() for slope in pieces}, reverse=True):
        limits = {}
        for s, given in spread.moved.items():
            upto = max((end for steep, end in ends[s].items() if steep >= slope), default=0)
            limits[s] = upto * supply[s] - sum(given.values())
        spread.enlarge(limits)
    spread.enlarge(spread.supply)
    flow = Flow(supply, target)  # anew, so that no number is changed more often than for any other plan
    flow.enlarge({s: sum(given.values()) for s, given in spread.moved.items()})
    return flow.plan()._replace(full=spread.plan().full)


def kept_by_slope(target: Row, draft: Row, drafts: int) -> dict[Number, Number]:
    """Return the slopes of f(a) = 1 + min over H of a p(H) - q(H)^n, the largest first, each with the weight a up to
    which f has it.

    H is one of V + 1 sets, those of the smallest p / q (Hu et al. 2025).
    """
    ends: dict[Number, Number] = {}
    order = sorted((t for t, q in enumerate(draft) if q != 0), key=lambda t: target[t] / draft[t])
    sets = [(0, 0), *zip(accumulate(target[t] for t in order), accumulate(draft[t] for t in order))]
    while (p := sets[-1][0]) > 0:
        q = sets[-1][1]
        end, size = min(((q**drafts - b**drafts) / (p - a), n) for n, (a, b) in enumerate(sets) if a < p)
        ends[p] = minimum(end, 1)
        sets = sets[: size + 1]
    return ends
