"""A random program, written out once as a decision diagram that can be walked without running the program.

A node is one random choice with its answers; equal parts of the diagram are shared. So a verifier is sampled at the
speed of a table, and nothing of its algorithm is written a second time.
"""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ...models.errors import InputError
from ...models.rationals import as_fraction
from ...verifiers.chance import NothingToDrawError

WORD_VALUES = 2**64
"""Edges between the answers of a question are rounded to multiples of 1/WORD_VALUES: random words have 64 bits."""

MAX_DIAGRAM_PATHS = 400_000
"""Paths of random choices beyond which a diagram is not attempted (some ten seconds)."""


class Diagram(NamedTuple):
    """A diagram. The answers of node i are the entries first[i] .. first[i+1] - 1 of ``edges`` and ``goes``.

    first: [nodes + 1] int64
    edges: [answers] uint64; answer k is taken if the random word is below edges[k] and not below edges[k-1], the last
    answer otherwise
    goes: [answers] int64, the next node, or -1 - outcome
    root: where a walk begins, or -1 - outcome where nothing is random
    longest: the most choices on any path
    Guarantee: within longest * (most answers - 1) * 2^-64 of the program's law in total variation.
    """

    first: np.ndarray
    edges: np.ndarray
    goes: np.ndarray
    root: int
    longest: int

    def law(self) -> dict[int, Fraction]:
        """Return the exact law of the outcomes of a walk on independent uniform words: what this diagram samples."""
        mass = defaultdict(Fraction, {self.root: Fraction(1)})
        # Children are numbered before their parents: from the root downwards every node is complete when its turn
        # comes.
        for node in range(len(self.first) - 2, -1, -1):
            answers, below, here = range(int(self.first[node]), int(self.first[node + 1])), 0, mass.pop(node)
            for k in answers:
                edge = WORD_VALUES if k == answers[-1] else int(self.edges[k])
                mass[int(self.goes[k])] += here * Fraction(edge - below, WORD_VALUES)
                below = edge
        return {-1 - place: probability for place, probability in mass.items()}


def diagram(program: Callable[[Any], int]) -> Diagram:
    """Return the diagram of a program over chance.

    program: takes a chance, returns the number of an outcome (0, 1, ...), has no other source of randomness; its
    numbers are exact (Fraction, or sympy's QQ, which is faster)
    Raises: ValueError if a flip is outside [0, 1] or a draw has negative or only zero weights; InputError if there are
    too many paths.
    """
    nodes: dict[tuple, int] = {}
    depth: list[int] = []
    paths = count(1)

    def place(script: tuple[int, ...]) -> int:
        if next(paths) > MAX_DIAGRAM_PATHS:
            raise InputError(f"more than {MAX_DIAGRAM_PATHS:,} random paths; expected a smaller vocabulary or gamma")
        try:
            return -1 - program(_Replay(script))
        except _Asked as asked:
            weights = asked.weights
        # The likeliest answer first: fewer comparisons on the walk.
        answers = sorted((k for k, w in enumerate(weights) if w != 0), key=lambda k: (-weights[k], k))
        goes = tuple(place((*script, k)) for k in answers)
        node = (_edges([weights[k] for k in answers]), goes)
        if node not in nodes:
            nodes[node] = len(nodes)
            depth.append(1 + max(depth[to] if to >= 0 else 0 for to in goes))
        return nodes[node]

    root = place(())
    first = np.cumsum([0, *(len(goes) for _, goes in nodes)], dtype=np.int64)
    edges = np.array([edge for edges, _ in nodes for edge in edges], dtype=np.uint64)
    goes = np.array([to for _, goes in nodes for to in goes], dtype=np.int64)
    return Diagram(first, edges, goes, root, depth[root] if root >= 0 else 0)


class _Asked(BaseException):
    """A question that the script does not answer. It is no Exception, which the program might catch."""

    def __init__(self, weights):
        self.weights = weights


class _Replay:
    """A chance that answers from a script. Choices with one possible answer are not counted."""

    def __init__(self, script: tuple[int, ...]):
        self._answers = iter(script)

    def flip(self, probability) -> bool:
        return self._answer((probability, 1 - probability)) == 0

    def draw(self, weights) -> int:
        return self._answer(weights)

    def _answer(self, weights) -> int:
        possible = [k for k, weight in enumerate(weights) if weight != 0]
        if any(weights[k] < 0 for k in possible):
            raise ValueError(f"negative weight among {[str(w) for w in weights]}")
        if not possible:
            raise NothingToDrawError(f"draw from weights that are all zero: {[str(w) for w in weights]}")
        if len(possible) == 1:
            return possible[0]
        for answer in self._answers:
            return answer
        raise _Asked(weights)


def _edges(weights) -> tuple[int, ...]:
    """Return the cumulative weights as numbers of grid points, computed exactly and rounded once."""
    total, upto, edges = sum(weights), 0, []
    for weight in weights:
        upto = upto + weight
        share = upto / total if not isinstance(total, int) else Fraction(upto, total)
        edges.append(min(round(as_fraction(share) * WORD_VALUES), WORD_VALUES - 1))
    return tuple(edges)
