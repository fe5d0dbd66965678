"""The exact law of one call of a third-party function: every way its random numbers can fall."""

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..field import QQ
from . import arrays, hook_numpy, hook_random, numbers, race
from .exploration import Exploration
from .following import LEFT_PATH, following_once
from .groups import Regroup, blame, confirm
from .outcomes import Outcome, Raised, Walk, kind_of
from .reads import noting
from .recurring import Recurring
from .tracer import LONG_PATH, STATE, NotInterceptable, PathLeft, Tracer, shares


def install() -> None:
    """Put the hooks in place. To be called before third-party code is imported, in a process made for it."""
    hook_random.install()
    hook_numpy.install()
    arrays.install()
    hook_random.follow_math()
    hook_random.follow_fractions()
    numbers.register(array=arrays.elementwise, ufunc=arrays.ufunc_call, another=race.duel)
    sys.meta_path.insert(0, _WhenTorchComes())


class _WhenTorchComes(importlib.abc.MetaPathFinder):
    """Puts torch's hooks in place the moment torch has been imported, before anyone can take names from it.

    Others ask whether it could be imported first, and import it later.
    """

    looking = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.looking:
            return None
        self.looking = True
        try:
            spec = importlib.util.find_spec("torch")
        finally:
            self.looking = False
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def run_and_hook(module):
            run(module)
            sys.meta_path.remove(self)
            install_torch()

        spec.loader.exec_module = run_and_hook
        return spec


def install_torch() -> None:
    """Put torch's hooks in place; one thread, since all tensors here are tiny."""
    import torch

    from . import hook_torch

    torch.set_num_threads(1)
    hook_torch.install()


REHEARSALS_WITHOUT_CHANCE = 8
"""How often a path without any random number is repeated: it may draw from a source that is not followed."""

ENDS = (0, 1, 2)
"""The rehearsals in the middle of what a path allows, and at both ends; later ones are in between."""


RAISES = "{}, where a uniform is at an end of its range"
"""What is noticed, of what was raised."""


class Recurs(Exception):
    """Code was seen to draw without end."""


LARGEST_FRACTION = 8_000
"""Binary digits of a denominator that is handed on as it is."""


@dataclass
class Explored:
    """What the exploration of one call came to.

    law: outcome -> probability, or None.
    exactness, resolution: as in ``Tracer``.
    paths: ways the random numbers can fall.
    reason: why the law is not known.
    findings: what was noticed on the way.
    coarsest: the fewest bits of a uniform that was compared, 0 if none was.
    between_levels: as in ``Tracer``.
    """

    law: dict[Outcome, Any] | None
    exactness: str
    resolution: float = 0.0
    paths: int = 0
    reason: str | None = None
    findings: dict[str, str] = field(default_factory=dict)
    coarsest: int = 0
    between_levels: float = 0.0


def explore(call: Callable[[], Outcome], exploration: Exploration, walks: list[Walk] | None = None) -> Explored:
    """The law of ``call``'s outcome over all ways its random numbers can fall.

    call: runs the function once on fresh inputs and returns what came out, hashable. It is called several times for
      each path, all but the first with plain numbers.
    exploration: what is remembered of the subject.
    walks: where to put the calls with plain numbers in the middle and at the ends of each path.
    Guarantee: exact in the sense that ``exactness`` names, if ``law`` is not None.
    """
    walks = [] if walks is None else walks
    try:
        explored, follows_whole = _regrouped(call, exploration, walks, exploration.follows_loops)
    except Recurs:
        explored, hopeless = _recurring(call, exploration, walks)
        if explored.law is not None or hopeless:
            return explored
        exploration.unlike += 1
        explored, follows_whole = _regrouped(call, exploration, walks, False)
    if explored.law is None and follows_whole:  # code that insists on a plain whole number
        walks.clear()
        tracer = Tracer(exploration, one_by_one=True)
        tracer.may_recur = exploration.follows_loops
        try:
            explored = _explored(tracer, call, walks)
        except Recurs:
            explored, _ = _recurring(call, exploration, walks, one_by_one=True)
            exploration.unlike += explored.law is None
    return explored


def _regrouped(
    call: Callable[[], Outcome], exploration: Exploration, walks: list[Walk], may_recur: bool
) -> tuple[Explored, bool]:
    """The same, cutting groups of whole numbers until the values of each are treated alike."""
    cuts: dict[tuple, set[int]] = {}
    while True:
        tracer = Tracer(exploration)
        tracer.cuts, tracer.may_recur = cuts, may_recur
        walks.clear()
        try:
            return _explored(tracer, call, walks), tracer.follows_whole
        except Regroup as regroup:
            regroup.note(cuts)


