"""An adaptive partition of the lattice into boxes on which the same tokens are emitted.

A box whose corners differ is cut where the outcome changes, found by bisection on the lattice; a box on which its two
extreme corners, its middle, and the corners one number away from the extreme ones agree is a leaf. A verifier that
compares one number at a time with a threshold comes out whole: its leaves are the paths of its decisions. Agreement of
these points proves nothing about the inside of a leaf: random requests confirm it (``laws``), and cut again where
they contradict it.

Procedures that ask are generators, which yield lists of questions and are sent the answers, joined into common batches.
"""

import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from .coordinates import Coordinate

Result = TypeVar("Result")
Asking = Generator[list[Any], list[Any], Result]
"""A procedure that yields questions, is sent their answers in the same order, and returns a result."""


def joint(procedures: Sequence[Asking[Result]]) -> Asking[list[Result]]:
    """Run procedures side by side: each batch holds the next questions of all that still go on."""
    results: dict[int, Result] = {}
    waiting: dict[int, list[Any]] = {}

    def go_on(k: int, answers: list[Any] | None) -> None:
        try:
            waiting[k] = next(procedures[k]) if answers is None else procedures[k].send(answers)
        except StopIteration as done:
            waiting.pop(k, None)
            results[k] = done.value

    for k in range(len(procedures)):
        go_on(k, None)
    while waiting:
        asked = dict(waiting)
        answers = yield [question for questions in asked.values() for question in questions]
        start = 0
        for k, questions in asked.items():
            go_on(k, answers[start : start + len(questions)])
            start += len(questions)
    return [results[k] for k in range(len(procedures))]


def about(subject: Any, procedure: Asking[Result]) -> Asking[Result]:
    """Run a procedure with the subject of its questions added to each of them."""
    try:
        questions = next(procedure)
        while True:
            questions = procedure.send((yield [(subject, question) for question in questions]))
    except StopIteration as done:
        return done.value


def answered(procedure: Asking[Result], ask: Callable[[list[Any]], list[Any]]) -> Result:
    """Return the result of a procedure whose questions ``ask`` answers."""
    try:
        questions = next(procedure)
        while True:
            questions = procedure.send(ask(questions))
    except StopIteration as done:
        return done.value


Point = tuple[int, ...]

MOST_LEAVES = 300
"""Largest number of leaves of one partition. A verifier that needs more does not compare one number at a time."""

REMEMBERED = 6
"""Cuts of a number that are tried first when it has to be cut again."""

LARGE_BATCH = 1024
"""Requests in one call from which on calls cost more than requests."""

SECTIONS = 16
"""Parts into which an interval is then cut at a time."""


class TooManyLeaves(Exception):
    """A signal that the partition does not end: decisions do not depend on one number at a time."""


