"""The law of a driven subject on one problem, and what random requests confirm of it."""

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.law import prefix_key
from ...models.problem import Problem
from ..interception.outcomes import Outcome, kind_of
from ..interception.rows_in_use import RowsInUse
from ..time_limits import NOT_REACHED
from .coordinates import Uniform
from .layout import Layout
from .partition import (
    LARGE_BATCH,
    SECTIONS,
    Asking,
    Box,
    Cut,
    Leaf,
    Partition,
    Point,
    TooManyLeaves,
    about,
    answered,
    directions,
    joint,
    leaf_of,
    leaves,
    replaced,
)
from .products import Products
from .races import NotARace, Racing
from .subjects import DrivenSubject, Request

CONFIRMATIONS = 8192
"""Random requests on each problem that its law has to predict."""

FEWEST = 400
"""Random requests if there is no time for more. What they may have missed is larger, and stated."""

AT_ONCE = 2048
"""Requests between two looks at the time."""

MISSED_AT = 1e-4
"""Probability that the bound on what they may have missed is wrong, for each problem."""

ROUNDS = 6
"""Largest number of times that the law is refined and confirmed anew, by fresh requests."""

MOST_REFINED = 25
"""Wrongly predicted requests of a round by which it is refined."""

REPEATED = 12
"""Random requests on each of the first blocks that are repeated before a law is looked for."""

REPEATED_OF_FEW = 4
"""The same if requests are few."""

SHARE_OF_TIME = 0.8
"""Share of a problem's processor time after which the search for a law ends."""

DISCOVERIES = 24
"""Calls by which the keys of a kernel's generator are found."""


MOST_DISCOVERIES = 8
"""Largest number of searches for its distribution, each begun because a call asked for a new key."""


class NoLaw(Exception):
    """The reason why there is no law, in words."""


THRESHOLD = {-1: "thresholds, small numbers accept more", 1: "thresholds, large numbers accept more", 0: "thresholds"}
"""Words for a number that is compared with thresholds, by direction."""


class NewKeys(Exception):
    """A signal that a keyed generator was asked for a key that no coordinate stands for."""


class Unsteady(NoLaw):
    """A signal that the same request was answered differently."""


@dataclass
class Piece:
    """A part of the law of a draft block: a tree of boxes, and the probability that this tree decides."""

    mass: Fraction | float
    tree: Leaf | Cut
    axes: Sequence[int]


@dataclass
class BlockLaw:
    """What is known of one draft block.

    pieces: by the cell of the products of uniforms, () if none are multiplied.
    resolution: of the law, in total variation.
    """

    block: tuple[int, ...]
    layout: Layout
    partition: Partition
    racing: Racing
    products: Products | None = None
    pieces: dict[tuple[int, ...], Piece] = field(default_factory=dict)
    resolution: float = 0.0

    def cut(self) -> set[int]:
        """Return the coordinates that are compared with thresholds."""
        axes, pending = set(), [piece.tree for piece in self.pieces.values()]
        while pending:
            node = pending.pop()
            if isinstance(node, Cut):
                axes.add(node.axis)
                pending += node.parts
        return axes

    def foretold(self, point: Point) -> tuple[Any, bool]:
        """Return the predicted outcome at a point, and whether rounding could make it another."""
        cell, close = self.products.cell(point) if self.products else ((), False)
        leaf = leaf_of(self.pieces[cell].tree, point)
        outcome, near = leaf.race.winner(self.layout.coordinates, point) if leaf.race else (leaf.outcome, False)
        return outcome, near or close


