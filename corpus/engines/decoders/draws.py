"""The law of whole texts whose random numbers are handed in: a tree of draws.

A decoder asks for numbers as it goes, so which calls it makes depends on what came before. A stage is a run of draws
after which something shows: the tokens that the engine emits in one step, or one token that it drafts. Each stage after
each history of outcomes is a node: thresholds of its uniforms by bisection (``partition``), its rows of noise by the
closed law of their race (``races``), all numbers before it held at one representative. That what follows depends on
those numbers by their outcomes alone, and that the boxes are whole, random texts confirm; where they contradict it the
boxes are cut again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from draftproof.proofs.driven.coordinates import Coordinate, Noise, Uniform
from draftproof.proofs.driven.partition import (
    Asking,
    Cut,
    Leaf,
    Partition,
    Point,
    TooManyLeaves,
    about,
    answered,
    joint,
    leaf_of,
    leaves,
    replaced,
)
from draftproof.proofs.driven.races import NotARace, Racing

Numbers = list[list[float]]
Outcome = tuple[int, ...]

MISSED_AT = 1e-4
"""How often the bound on what random texts could have missed may be wrong."""

ROUNDS, MOST_REFINED, MOST_NODES = 6, 20, 2000

SECTIONS = 4
"""Parts into which an interval is cut at a time: texts of one batch cost little."""

AHEAD = 2.0**-30
"""Hazard of a winner where the others' is 1: for the numbers that later stages hold on to."""


class NoTreeOfDraws(Exception):
    """Why there is no law, in words."""


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except TooManyLeaves:
        raise NoTreeOfDraws("its decisions depend on more than one number at a time") from None
    except NotARace as why:
        raise NoTreeOfDraws(f"noise does not decide by a race of weights: {why}") from None


@dataclass
class Stage:
    """What one text shows after a run of draws. drafted: whether of a drafted token; calls: kind and place of each."""

    draws: list[dict[str, Any]]
    outcome: Outcome
    drafted: bool

    @property
    def calls(self) -> list[tuple[str, str, int]]:
        return [(draw["kind"], draw["at"], len(draw["numbers"])) for draw in self.draws]


def stages_of(text: dict[str, Any]) -> list[Stage]:
    """The stages of a text as its steps tell them: tokens of a step, then each token that is drafted by chance."""
    stages = []
    for k, step in enumerate(text["steps"]):
        own = [draw for draw in step["draws"] if "spec_decode" not in draw["at"]]
        stages.append(Stage(own, tuple(step["tokens"]), False))
        if k + 1 < len(text["steps"]):
            drafting = [draw for draw in step["draws"] if "spec_decode" in draw["at"]]
            stages += [Stage([draw], tuple(step["drafts"][j : j + 1]), True) for j, draw in enumerate(drafting)]
    return stages