class Box(NamedTuple):
    """The points low..high, both included, in each coordinate."""

    low: Point
    high: Point

    def mass(self, coordinates: Sequence[Coordinate], axes: Sequence[int]) -> Fraction:
        product = Fraction(1)
        for i in axes:
            product *= coordinates[i].mass(self.low[i], self.high[i])
        return product

    def cut(self, axis: int, at: int) -> tuple["Box", "Box"]:
        """Return the two parts: up to ``at``, and beyond."""
        return Box(self.low, moved(self.high, axis, at)), Box(moved(self.low, axis, at + 1), self.high)

    def middle(self) -> Point:
        return tuple((a + b) // 2 for a, b in zip(self.low, self.high))


@dataclass
class Leaf:
    """A box on which the outcome is taken to be the same, up to a race of noise (``race``, filled in by ``races``)."""

    box: Box
    outcome: Any
    race: Any = None


@dataclass
class Cut:
    """A cut into two parts: points up to ``at`` in one coordinate, and those beyond."""

    axis: int
    at: int
    parts: list["Leaf | Cut"]

    def part(self, point: Point) -> int:
        """Return which part a point lies in."""
        return int(point[self.axis] > self.at)


def directions(tree: Leaf | Cut, lengths: Callable[[Leaf], Sequence[int]]) -> dict[int, set[int]]:
    """Return axis -> -1 if what lies up to a cut emits longer texts than what lies beyond it, 1 if shorter, 0 if
    neither.

    lengths: returns the lengths of the texts that a leaf emits. The shortest and the longest of each part are compared.
    """
    known: dict[int, set[int]] = {}

    def span(part: Leaf | Cut) -> tuple[int, int]:
        if isinstance(part, Leaf):
            return min(lengths(part)), max(lengths(part))
        (low, most), (low_beyond, most_beyond) = map(span, part.parts)
        signs = {(low_beyond > low) - (low_beyond < low), (most_beyond > most) - (most_beyond < most)} - {0}
        known.setdefault(part.axis, set()).update(signs or {0})
        return min(low, low_beyond), max(most, most_beyond)

    span(tree)
    return known


def moved(point: Point, axis: int, to: int) -> Point:
    """Return the point with one coordinate changed."""
    return (*point[:axis], to, *point[axis + 1 :])


@dataclass
class Partition:
    """Partitions of one verifier on one problem, block after block.

    coordinates: of a point. axes: those that are cut, in the order in which cuts are looked for.
    known: cuts found before, by axis: those of related blocks are often the same.
    sections: parts into which an interval is cut at a time in a search for a threshold.
    """

    coordinates: Sequence[Coordinate]
    axes: Sequence[int]
    known: dict[int, list[int]] = field(default_factory=dict)
    sections: int = 2

    def grown(self, start: Point) -> Asking["Leaf | Cut"]:
        """Grow the tree over all points that agree with ``start`` off the axes. Raises: TooManyLeaves."""
        low, high = list(start), list(start)
        for i in self.axes:
            low[i], high[i] = self.coordinates[i].first, self.coordinates[i].last
        return (yield from self._divided([Box(tuple(low), tuple(high))]))[0]

    def _divided(self, boxes: Sequence[Box]) -> Asking[list["Leaf | Cut"]]:
        """Grow a tree for each box, side by side. Raises: TooManyLeaves."""
        roots: list[Any] = [None] * len(boxes)
        frontier: list[tuple[Box, Cut | None, int]] = [(box, None, k) for k, box in enumerate(boxes)]
        for grown in itertools.count():
            results = yield from joint([self._examined(box) for box, _, _ in frontier])
            wider = []
            for (box, parent, side), result in zip(frontier, results):
                node = result if isinstance(result, Leaf) else Cut(*result, [])
                if parent is None:
                    roots[side] = node
                else:
                    parent.parts.insert(side, node)
                if isinstance(node, Cut):
                    wider += [(part, node, k) for k, part in enumerate(box.cut(node.axis, node.at))]
            frontier = wider
            if not frontier:
                return roots
            if grown > MOST_LEAVES or sum(1 for root in roots for _ in leaves(root)) + len(frontier) > MOST_LEAVES:
                raise TooManyLeaves
        raise AssertionError

    def _examined(self, box: Box) -> Asking["Leaf | tuple[int, int]"]:
        """Return the leaf that a box is, or where to cut it."""
        axes = [i for i in self.axes if box.low[i] < box.high[i]]
        probes = [box.low, box.high, box.middle()]
        probes += [moved(box.low, i, box.high[i]) for i in axes] + [moved(box.high, i, box.low[i]) for i in axes]
        if len(axes) < 2:
            probes = probes[: 1 + 2 * len(axes)]
        outcomes = yield probes
        if all(outcome == outcomes[0] for outcome in outcomes):
            return Leaf(box, outcomes[0])
        seen = dict(zip(probes, outcomes))
        ends = next(
            ((a, i, b[i]) for a, towards in ((box.low, box.high), (box.high, box.low)) for i in axes
             if seen[a] != seen.get(b := moved(a, i, towards[i]), seen[a])), None,
        )  # fmt: skip
        if ends is None:
            other = next(probe for probe in probes if seen[probe] != outcomes[0])
            ends = yield from self._step(box.low, other)
        return (yield from self._boundary(*ends))

    def _step(self, start: Point, end: Point) -> Asking[tuple[Point, int, int]]:
        """Find, between two points with different outcomes, a point, an axis and a place on it with another outcome."""
        path = [start]
        for i in self.axes:
            if path[-1][i] != end[i]:
                path.append(moved(path[-1], i, end[i]))
        outcomes = yield path
        k = next(k for k in range(1, len(path)) if outcomes[k] != outcomes[0])
        axis = next(i for i in self.axes if path[k][i] != path[k - 1][i])
        return path[k - 1], axis, path[k][axis]

    def _boundary(self, point: Point, axis: int, to: int) -> Asking[tuple[int, int]]:
        """Find where the outcome first changes along an axis: the axis, and the last point before in its order.

        Bisection is exact if it changes once. If it changes more often, this is one of the places.
        """
        here, there = point[axis], to
        known = [k for k in self.known.get(axis, ()) if min(here, there) <= k < max(here, there)]
        first, *sides = yield [point, *(moved(point, axis, k + side) for k in known for side in (0, 1))]
        for k, below, above in zip(known, sides[::2], sides[1::2]):
            near, far = (below, above) if here < there else (above, below)
            if near == first != far:
                return axis, k
        while abs(there - here) > 1:
            parts = min(self.sections, abs(there - here))
            inside = [here + (there - here) * k // parts for k in range(1, parts)]
            outcomes = yield [moved(point, axis, k) for k in inside]
            other = next((k for k, outcome in enumerate(outcomes) if outcome != first), len(inside))
            here, there = [here, *inside, there][other : other + 2]
        at = min(here, there)
        self.known[axis] = [at, *(k for k in self.known.get(axis, ()) if k != at)][:REMEMBERED]
        return axis, at

    def refined(self, leaf: Leaf, point: Point, inside: Point) -> Asking["Cut | None"]:
        """Cut a leaf so that two of its points with different outcomes are apart; return None if they are the same.

        inside: a point of the leaf that agrees with ``point`` off the axes.
        """
        one, other = yield [inside, point]
        if one == other:
            return None
        start, axis, to = yield from self._step(inside, point)
        axis, at = yield from self._boundary(start, axis, to)
        return Cut(axis, at, (yield from self._divided(leaf.box.cut(axis, at))))


def leaf_of(tree: Leaf | Cut, point: Point) -> Leaf:
    """Return the leaf that a point lies in."""
    while isinstance(tree, Cut):
        tree = tree.parts[tree.part(point)]
    return tree


def leaves(tree: Leaf | Cut) -> Iterator[Leaf]:
    """Yield all leaves, from low points to high ones."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Leaf):
            yield node
        else:
            pending += node.parts[::-1]


def replaced(tree: Leaf | Cut, point: Point, by: Cut) -> Leaf | Cut:
    """Return the tree with another one in place of the leaf that a point lies in."""
    node = tree
    while isinstance(node, Cut):
        side = node.part(point)
        if isinstance(node.parts[side], Leaf):
            node.parts[side] = by
            return tree
        node = node.parts[side]
    return by