class DrivenLaws:
    """The laws of a subject on all draft blocks of a problem.

    Guarantee: if ``missed`` is not None, the law of what is emitted is off by at most ``missed`` in total variation,
    beyond each block's resolution. That is wrong with probability at most MISSED_AT, for a subject that does not know
    the seed.

    most: the largest number of random requests that confirm them.
    """

    def __init__(
        self, subject: DrivenSubject, problem: Problem, rows: RowsInUse, seed: int = 0, most: int = CONFIRMATIONS
    ):
        self.subject, self.problem, self.rows, self.most = subject, problem, rows, most
        self.blocks = list(rows.blocks())
        self.random = np.random.default_rng([zlib.crc32(f"{problem.name} {problem.gamma}".encode()), seed])
        self.shown: dict[Any, Outcome] = {}
        self.answers: dict[tuple[tuple[int, ...], Point], Any] = {}
        self.layouts: dict[tuple[int, ...], Layout] = {}
        self.keys: dict[tuple[int, ...], dict[str, list]] = {}
        self.laws: dict[tuple[int, ...], BlockLaw] = {}
        self.known: dict[int, list[int]] = {}
        self.since, self.calls_before = subject.seconds(), subject.calls
        self.until = min(self.since + SHARE_OF_TIME * subject.limits.timeout, subject.latest)
        self.missed, self.confirmations, self.multiplied = 0.0, 0, False
        numbers = list(subject.random or ())
        self.keyed = any(one.keyed for one in numbers)
        self.plain = Layout(numbers, problem, subject.dtype)

    def find(self) -> None:
        """Find the laws, and confirm them. Raises: NoLaw, NeverReturned, RunFailed."""
        self.layouts = dict.fromkeys(self.blocks, self.plain)
        if not self.keyed:
            self._find()
            return
        self._discover()
        for _ in range(MOST_DISCOVERIES):
            self.layouts = self._with_keys()
            try:
                self._find()
                return
            except NewKeys:
                self.answers, self.laws, self.known = {}, {}, {}
        raise NoLaw(f"its generator was asked for new keys after {MOST_DISCOVERIES} searches for its distribution")

    def _find(self) -> None:
        often = REPEATED if self.most >= CONFIRMATIONS else REPEATED_OF_FEW
        few = [(block, point) for block in self.blocks[:4] for point in self.layouts[block].drawn(self.random, often)]
        self._require_steady([(*question, outcome) for question, outcome in zip(few, self._asked(few))])
        together = 16 if self.subject.batch > 1 else 1
        try:
            for k in range(0, len(self.blocks), together):
                chunk = self.blocks[k : k + together]
                answered(joint([about(block, self._block(block)) for block in chunk]), self._ask)
            self._confirm()
        except TooManyLeaves:
            raise NoLaw("its decisions depend on more than one number at a time, in an unknown form") from None
        except NotARace as why:
            raise NoLaw(f"noise does not decide by a race of weights: {why}") from None

    def law(self, block: tuple[int, ...]) -> dict[Outcome, Fraction]:
        """Return the law of a draft block: outcome -> probability."""
        law: dict[Outcome, Fraction] = {}
        for outcome, _, mass in self.boxes(block):
            law[outcome] = law.get(outcome, Fraction(0)) + mass
        total = sum(law.values())
        return {outcome: p / total for outcome, p in law.items()}

    def boxes(self, block: tuple[int, ...]) -> Iterator[tuple[Outcome, Box, Fraction]]:
        """Yield each outcome of a draft block, a box on which it comes, and its probability."""
        known = self.laws[block]
        for piece in known.pieces.values():
            for leaf in leaves(piece.tree):
                mass = Fraction(piece.mass) * leaf.box.mass(known.layout.coordinates, piece.axes)
                for kind, share in zip(leaf.race.outcomes, leaf.race.weights) if leaf.race else [(leaf.outcome, 1)]:
                    if share:
                        yield self.shown[kind], leaf.box, mass * Fraction(share)

    def paths(self, block: tuple[int, ...]) -> int:
        return sum(1 for piece in self.laws[block].pieces.values() for _ in leaves(piece.tree))

    def coarsest(self, block: tuple[int, ...]) -> int:
        """Return the fewest bits of a uniform that was cut; 0 if none was."""
        known = self.laws[block]
        coordinates = (known.layout.coordinates[i] for i in known.cut())
        return min((c.bits for c in coordinates if isinstance(c, Uniform)), default=0)

    def _lengths(self, leaf: Leaf) -> list[int]:
        emitted = [self.shown[kind] for kind in (leaf.race.outcomes if leaf.race else [leaf.outcome])]
        return [len(outcome) if isinstance(outcome, tuple) else 0 for outcome in emitted]

    def numbers(self) -> dict[str, str]:
        """Return what each random number decides on this problem, and where its thresholds accept more."""
        how: dict[str, set[str]] = {}
        for law in self.laws.values():
            races = [leaf.race for piece in law.pieces.values() for leaf in leaves(piece.tree) if leaf.race]
            for piece in law.pieces.values():
                for i, signs in directions(piece.tree, self._lengths).items():
                    how.setdefault(law.layout.name(i), set()).update(THRESHOLD[sign] for sign in signs)
            for words, places in (
                ("a race", {i for race in races for i in race.row}),
                ("products", {*law.products.row} if law.products else set[int]()),
                ("", set(range(len(law.layout.coordinates)))),
            ):
                for i in places:
                    how.setdefault(law.layout.name(i), set()).add(words)
        for words in how.values():
            if words & {THRESHOLD[-1], THRESHOLD[1]}:
                words.discard(THRESHOLD[0])
        return {name: " and ".join(sorted(words - {""})) or "nothing" for name, words in how.items()}

    def _ask(self, questions: list[tuple[tuple[int, ...], Point]]) -> list[Any]:
        """Return answers, from memory if they are known."""
        new = [question for question in dict.fromkeys(questions) if question not in self.answers]
        self.answers |= zip(new, self._asked(new))
        return [self.answers[question] for question in questions]

    def _asked(self, questions: Sequence[tuple[tuple[int, ...], Point]]) -> list[Any]:
        kinds = []
        for k in range(0, len(questions), AT_ONCE):
            if self.subject.seconds() > self.until:
                if self.until >= self.subject.latest:
                    raise NoLaw(NOT_REACHED)
                made, limit = self.subject.calls, self.subject.limits.timeout
                raise NoLaw(f"its distribution needs more calls than the time allows ({made:,}, --timeout {limit:g})")
            requests = [Request(block, self.layouts[block], point) for block, point in questions[k : k + AT_ONCE]]
            for outcome in self.subject.outcomes(self.rows, requests):
                kinds.append(kind_of(outcome))
                self.shown.setdefault(kinds[-1], outcome)
        if self.subject.new_keys:
            raise NewKeys
        return kinds

    def _affordable(self) -> int:
        """Return how many random requests there is time for at the rate so far, no fewer than FEWEST."""
        made = max(self.subject.calls - self.calls_before, 1)
        each = (self.subject.seconds() - self.since) / made
        left = (self.until - self.subject.seconds()) / 2
        return max(min(self.most, int(left / max(each, 1e-9))), FEWEST)

    def _with_keys(self) -> dict[tuple[int, ...], Layout]:
        """Return the layouts with the keys that calls have asked for so far."""
        numbers, problem = list(self.subject.random or ()), self.problem
        for block, names in self.subject.new_keys.items():
            for name, calls in names.items():
                known = self.keys.setdefault(block, {}).setdefault(name, [])
                known += [call for call in calls if call not in known]
        self.subject.new_keys.clear()
        dtype = self.subject.dtype
        return {block: Layout(numbers, problem, dtype, self.keys.get(block, {})) for block in self.blocks}

    def _discover(self) -> None:
        """Call it with random numbers, so that most keys are known before a law is looked for."""
        points = self.plain.drawn(self.random, DISCOVERIES)
        self.subject.new_keys.clear()
        requests = [Request(b, self.plain, point, k) for b in self.blocks for k, point in enumerate(points)]
        self.subject.outcomes(self.rows, requests)

    def _block(self, block: tuple[int, ...]) -> Asking[None]:
        layout = self.layouts[block]
        sections = SECTIONS if self.subject.batch >= LARGE_BATCH else 2
        partition = Partition(layout.coordinates, layout.axes, self.known, sections)
        racing = Racing(layout.coordinates, layout.rows)
        law = self.laws[block] = BlockLaw(block, layout, partition, racing)
        start = racing.even(layout.start())
        try:
            if self.multiplied:
                raise TooManyLeaves
            law.pieces[()] = Piece(Fraction(1), (yield from partition.grown(start)), layout.axes)
        except TooManyLeaves:
            self.multiplied = True
            yield from self._products(law, start)
        for piece in law.pieces.values():
            yield from self._races(law, piece.tree)
        for piece in law.pieces.values():
            for leaf in leaves(piece.tree):
                mass = float(piece.mass) * float(leaf.box.mass(layout.coordinates, piece.axes))
                law.resolution += mass * leaf.race.error if leaf.race else 0.0

    def _products(self, law: BlockLaw, start: Point) -> Asking[None]:
        """Find the law by the running products of a row of uniforms."""
        if len(law.layout.multiplied) != 1:
            raise TooManyLeaves
        row = law.layout.multiplied[0]
        law.products = products = Products(law.partition, row)
        yield from products.find(start)
        axes = [i for i in law.layout.axes if i not in row]
        law.partition.axes = axes
        cells = list(products.cells())
        grown = yield from joint([law.partition.grown(products.inside(cell, start)) for cell in cells])
        for cell, tree in zip(cells, grown):
            law.pieces[cell] = Piece(products.mass(cell), tree, axes)
        law.resolution += products.resolution()

    def _races(self, law: BlockLaw, tree: Leaf | Cut) -> Asking[None]:
        new = [leaf for leaf in leaves(tree) if leaf.race is None]
        races = yield from joint([law.racing.race(leaf.box.middle(), leaf.outcome) for leaf in new])
        for leaf, race in zip(new, races):
            leaf.race = race

    def _confirm(self) -> None:
        """Compare the law with random requests. If they contradict it, refine it and take fresh ones."""
        draft = self.rows.in_use()[1]
        weights = np.array([self.rows.drafted(block, draft) for block in self.blocks])
        wrong: list[tuple[tuple[int, ...], Point, Any]] = []
        for k in range(ROUNDS):
            count = self._affordable()
            chosen = self.random.choice(len(self.blocks), count, p=weights / weights.sum())
            blocks = [self.blocks[i] for i in chosen]
            numbers = {b: iter(self.layouts[b].drawn(self.random, n)) for b, n in Counter(blocks).items()}
            questions = [(block, next(numbers[block])) for block in blocks]
            wrong = []
            for question, outcome in zip(questions, self._asked(questions)):
                foretold, near = self.laws[question[0]].foretold(question[1])
                if outcome != foretold and not near:
                    wrong.append((*question, outcome))
            if not wrong:
                self.confirmations = count
                self.missed = 1 - (MISSED_AT / 2 ** (k + 1)) ** (1 / count)
                return
            known = list(self.answers.items())[:: max(1, len(self.answers) // MOST_REFINED)]
            self._require_steady([*wrong[:MOST_REFINED], *((*question, outcome) for question, outcome in known)])
            for block, point, outcome in wrong[:MOST_REFINED]:
                if self.laws[block].foretold(point)[0] != outcome:
                    answered(about(block, self._refined(block, point)), self._ask)
        raise NoLaw(
            f"random requests still contradict its distribution after {ROUNDS} refinements: {len(wrong)} of the last"
        )

    def _require_steady(self, asked: Sequence[tuple[tuple[int, ...], Point, Any]]) -> None:
        """Check that requests, repeated, are answered the same. Raises: Unsteady."""
        for block, point, outcome in asked:
            again = self._asked([(block, point)] * 3)
            if any(other != outcome for other in again):
                self.subject.findings["state"] = (
                    f"the same request is answered differently: draft block {prefix_key(block)}, "
                    f"{self.layouts[block].numbers(point)}"
                )[:400]
                raise Unsteady("the same request is answered differently: it keeps state, or draws numbers of its own")

    def _refined(self, block: tuple[int, ...], point: Point) -> Asking[None]:
        law = self.laws[block]
        cell, _ = law.products.cell(point) if law.products else ((), False)
        piece = law.pieces[cell]
        leaf = leaf_of(piece.tree, point)
        middle = leaf.box.middle()
        inside = tuple(middle[i] if i in piece.axes else point[i] for i in range(len(point)))
        cut = yield from law.partition.refined(leaf, point, inside)
        if cut is None and (law.products or not leaf.race):
            raise TooManyLeaves
        if cut is None:
            raise NotARace("random rows of it are not decided by the odds")
        piece.tree = replaced(piece.tree, point, cut)
        yield from self._races(law, cut)
