"""Write the trees of an audit, models/tree_battery.json: ``python -m draftproof.benchmarks.choose_tree_battery``."""

import json
from dataclasses import replace
from math import prod

from draftproof.models.battery import drawn
from draftproof.models.law import ContextFree, Prefix
from draftproof.models.problem import Problem
from draftproof.models.tree_battery import drawing, ragged, tree_battery
from draftproof.verifiers.trees.draft_tree import CONTEXT, EVERY_WAY, IID, TOP, Drafting

FEW = 20
"""Most draft trees of a problem that every audit has."""

MOST = 128
"""Most draft trees of the first problem of each larger shape and vocabulary."""

AUDITED = (
    (drawn(3, 1, "generic"), (4,)), (drawn(4, 1, "generic"), (4,)),
    (drawn(2, 2, "generic"), (2, 2)), (drawn(2, 2, "generic"), (3, 1)),
    (drawn(3, 2, "generic"), (1, 2)), (drawn(3, 2, "generic"), (1, 3)),
    (drawn(2, 3, "generic"), (1, 1, 1)), (drawn(2, 3, "generic"), (1, 1, 2)),
    (drawn(2, 3, "generic"), (1, 2, 1)), (drawn(2, 2, "generic"), (1, 4)),
    (drawn(2, 1, "generic"), (5,)), (drawn(5, 1, "generic"), (5,)), (drawn(2, 3, "generic"), (2, 2, 2)),
    (drawn(2, 4, "generic"), (1, 1, 1, 2)), (drawn(2, 5, "generic"), (1, 1, 1, 1, 1)),
    (drawn(2, 3, "late-one-hot-draft"), (2, 2, 4)),
    (drawn(3, 3, "generic"), (1, 1, 1)), (drawn(3, 3, "generic"), (1, 1, 2)),
)  # fmt: skip
"""More numbers of children for audits: where a bug acts only there, all smaller trees are verified rightly.

Where the last drafts are sure there are many nodes, whose siblings are equal, in few trees.
"""

AUDITED_TOP = (
    (drawn(2, 4, "generic"), (2, 2, 2, 2)), (drawn(2, 5, "generic"), (2, 2, 2, 2, 2)), (drawn(4, 2, "generic"), (4, 4)),
    (drawn(4, 3, "generic"), (3, 3, 3)),
)  # fmt: skip
"""The same of larger trees, which are a single one where the most likely tokens are drawn."""

RAGGED = (
    (drawn(3, 2, "generic"), (-1, -1, 0)), (drawn(3, 2, "zeros"), (-1, -1, 1)),
    (drawn(3, 2, "generic", 1), (-1, -1, 1)),  # where the order of siblings shows
    (drawn(2, 2, "generic"), (-1, -1, 0, 0, 1)), (drawn(2, 3, "generic"), (-1, -1, 1, 2)),
)  # fmt: skip
"""Parents of trees whose nodes of one depth have different numbers of children, for audits."""

DEPTH_FIRST = (
    (drawn(2, 2, "generic"), (-1, 0, -1)), (drawn(2, 2, "generic"), (-1, 0, -1, 2)),
    (drawn(2, 3, "generic"), (-1, 0, 1, -1, 3)), (drawn(2, 2, "generic"), (-1, 0, 0, -1)),
    (drawn(3, 2, "generic"), (-1, 0, -1)),
)  # fmt: skip
"""The same of trees whose nodes stand depth first: the children of a node are not next to each other."""


def choose() -> list[Problem]:
    """Return the problems of an audit of a function: those with few trees, and one of each larger shape.

    Of a larger shape it is one whose rows depend on the context, if there is one: where all rows are equal, a row of
    another node is no mistake.
    """
    more = [drawing(pair, *children, how=how) for how in EVERY_WAY for pair, children in AUDITED]
    more += [drawing(pair, *children, how=TOP) for pair, children in AUDITED_TOP]
    uneven = [ragged(pair, *parents, how=how) for how in EVERY_WAY for pair, parents in (*RAGGED, *DEPTH_FIRST)]
    fitting = [p for p in (*tree_battery(), *more, *uneven) if p.tree.fits]
    problems = sorted(fitting, key=lambda p: isinstance(p.draft, ContextFree))
    chosen, shapes = [], set[tuple[int, Drafting]]()
    for problem in problems:
        trees, shape = _trees(problem), (problem.vocabulary, problem.tree)
        if trees <= FEW or (trees <= MOST and shape not in shapes):
            chosen.append(problem)
            shapes |= {shape} if trees > FEW else set()
    return chosen


def _trees(problem: Problem) -> int:
    """Return how many trees can be drawn; if not independently, at most, from as many tokens as the widest row
    allows.
    """
    if problem.tree.how == IID:
        return _independent_trees(problem)
    rows = [problem.draft.row(x) for n in range(problem.gamma) for x in problem.prefixes(n)]
    return replace(problem, vocabulary=max(sum(q != 0 for q in row) for row in rows)).drafts


def _independent_trees(problem: Problem, text: Prefix = (), node: int = CONTEXT) -> int:
    """Return how many subtrees can be drawn below a node with this text, of independent siblings."""
    tokens = [x for x, q in enumerate(problem.draft.row(text)) if q] if len(text) < problem.gamma else []
    places = problem.tree.places(node, len(text))
    return prod(sum(_independent_trees(problem, (*text, x), place) for x in tokens) for place in places)


def specification(problem: Problem) -> list:
    """Return a row of the file: the pair, how siblings are drawn, and the tree."""
    tree, pair = problem.tree, problem.name.split(f"-{problem.tree.how}-")[0]
    kind, seed = pair.split("-V")[0], pair.split("-gamma")[1].partition("-")[2]
    kind = "paper" if pair.startswith("paper") else kind
    shape = ["children", tree.children] if tree.parents is None else ["parents", tree.parents]
    return [[problem.vocabulary, problem.gamma, kind, int(seed or 0)], tree.how, *shape]


if __name__ == "__main__":
    print("[\n " + ",\n ".join(json.dumps(specification(problem)) for problem in choose()) + "\n]")
