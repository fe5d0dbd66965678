"""Loops without a bound whose rounds are alike (a residual drawn by rejection): their law in closed form.

A tree of choices is walked until a choice comes back to an earlier one on its own path: asked at the same place of the
code, with the same probabilities, and followed by the same. The way back is then an edge, and a loop that goes on with
probability r is the geometric series 1 / (1 - r), exactly. That what follows is the same is not assumed: from both
choices the function is walked on, by each way and by ways drawn at random, and everything that is asked and emitted has
to agree; then it is walked through the loop for 1, 2, 3, ... rounds, until fewer than 2^-46 of all calls go on, out
of it
after each, and must do what the tree says. What goes on beyond is added to the resolution.
"""

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from ..field import QQ
from .exploration import Exploration
from .following import following_once
from .hook_random import PlainRandom
from .outcomes import Outcome, kind_of
from .places import place_in_frames
from .tracer import MANY_CHOICES, SMALL, STATE, PathLeft, Tracer

MOST_WALKS, DEEPEST = 2_500, 60
"""Calls for one law; choices on a path that comes back to none, beyond which there is no loop."""
WAYS, LONGEST = 4, 120
"""Ways drawn at random on which two choices are compared; choices on the longest walk."""
ROUNDS, FEWER = 64, 8
"""Rounds after each of which a loop is left; those of the loops beyond the first ``MOST_LOOPS``."""
LONGEST_SCRIPT, OF_USE = 30 * LONGEST, 2.0**-20
"""Choices of the longest walk through the rounds of a loop; what may be left going on beyond it: no claim is made with
more, not in float32 either, and for less the rounds are not walked where they cannot come down to 2^-46."""

Script = tuple[int, ...]


class LoopChoice(NamedTuple):
    """What was asked: probabilities, the place in each frame of third-party code, and by how much they may be wrong."""

    shares: tuple[Any, ...]
    place: tuple
    error: float


class Back(NamedTuple):
    """A choice that is the one before, of this number on the path."""

    to: int


class LoopPart(NamedTuple):
    """The law from a choice on.

    law: outcome -> probability. back: number of an earlier choice -> probability to come back to it.
    error: by how much the law may be wrong.
    """

    law: dict[Outcome, Any]
    back: dict[int, Any]
    error: float


class _Walker(Tracer):
    """A tracer that walks one script, notes all choices, and stops or wanders on at the first beyond it."""

    def __init__(self, exploration: Exploration, one_by_one: bool) -> None:
        super().__init__(exploration, one_by_one)
        self.in_groups = False
        self.choices: list[LoopChoice] = []
        self.wander: random.Random | None = None
        self._error = 0.0

    def set_out(self, script: Script, wander: random.Random | None) -> None:
        self.script, self.path, self.wander = script, [], wander  # without its probability: thousands of factors
        self.sources, self.drawn, self.rehearsal, self.left = [], [], None, False
        self.choices, self._error, self.paths = [], 0.0, self.paths + 1
        self.run = object()
        self.mind_the_time()
        if self.paths > MOST_WALKS:
            self.give_up(f"draws without bound, in more ways than {MOST_WALKS:,} calls show")

    def uncertain(self, amount: float) -> None:
        self._error += amount

    def branch(self, probabilities: Any) -> int:
        at, shares = len(self.path), tuple(probabilities)
        self.choices.append(LoopChoice(shares, place_in_frames(), self._error))
        self._error = 0.0
        if at < len(self.script) and self.script[at] < len(shares) and shares[self.script[at]]:
            chosen = self.script[at]
        elif at >= len(self.script) and self.wander is not None and at < LONGEST:
            chosen = self.wander.choices(range(len(shares)), [float(p) for p in shares])[0]
        else:
            self.left = True
            raise PathLeft
        self.path.append(chosen)
        return chosen