@dataclass
class Node:
    """A stage after a history. prefix: numbers of all draws before it; calls: its own; tree: its boxes."""

    depth: int
    text: Outcome
    prefix: Numbers
    stage: Stage
    coordinates: list[Coordinate] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    tree: Any = None
    children: dict[Outcome, "Node | None"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for draw in self.stage.draws:
            start, count = len(self.coordinates), len(draw["numbers"])
            uniform = draw["kind"] == "uniform"
            self.coordinates += [Uniform(53) if uniform else Noise("exponential", "float32")] * count
            places = [*range(start, start + count)]
            if uniform:
                self.axes += places
            else:
                self.rows.append(places)

    def numbers(self, point: Point) -> Numbers:
        values, given = [c.value(k) for c, k in zip(self.coordinates, point)], []
        for draw in self.stage.draws:
            given.append(values[: len(draw["numbers"])])
            values = values[len(draw["numbers"]) :]
        return self.prefix + given

    def point(self, stage: Stage) -> Point:
        values = [value for draw in stage.draws for value in draw["numbers"]]
        return tuple(c.at(value) for c, value in zip(self.coordinates, values))

    def foretold(self, point: Point) -> tuple[Outcome, bool]:
        leaf = leaf_of(self.tree, point)
        return leaf.race.winner(self.coordinates, point) if leaf.race else (leaf.outcome, False)

    def shares(self) -> list[tuple[Outcome, float, Leaf, int]]:
        """Outcome, probability, leaf, and the contestant that wins there (-1 without a race)."""
        found = []
        for leaf in leaves(self.tree):
            mass = leaf.box.mass(self.coordinates, self.axes)
            race = leaf.race
            options = zip(race.outcomes, race.weights, race.row) if race else [(leaf.outcome, 1.0, -1)]
            found += [(outcome, float(mass * Fraction(w)), leaf, row) for outcome, w, row in options if mass and w]
        return found


class TextLaw:
    """The law of an engine's texts.

    ask: numbers of each of some texts -> what became of each (``stages_of`` reads it); a text whose numbers end draws
    the rest itself. Numbers handed in decide its outcome: two runs on the same give the same.
    Guarantee: off by at most ``missed`` in total variation beyond ``resolution``; wrong with probability at most
    MISSED_AT.
    """

    def __init__(self, ask: Callable[[Sequence[Numbers]], list[dict[str, Any]]]):
        self.ask, self.calls, self.nodes = ask, 0, 0
        self.answers: dict[tuple[int, Point], Outcome] = {}
        self.known: dict[int, dict[int, list[int]]] = {}
        self.odds: dict[tuple[bool, Outcome], dict[Any, float]] = {}
        self.missed, self.confirmed, self.alone = 1.0, 0, 0
        self.root: Node

    def find(self) -> None:
        """Find the tree. Raises: NoTreeOfDraws."""
        with _in_words():
            (stage,) = [stages[0] for stages in self._texts([[]])]
            self.root = Node(0, (), [], stage)
            self._grow([self.root])

    def confirm(self, random: Callable[[int], list[dict[str, Any]]], count: int, alone: int = 0) -> None:
        """Hold the tree against random texts, and refine it. random: so many texts on numbers of their own.

        alone: how many of them are the engine's only text at their time. Raises: NoTreeOfDraws.
        """
        with _in_words():
            for k in range(ROUNDS):
                texts = [stages_of(text) for text in random(count)]
                wrong = [found for found in map(self._contradiction, texts) if found]
                if not wrong:
                    self.confirmed, self.alone = count, alone
                    self.missed = 1 - (MISSED_AT / 2 ** (k + 1)) ** (1 / count)
                    return
                self._refine(wrong[:MOST_REFINED])
        raise NoTreeOfDraws(f"random outputs still contradict its distribution after {ROUNDS} refinements")

    def law(self) -> dict[Outcome, float]:
        """Text -> probability."""
        law: dict[Outcome, float] = {}
        pending: list[tuple[Node, float]] = [(self.root, 1.0)]
        while pending:
            node, mass = pending.pop()
            for outcome, share, _, _ in node.shares():
                child = node.children[outcome]
                if child is None:
                    text = node.text + (() if node.stage.drafted else outcome)
                    law[text] = law.get(text, 0.0) + mass * share
                else:
                    pending.append((child, mass * share))
        return law

    @property
    def resolution(self) -> float:
        """Total variation by which the law may be off by the grain of its numbers and the odds of its races."""
        total, pending = 0.0, [(self.root, 1.0)]
        while pending:
            node, mass = pending.pop()
            for outcome, share, leaf, _ in node.shares():
                total += mass * share * leaf.race.error if leaf.race else 0.0
                if (child := node.children[outcome]) is not None:
                    pending.append((child, mass * share))
        return total

    def _texts(self, numbers: Sequence[Numbers]) -> list[list[Stage]]:
        self.calls += len(numbers)
        return [stages_of(text) for text in self.ask(numbers)]

    def _asked(self, questions: list[tuple[Node, Point]]) -> list[Outcome]:
        new = [(node, point) for node, point in questions if (id(node), point) not in self.answers]
        new = [*{(id(node), point): (node, point) for node, point in new}.values()]
        for (node, point), stages in zip(new, self._texts([node.numbers(point) for node, point in new])):
            if len(stages) <= node.depth or stages[node.depth].calls != node.stage.calls:
                raise NoTreeOfDraws("which numbers it asks for depends on more than what it emitted and drafted")
            self.answers[id(node), point] = stages[node.depth].outcome
        return [self.answers[id(node), point] for node, point in questions]

    def _grow(self, nodes: list[Node]) -> None:
        """Find the boxes of nodes, and what follows them, one depth after the other."""
        while nodes:
            self.nodes += len(nodes)
            if self.nodes > MOST_NODES:
                raise NoTreeOfDraws(f"its draws have more than {MOST_NODES} histories")
            answered(joint([about(node, self._boxes(node)) for node in nodes]), self._asked)
            nodes = self._children(nodes)

    def _partition(self, node: Node) -> Partition:
        return Partition(node.coordinates, node.axes, self.known.setdefault(node.depth, {}), SECTIONS)

    def _racing(self, node: Node) -> Racing:
        """Odds that were found after the same last token are tried first."""
        odds = self.odds.setdefault((node.stage.drafted, node.text[-1:]), {})
        return Racing(node.coordinates, node.rows, odds)

    def _boxes(self, node: Node) -> Asking[None]:
        racing = self._racing(node)
        start = racing.even(tuple((c.first + c.last) // 2 for c in node.coordinates))
        node.tree = yield from self._partition(node).grown(start)
        yield from self._races(node, node.tree, racing)

    def _races(self, node: Node, tree: "Leaf | Cut", racing: Racing) -> Asking[None]:
        new = [leaf for leaf in leaves(tree) if leaf.race is None]
        races = yield from joint([racing.race(leaf.box.middle(), leaf.outcome) for leaf in new])
        for leaf, race in zip(new, races):
            leaf.race = race

    def _children(self, nodes: list[Node]) -> list[Node]:
        """Nodes for outcomes that have none yet."""
        asked: dict[tuple[int, Outcome], tuple[Node, Point]] = {}
        for node in nodes:
            best: dict[Outcome, float] = {}
            racing = Racing(node.coordinates, node.rows)
            for outcome, share, leaf, winner in node.shares():
                if outcome in node.children or share <= best.get(outcome, 0.0):
                    continue
                point = leaf.box.middle()
                if winner >= 0:
                    hazards = {**dict.fromkeys(leaf.race.row, 1.0), winner: AHEAD}
                    point = racing.level(racing.even(point), hazards, leaf.race.small)
                best[outcome] = share
                asked[id(node), outcome] = node, point
        found = []
        texts = self._texts([node.numbers(point) for node, point in asked.values()]) if asked else []
        for ((_, outcome), (node, point)), stages in zip(asked.items(), texts):
            if stages[node.depth].outcome != outcome:
                raise NoTreeOfDraws("the same numbers, supplied again, gave another output")
            if len(stages) == node.depth + 1:
                node.children[outcome] = None
                continue
            text = node.text + (() if node.stage.drafted else outcome)
            child = Node(node.depth + 1, text, node.numbers(point), stages[node.depth + 1])
            node.children[outcome] = child
            found.append(child)
        return found

    def _contradiction(self, stages: list[Stage]) -> tuple[Node, Point, Outcome] | None:
        """Return where a random text first came to something else than was foretold."""
        node: Node | None = self.root
        for stage in stages:
            if node is None or stage.calls != node.stage.calls:
                raise NoTreeOfDraws("which numbers it asks for depends on more than what it emitted and drafted")
            point = node.point(stage)
            foretold, near = node.foretold(point)
            if stage.outcome != foretold:
                return None if near else (node, point, stage.outcome)
            node = node.children[foretold]
        if node is not None:
            raise NoTreeOfDraws("some outputs end where others with the same tokens go on")
        return None

    def _refine(self, wrong: Sequence[tuple[Node, Point, Outcome]]) -> None:
        touched = []
        for node, point, outcome in wrong:
            if node.foretold(point)[0] == outcome:
                continue
            (here,) = self._asked([(node, point)])
            if here != outcome:
                raise NoTreeOfDraws(
                    f"after {node.text} the same numbers gave {outcome} in one output and {here} in another: what "
                    "it does depends on more than the tokens, such as earlier decisions or its neighbours"
                )
            answered(about(node, self._refined(node, point)), self._asked)
            touched.append(node)
        self._grow(self._children(touched))

    def _refined(self, node: Node, point: Point) -> Asking[None]:
        leaf, partition = leaf_of(node.tree, point), self._partition(node)
        middle = leaf.box.middle()
        inside = tuple(middle[i] if i in node.axes else point[i] for i in range(len(point)))
        cut = yield from partition.refined(leaf, point, inside)
        if cut is None and not leaf.race:
            raise TooManyLeaves
        if cut is None:
            raise NotARace("random rows of it are not decided by the odds")
        node.tree = replaced(node.tree, point, cut)
        yield from self._races(node, cut, self._racing(node))
