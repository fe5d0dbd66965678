"""The law of some requests of a batch, given what the others drew.

Every random number is followed, as in ``explore``. A path branches only at decisions on which the texts of the chosen
requests depend. Every other decision is made by a rule that gives the same question the same answer, so that the other
requests write the same text on each path. Therefore the number of paths is that of the chosen requests alone.

Which requests depend on a decision is found by calls: the decision is made in its other ways, everything after it stays
by the rule, and the texts are compared.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...models.decoding_settings import independent, joined, separated
from ..field import QQ
from .exploration import Exploration
from .explore import Explored, replay
from .following import following_once
from .outcomes import Outcome, Raised
from .ruled import RuledTracer
from .tracer import NotInterceptable, PathLeft

Script = tuple[int, ...]

DRAWN = 3
"""Rules for the other requests' decisions: each is one way that their numbers fell."""

CONTINUED, CONTINUED_AGAIN = 12, 16
"""Rules for what follows a decision, until a text depends on it. The second number serves where a law deviates."""

SHARING = 4
"""Rules by which to see whether other texts, too, depend on a decision of the chosen requests."""

MOST_PATHS = 2_000
"""Largest number of paths of one law."""

MOST_TOGETHER = 1_000
"""Product of the numbers of paths of each request alone up to which the law of all of them together is followed."""

MOST_AFTERWARDS = 14_000
"""The same product up to which all are followed together once no request was seen to depend on another one.

Three requests of three tokens at V = 2 and gamma 2 have 13,824, which take a fast decoder half a minute.
"""

MOST_CHOICES_AFTERWARDS = 240_000
"""Largest number of random choices on all of these paths."""

OFF = 1e-6
"""Total variation from the law of a request alone from which on it is measured again, thoroughly."""


class SlotTracer(RuledTracer):
    """A tracer that makes all new decisions by a rule."""

    def set_out(self, script: Script, mass: Any, rule: int) -> None:
        """Begin a path with these decisions. mass: the probability of the chosen requests' part of them."""
        self.run, self.sources, self.drawn, self.plain_call = object(), [], [], None
        self.lines, self.left = [], False
        self.script, self.path, self.probability = script, [], mass
        self.rule, self.row, self.asked_last = rule, 0, []
        self.mind_the_time()


class SlotLaw:
    """The law of the texts in some slots of a batch, given what the others drew. ``found`` measures it.

    call: as of ``explore``. Its outcome is the ``joined`` texts.
    slots: of the requests whose law it is. drawn: the number of the rule for the others.
    thorough: whether to test each decision by more continuations, and to branch where no text is seen to depend on it.
    shared: other slots whose texts depend on a decision on which those of ``slots`` depend too.
    """

    def __init__(self, call: Callable[[], Outcome], exploration: Exploration, slots: Sequence[int], drawn: int,
                 thorough: bool = False):  # fmt: skip
        self.call, self.exploration, self.slots, self.drawn = call, exploration, slots, drawn
        self.thorough, self.shared = thorough, set[int]()
        self.tracer = SlotTracer(exploration)
        self.tested: dict[tuple[Script, int], Outcome] = {}

    def found(self) -> Explored:
        """Return the law of the chosen texts: ``joined``, or an error in place of the texts."""
        tracer, law = self.tracer, dict[Any, Any]()
        open_paths: list[tuple[Script, Any]] = [((), QQ(1))]
        try:
            while open_paths:
                script, mass = open_paths.pop()
                tracer.paths += 1
                if tracer.paths > MOST_PATHS:
                    tracer.give_up(f"more than {MOST_PATHS:,} ways the random numbers can fall")
                try:
                    outcome = self._traced(script, mass)
                except PathLeft:
                    continue
                path = tuple(tracer.path)
                replay(tracer, self.call, outcome, self.exploration.points())
                for at in range(len(script), len(path)):
                    if not self._branches(path, at, outcome):
                        continue
                    question = tracer.questions[path[:at]]
                    ways = [way for way, p in enumerate(question) if p and way != path[at]]
                    open_paths += [((*path[:at], way), mass * question[way]) for way in ways]
                    mass *= question[path[at]]
                chosen = self._of_slots(outcome)
                law[chosen] = law.get(chosen, 0) + mass
        except NotInterceptable as stopped:
            return Explored(None, "not interceptable", 0.0, tracer.paths, stopped.reason, tracer.findings)
        known = Explored(law, tracer.exactness, tracer.resolution, tracer.paths, None, tracer.findings)
        known.numbers = tracer.numbers
        return known

    def _traced(self, script: Script, mass: Any) -> Outcome:
        self.tracer.set_out(script, mass, self.drawn)
        outcome = following_once(self.tracer, self.call)
        if len(self.tracer.path) < len(script):
            self.tracer.differs()
        return outcome

    def _branches(self, path: Script, at: int, outcome: Outcome) -> bool:
        """Check whether the texts of the chosen slots depend on a decision of a path."""
        depend = self._depend(path, at, outcome)
        if depend & {*self.slots}:
            self.shared |= depend - {*self.slots}
            return True
        return self.thorough and not depend

    def _depend(self, path: Script, at: int, outcome: Outcome) -> set[int]:
        """Return the slots whose texts are seen to depend on a decision of a path."""
        question, before, found = self.tracer.questions[path[:at]], path[:at], set[int]()
        others = [way for way, p in enumerate(question) if p and way != path[at]]
        for k in range(CONTINUED_AGAIN if self.thorough else CONTINUED):
            rule = self.drawn + k * DRAWN
            here = self._tested((*before, path[at]), rule) if k else outcome
            for way in others:
                found |= _apart(here, self._tested((*before, way), rule))
            own = found & {*self.slots}
            if (own and k + 1 >= SHARING) or (found and not own and not self.thorough):
                break
        return found

    def _tested(self, script: Script, rule: int) -> Outcome:
        """Make a call with these decisions and the others by a rule. What it adds to the resolution counts for none."""
        if (script, rule) not in self.tested:
            tracer = self.tracer
            before = tracer.resolution, tracer.between_levels
            tracer.set_out(script, QQ(1), rule)
            self.tested[script, rule] = following_once(tracer, self.call)
            tracer.resolution, tracer.between_levels = before
        return self.tested[script, rule]

    def _of_slots(self, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Raised):
            return outcome
        texts = separated(outcome)
        return joined(texts[slot] for slot in self.slots)