class Recurring:
    """The law of a call that draws without bound.

    leaves, returns: head of a loop -> the probability to come back to it no more, and to come back, from it on.
    rehearsed(tracer, outcome): what is done with each path that ends. ends: how many do.
    one_by_one: as in ``tracer.Tracer``.
    Raises: NotInterceptable where no choice comes back to an earlier one, or what follows it is not the same.
    """

    def __init__(
        self, call: Callable[[], Outcome], exploration: Exploration, rehearsed: Callable[[Tracer, Outcome], None],
        one_by_one: bool = False,
    ):  # fmt: skip
        self.call, self.rehearsed, self.tracer = call, rehearsed, _Walker(exploration, one_by_one)
        self.tree: dict[Script, LoopChoice | Outcome | Back] = {}
        self.leaves: dict[Script, float] = {}
        self.returns: dict[Script, float] = {}
        self.compared: set[Script] = set()
        self.ends = self.unlike = self.alike_for = 0
        self.slow = False

    @property
    def hopeless(self) -> bool:
        """Whether paths that are walked one by one would be too many: a loop goes on for long, or in several ways."""
        heads = Counter(script[: what.to] for script, what in self.tree.items() if isinstance(what, Back))
        ways = max(heads.values(), default=1)
        many = max(map(len, self.tree)) > MANY_CHOICES or ways**self.alike_for > 600
        return self.slow or (many and (ways > 1 or self.unlike > 0))

    def law(self) -> LoopPart:
        """The whole law, confirmed."""
        part = self._part(())
        beyond = sum(map(self._left_after_rounds, self.leaves))
        return part._replace(error=part.error + beyond)

    def _walk(self, script: Script, wander: random.Random | None = None) -> Outcome | None:
        """Follow the script: what came out, None if more was asked."""
        self.tracer.set_out(script, wander)
        try:
            outcome = following_once(self.tracer, self.call)
        except PathLeft:
            return None
        return outcome

    def _part(self, script: Script) -> LoopPart:
        outcome, tracer = self._walk(script), self.tracer
        if len(tracer.path) < len(script):
            tracer.notice("state", STATE)
            tracer.give_up("it does not repeat itself when its random numbers are repeated")
        if outcome is not None:
            self.tree[script], self.ends = outcome, self.ends + 1
            self.rehearsed(tracer, outcome)
            return LoopPart({outcome: QQ(1)}, {}, 0.0)
        choices = tracer.choices
        here = choices[-1]
        for at in reversed(range(len(script))):
            same = choices[at].place == here.place and choices[at].shares == here.shares
            if same and self._alike(script[:at], script, here):
                self.tree[script] = Back(at)
                return LoopPart({}, {at: QQ(1)}, 0.0)
        if len(script) >= DEEPEST:
            tracer.give_up(
                f"draws without bound: {DEEPEST} random choices in one call and more, none like an earlier one"
            )
        self.tree[script] = here
        law: dict[Any, Any] = {}
        back: dict[Any, Any] = {}
        error = here.error
        for k, share in enumerate(here.shares):
            if share:
                part = self._part((*script, k))
                for into, of in ((law, part.law), (back, part.back)):
                    for key, p in of.items():
                        into[key] = into.get(key, 0) + share * p
                error += float(share) * part.error
        going_on = 1 - back.pop(len(script), QQ(0))
        if not going_on:
            tracer.give_up("draws without end")
        if going_on != 1:
            self.leaves[script], self.returns[script] = float(going_on), float(1 - going_on)
        return LoopPart({o: p / going_on for o, p in law.items()}, {a: p / going_on for a, p in back.items()},
                    error / float(going_on))  # fmt: skip

    def _alike(self, one: Script, other: Script, choice: LoopChoice) -> bool:
        """Whether the same is asked and emitted after two choices, on each way and on others drawn at random."""
        ways = [(k,) for k, share in enumerate(choice.shares) if share and one not in self.compared]
        draw = PlainRandom(repr(other))
        for way in [*ways, *([()] * WAYS)]:
            out = self._walk((*other, *way), draw)
            suffix, asked = tuple(self.tracer.path[len(other) :]), self.tracer.choices[len(other) :]
            came = self._walk((*one, *suffix))
            if len(self.tracer.path) < len(one) + len(suffix):
                return False
            if not _same(out, came) or [c[:2] for c in asked] != [c[:2] for c in self.tracer.choices[len(one) :]]:
                return False
        self.compared.add(one)
        return True

    def _entered(self, head: Script) -> float:
        """How often a call comes to a loop from above, on average: those around it are gone through again and again."""
        often = 1.0
        for n, chosen in enumerate(head):
            choice = self.tree[head[:n]]
            assert isinstance(choice, LoopChoice)
            often *= float(choice.shares[chosen]) / self.leaves.get(head[:n], 1.0)
        return often

    def _left_after_rounds(self, head: Script) -> float:
        """Leave a loop after 1, 2, ... rounds as the tree says it goes; the probability that a call goes on beyond."""
        exploration = self.tracer.exploration
        exploration.loops_left -= 1
        often, leaves, returns = self._entered(head), self.leaves[head], self.returns[head]
        rate = math.log(returns) if returns < 0.5 else math.log1p(-leaves)
        shortest = min(len(s) for s, what in self.tree.items() if isinstance(what, Back) and s[: what.to] == head)
        most = LONGEST_SCRIPT // (shortest - len(head))
        if (beyond := often * math.exp(most * rate)) > OF_USE:
            self._too_slow(most, beyond)
        enough = max(math.ceil(math.log(SMALL / often) / rate), 1)
        to_the_end = enough <= most
        if not to_the_end:
            enough = max(math.ceil(math.log(OF_USE / often) / rate), FEWER)
        draw, last = PlainRandom(enough), 0
        each = ROUNDS if exploration.loops_left >= 0 else FEWER
        rounds = sorted(
            {*range(1, min(each, enough) + 1), *(each << k for k in range(9) if each << k < enough), enough}
        )
        for count in rounds:
            script, predicted, outcome = self._script(head, count, draw)
            if len(script) > LONGEST_SCRIPT:
                break
            came = self._walk(script)
            if not _same(came, outcome) or [c.shares for c in self.tracer.choices] != predicted:
                self.tracer.give_up(f"draws without bound: a loop does otherwise after {count} rounds")
            last = self.alike_for = count
        if to_the_end and last >= enough:
            return 0.0
        if (beyond := often * math.exp(last * rate)) > 2 * OF_USE:
            self._too_slow(last, beyond)
        return beyond

    def _too_slow(self, rounds: int, beyond: float) -> NoReturn:
        self.slow = True
        self.tracer.give_up(f"draws without bound: after {rounds} rounds it goes on with probability {beyond:.1g}")

    def _script(self, head: Script, rounds: int, draw: random.Random) -> tuple[Script, list[tuple], Outcome]:
        """A walk to a choice, so many times back to it, and on to an end: script, what is asked, what comes out."""
        script, here, predicted = [*head], head, []
        for n in range(len(head)):
            before = self.tree[head[:n]]
            assert isinstance(before, LoopChoice)
            predicted.append(before.shares)
        while True:
            what = self.tree[here]
            if isinstance(what, Back):
                rounds -= what.to == len(head)
                here = here[: what.to]
                continue
            if not isinstance(what, LoopChoice):
                return tuple(script), predicted, what
            ends = rounds <= 0
            ways = [k for k, p in enumerate(what.shares) if p and self._leads((*here, k), head, ends)]
            ways = ways or [k for k, p in enumerate(what.shares) if p]
            chosen = draw.choices(ways, [float(what.shares[k]) for k in ways])[0]
            predicted.append(what.shares)
            script.append(chosen)
            here = (*here, chosen)

    def _leads(self, script: Script, head: Script, ends: bool) -> bool:
        """Whether a way leads to an end; or back to the choice."""
        what = self.tree[script]
        if isinstance(what, Back):
            return not ends and what.to == len(head)
        if isinstance(what, LoopChoice):
            return any(p and self._leads((*script, k), head, ends) for k, p in enumerate(what.shares))
        return ends


def _same(one: Outcome | None, other: Outcome | None) -> bool:
    return one == other if one is None or other is None else kind_of(one) == kind_of(other)
