"""Problems that draw trees: equal siblings, children of weight 0, duplicate tokens, ragged depth, ties, one child."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

from ..verifiers.trees.draft_tree import (
    CONTEXT,
    EVERY_WAY,
    HUB,
    IID,
    TOP,
    WAYS,
    WITHOUT_REPLACEMENT,
    Drafting,
    drafting_by_parents,
)
from .battery import drawn, toy
from .law import ContextFree, Prefix, Table
from .problem import Problem

SHAPES = {
    IID: {1: [(1,), (2,), (3,)], 2: [(1, 1), (2, 1), (2, 2), (3, 1)], 3: [(2, 1, 1)]},
    WITHOUT_REPLACEMENT: {1: [(2,), (3,)], 2: [(2, 1), (2, 2), (3, 2)], 3: [(2, 1, 2)]},
    TOP: {1: [(1,), (2,), (3,)], 2: [(2, 1), (2, 2)], 3: [(2, 1, 2)]},
    HUB: {1: [(2,)], 2: [(2, 1), (2, 2)], 3: [(2, 1, 2)]},
}
"""How siblings are drawn -> gamma -> numbers of children."""


def drawing(problem: Problem, *children: int, how: str = IID) -> Problem:
    """Return the same pair of models, with trees drawn so."""
    name = f"{problem.name}-{how}-{'x'.join(map(str, children))}"
    return replace(problem, name=name, drafting=Drafting(children, how))


def tree_battery() -> list[Problem]:
    """Return small problems of every way of drafting, with V of 2 or 3 and gamma up to 3."""
    pairs = [toy(1), toy(2), toy(3), drawn(2, 3, "generic"), drawn(2, 3, "mixed")]
    pairs += [drawn(3, 1, kind) for kind in ("generic", "peaked", "disjoint", "log-odds", "one-hot-draft")]
    pairs += [drawn(3, 2, kind) for kind in ("generic", "zeros", "ties", "mixed", "equal")]
    return [
        drawing(pair, *children, how=how)
        for how, shapes in SHAPES.items()
        for pair in pairs
        for children in shapes[pair.gamma]
    ]


def ragged(problem: Problem, *parents: int, how: str = IID) -> Problem:
    """Return the same pair of models, with trees drawn whose nodes have these parents."""
    drafting = drafting_by_parents(parents, how)
    return replace(problem, name=f"{problem.name}-{how}-{drafting}", drafting=drafting)


Exact = tuple[Fraction, ...]

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
    (drawn(2, 3, "generic"), (-1, 0, 1, -1, 3)),
)  # fmt: skip
"""The same of trees whose nodes stand depth first: the children of a node are not next to each other."""


def _with_small(*small: tuple[int, int]) -> tuple[Exact, Exact]:
    """Return rows of target and draft that begin with 2^-a and 2^-b for each (a, b); the rest is the last two
    tokens'.
    """
    target, draft = ([Fraction(1, 2 ** pair[k]) for pair in small] for k in (0, 1))
    left, share = Fraction(1 - sum(target)) / 2, Fraction(1 - sum(draft)) / 5
    return (*target, left, left), (*draft, 3 * share, 2 * share)


def small_probabilities(how: str) -> list[Problem]:
    """Return problems with drafts of small probability, less or more in the target, at the context and further on."""
    target, draft = _with_small((9, 6), (17, 14), (24, 27))
    at_once = Problem(5, 1, ContextFree(target), ContextFree(draft), "small")
    even, falling = (Fraction(1, 3),) * 3, (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
    targets: dict[Prefix, Exact] = {text: even for n in (0, 2) for text in product(range(3), repeat=n)}
    drafts: dict[Prefix, Exact] = {(): falling}
    for token, small in enumerate([(17, 14), (20, 24), (33, 30)]):
        targets[(token,)], drafts[(token,)] = _with_small(small)
    behind = Problem(3, 2, Table(targets, "target"), Table(drafts, "draft"), "small-behind")
    every = how == TOP
    return [drawing(at_once, 5 if every else 2, how=how), drawing(behind, 1, 3 if every else 2, how=how)]


def tree_audit_battery(ways: Sequence[str] = WAYS) -> list[Problem]:
    """Return the problems of an audit of a function: those above with few trees, one of each larger shape, small rows.

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
        if problem.tree.how in ways and (trees <= FEW or (trees <= MOST and shape not in shapes)):
            chosen.append(problem)
            shapes |= {shape} if trees > FEW else set()
    return chosen + [problem for how in EVERY_WAY if how in ways for problem in small_probabilities(how)]


OWN_TREES = (3, 1, 4), (2, 2, 5), (2, 3, 6)
"""V, gamma and the most nodes of the problems that an audit draws from its seed."""


def own_tree_problems(seed: int, ways: Sequence[str] = WAYS) -> list[Problem]:
    """Draw three problems for each way of drawing, from an audit's seed: rows of every scale, trees of any shape.

    The same seed gives the same ones; their names carry it.
    """
    draw, problems = random.Random(f"trees/{seed}"), []
    for how in EVERY_WAY:
        for vocabulary, gamma, most in OWN_TREES:
            pair = drawn(vocabulary, gamma, ("log-odds", "late-log-odds")[gamma > 1], draw.randrange(2**32))
            problem = ragged(pair, *_drawn_parents(draw, gamma, most), how=how)
            while not problem.tree.fits:
                problem = ragged(pair, *_drawn_parents(draw, gamma, most), how=how)
            name = f"own-V{vocabulary}-gamma{gamma}-{how}-{problem.tree}-seed{seed}"
            problems += [replace(problem, name=name)] if how in ways else []
    return problems


def _drawn_parents(draw: random.Random, gamma: int, most: int) -> tuple[int, ...]:
    """Draw the parents of a tree of that depth, level by level, with at most so many nodes."""
    parents: list[int] = []
    level = [CONTEXT]
    for depth in range(gamma):
        room = most - len(parents) - (gamma - depth - 1)
        chosen = sorted(draw.choices(level, k=1 + draw.randrange(room)))
        level = list(range(len(parents), len(parents) + len(chosen)))
        parents += chosen
    return tuple(parents)


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
