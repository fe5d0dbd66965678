"""Problems that draw trees: equal siblings, children of weight 0, duplicate tokens, ragged depth, ties, one child."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Literal

import msgspec

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
from .battery import Spec, drawn, specified, toy
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


TreeSpec = tuple[Spec, str, Literal["children", "parents"], tuple[int, ...]]
"""A pair of models, how siblings are drawn, and the numbers of children by depth or the parents of the nodes."""

AUDITED = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=tuple[TreeSpec, ...])
"""The trees of an audit that are not drawn from its seed, chosen by ``benchmarks/choose_tree_battery.py``."""


def tree_audit_battery(ways: Sequence[str] = WAYS) -> list[Problem]:
    """Return the problems of an audit of a function that draw trees in these ways; those of small rows come last."""
    chosen = [
        (drawing if shape == "children" else ragged)(_pair(spec), *numbers, how=how)
        for spec, how, shape, numbers in AUDITED
        if how in ways
    ]
    return chosen + [problem for how in EVERY_WAY if how in ways for problem in small_probabilities(how)]


def _pair(spec: Spec) -> Problem:
    return toy(spec[1]) if spec[2] == "paper" else specified(spec)


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