def _apart(one: Outcome, other: Outcome) -> set[int]:
    """Return the slots whose texts differ. An error is one of every slot."""
    texts = [None if isinstance(outcome, Raised) else separated(outcome) for outcome in (one, other)]
    if texts[0] is None or texts[1] is None:
        return set() if texts[0] is texts[1] else {*range(len(texts[0] or texts[1] or ()))}
    return {slot for slot, pair in enumerate(zip(texts[0], texts[1], strict=True)) if pair[0] != pair[1]}


class PartLaw(NamedTuple):
    """The law of some requests of a batch. slots: which. drawn: the number of the rule for what the others drew."""

    slots: tuple[int, ...]
    drawn: int
    found: Explored


class BatchLaws(NamedTuple):
    """The laws of the requests of a batch. stopped: the reason why some were not measured."""

    parts: Sequence[PartLaw]
    stopped: str | None


STOPPED = "behind a request that differs from itself alone, or has no distribution, no further one was measured"
"""Reason why a batch is known in part."""


def laws_by_slot(
    call: Callable[[], Outcome], exploration: Exploration, alone: Sequence[Mapping[Any, Any]]
) -> BatchLaws:
    """Return the law of each request of a batch, given each of several ways in which the others' numbers fell.

    If the texts of two requests depend on one decision, the law of both together is measured too.
    alone: for each slot the law of its request alone.
    Guarantee: each law is that given what the others drew, if calls showed every decision on which a text depends. A
    law that differs from that of the request alone was measured thoroughly.
    """
    parts: list[PartLaw] = []
    waiting = [((slot,), drawn) for drawn in range(DRAWN) for slot in range(len(alone))]
    for slots, drawn in waiting:  # pairs are added on the way
        expected = independent([alone[slot] for slot in slots])
        measured = SlotLaw(call, exploration, slots, drawn)
        found = measured.found()
        if differs := found.law is not None and _distance(found.law, expected) > OFF:
            found = SlotLaw(call, exploration, slots, drawn, thorough=True).found()
            differs = found.law is None or _distance(found.law, expected) > OFF
        parts.append(PartLaw(slots, drawn, found))
        if differs or found.law is None:
            return BatchLaws(parts, STOPPED)
        pairs = [(*sorted((*slots, other)),) for other in measured.shared] if len(slots) == 1 else []
        waiting += [(pair, drawn) for pair in pairs if pair not in {asked for asked, _ in waiting}]
    return BatchLaws(parts, None)


def _distance(law: Mapping[Any, Any], other: Mapping[Any, Any]) -> float:
    return sum(abs(float(law.get(o, 0)) - float(other.get(o, 0))) for o in law.keys() | other.keys()) / 2
