"""Problems that draw trees: equal siblings, children of weight 0, duplicate tokens, ragged depth, ties, a single child."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

from ..verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT, Drafting
from .battery import drawn, toy
from .law import ContextFree
from .problem import Problem

SHAPES = {
    IID: {1: [(1,), (2,), (3,)], 2: [(1, 1), (2, 1), (2, 2), (3, 1)], 3: [(2, 1, 1)]},
    WITHOUT_REPLACEMENT: {1: [(2,), (3,)], 2: [(2, 1), (2, 2), (3, 2)], 3: [(2, 1, 2)]},
    TOP: {1: [(1,), (2,), (3,)], 2: [(2, 1), (2, 2)], 3: [(2, 1, 2)]},
}
"""How siblings are drawn -> gamma -> numbers of children."""


def drawing(problem: Problem, *children: int, how: str = IID) -> Problem:
    """The same pair of models, with trees drawn so."""
    name = f"{problem.name}-{how}-{'x'.join(map(str, children))}"
    return replace(problem, name=name, drafting=Drafting(children, how))


def tree_battery() -> list[Problem]:
    """Small problems of every way of drafting; V is 2 or 3, gamma up to 3."""
    pairs = [toy(1), toy(2), toy(3), drawn(2, 3, "generic"), drawn(2, 3, "mixed")]
    pairs += [drawn(3, 1, kind) for kind in ("generic", "peaked", "disjoint", "log-odds", "one-hot-draft")]
    pairs += [drawn(3, 2, kind) for kind in ("generic", "zeros", "ties", "mixed", "equal")]
    return [
        drawing(pair, *children, how=how)
        for how, shapes in SHAPES.items()
        for pair in pairs
        for children in shapes[pair.gamma]
    ]


def lattice_rows(vocabulary: int, denominator: int) -> Iterator[tuple[Fraction, ...]]:
    """Every probability row whose entries are multiples of 1 / denominator."""
    for cuts in combinations_with_replacement(range(denominator + 1), vocabulary - 1):
        edges = (0, *cuts, denominator)
        yield tuple(Fraction(b - a, denominator) for a, b in pairwise(edges))


def lattice_pairs(vocabulary: int, gamma: int, largest: int) -> list[Problem]:
    """Every pair of context-independent models with rows of one denominator, the smallest denominators first."""
    rows = {n: list(lattice_rows(vocabulary, n)) for n in range(1, largest + 1)}
    pairs = dict.fromkeys(pair for n in rows for pair in product(rows[n], repeat=2))
    return [Problem(vocabulary, gamma, ContextFree(p), ContextFree(q), f"lattice-V{vocabulary}") for p, q in pairs]