def _recurring(
    call: Callable[[], Outcome], exploration: Exploration, walks: list[Walk], one_by_one: bool = False
) -> tuple[Explored, bool]:
    """The law of a call that draws without bound, if its rounds are alike; whether paths would be too many."""
    walks.clear()
    rehearsed = lambda tracer, outcome: rehearse(tracer, call, outcome, exploration.times, walks)  # noqa: E731
    recurring = Recurring(call, exploration, rehearsed, one_by_one)
    tracer = recurring.tracer
    try:
        part = recurring.law()
    except NotInterceptable as stopped:
        unknown = Explored(None, "not interceptable", 0.0, recurring.ends, stopped.reason, tracer.findings)
        return unknown, recurring.hopeless
    tracer.resolution, coarsest = part.error, min(tracer.lattices, default=0)
    law = {outcome: _rounded(probability) for outcome, probability in part.law.items()}
    known = Explored(law, tracer.exactness, tracer.resolution, recurring.ends, None, tracer.findings, coarsest)
    known.between_levels = tracer.between_levels
    return known, recurring.hopeless


def _explored(tracer: Tracer, call: Callable[[], Outcome], walks: list[Walk]) -> Explored:
    exploration, law = tracer.exploration, dict[Outcome, Any]()
    try:
        while tracer.begin():
            try:
                outcome = following_once(tracer, call)
            except PathLeft:
                if tracer.recurs:
                    raise Recurs from None
                continue
            if len(tracer.path) < len(tracer.script):
                tracer.notice("state", STATE)
                tracer.give_up("it does not repeat itself when its random numbers are repeated")
            law[outcome] = law.get(outcome, 0) + tracer.probability
            confirm(tracer, call, outcome)
            times = exploration.times if tracer.path else REHEARSALS_WITHOUT_CHANCE
            rehearse(tracer, call, outcome, times, walks)
    except NotInterceptable as stopped:
        return Explored(None, "not interceptable", 0.0, tracer.paths, stopped.reason, tracer.findings)
    coarsest = min(tracer.lattices, default=0)
    law = {outcome: _rounded(probability) for outcome, probability in law.items()}
    known = Explored(law, tracer.exactness, tracer.resolution, tracer.paths, None, tracer.findings, coarsest)
    known.between_levels = tracer.between_levels
    return known


def _rounded(probability: Any) -> Any:
    """The probability to 300 binary digits, where long paths have made it a fraction of thousands."""
    if int(probability.denominator).bit_length() < LARGEST_FRACTION:
        return probability
    return QQ(int(probability * 2**300), 2**300)


def walked(
    call: Callable[[], Outcome], exploration: Exploration, points: list[int], drawn: list[int], one_by_one: bool = False
) -> Walk:
    """One call with plain numbers at these points, and these indices drawn."""
    tracer = Tracer(exploration, one_by_one)
    tracer.walk(points, drawn)
    return _walk(tracer, following_once(tracer, call), points, drawn)


def _walk(tracer: Tracer, outcome: Outcome, points: list[int], drawn: list[int]) -> Walk:
    weights = [[*map(str, shares(asked) if type(asked) is list else asked)] for asked in tracer.asked]
    numbers = [*map(float, tracer.plain), *map(float, drawn)]
    return Walk(points, drawn, tracer.one_by_one, outcome, weights, numbers)


def rehearse(
    tracer: Tracer, call: Callable[[], Outcome], outcome: Outcome, times: int, walks: list[Walk] | None = None,
    seen_otherwise: Callable[[int], bool] = lambda which: False,
) -> None:  # fmt: skip
    """Walk the path once more with plain numbers that lie on it: it must end the same.

    This is what makes the law one of the unmodified function: where the stand-ins were treated otherwise than the
    numbers they stand for, or the function remembers earlier calls, the law is withdrawn.

    seen_otherwise: whether a rehearsal at an end of what the path allows is not needed, by another call there.
    """
    tracer.remember_path()
    tracer.exploration.repeated += 1
    for which in range(1 if len(tracer.path) > LONG_PATH / 4 else times):
        if which in ENDS[1:] and seen_otherwise(which):
            continue
        tracer.rehearse(which)
        points = tracer.rehearsal[0] if tracer.rehearsal else []
        with noting(tracer.exploration.reads) if which == 0 else tracer.exploration.noting_no_types():
            with_plain_numbers = following_once(tracer, call)
        if walks is not None and which in ENDS:
            walks.append(_walk(tracer, with_plain_numbers, points, [*tracer.rehearsed[1]]))
        if kind_of(with_plain_numbers) == kind_of(outcome):
            continue
        if which in ENDS[1:] and isinstance(with_plain_numbers, Raised) and with_plain_numbers.error != LEFT_PATH:
            # log(0) and the like: one point of the lattice, on which the traced number was never asked.
            tracer.notice("raises-at-end", RAISES.format(with_plain_numbers))
            continue
        for _ in range(3):
            tracer.rehearse(which)
            if kind_of(following_once(tracer, call)) != kind_of(with_plain_numbers):
                tracer.notice("state", STATE)
                tracer.give_up("it does not repeat itself when its random numbers are repeated")
        blame(tracer, call, outcome, points)
        tracer.give_up(
            f"with plain random numbers in place of followed ones it returns {with_plain_numbers} and not {outcome}"
        )
    tracer.rehearsal = None
