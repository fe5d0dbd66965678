"""The exact law of one call of a third-party function: every way its random numbers can fall."""

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from ..field import QQ
from . import arrays, hook_numpy, hook_random, numbers
from .exploration import Exploration
from .following import LEFT_PATH, following_once
from .outcomes import Outcome, Raised, Walk, encoded, kind_of
from .reads import noting
from .shared_noise import SeveralRaces, decided_by_one, sharing
from .tracer import LONG_PATH, NotInterceptable, PathLeft, Tracer, shares


def install() -> None:
    """Put the hooks in place, before third-party code is imported, in a process made for it."""
    hook_random.install()
    hook_numpy.install()
    arrays.install()
    hook_random.follow_math()
    numbers.register(array=arrays.elementwise, ufunc=arrays.ufunc_call)
    if "torch" in sys.modules:  # the process is a fork of one that has imported it
        install_torch()
    else:
        sys.meta_path.insert(0, _WhenTorchComes())


class _WhenTorchComes(importlib.abc.MetaPathFinder):
    """A finder that puts torch's hooks in place once torch is imported, before anyone can take names from it.

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
    """Put torch's hooks in place. One thread is enough, since all tensors here are tiny."""
    import torch

    from . import hook_torch

    torch.set_num_threads(1)
    hook_torch.install()


REPLAYS_WITHOUT_CHANCE = 8
"""Number of replays of a path without any random number, which may draw from a source that is not traced."""

ENDS = (0, 1, 2)
"""Replays in the middle of what a path allows, and at both ends; later ones are in between."""


RAISES = "{}, where a uniform is at an end of its range"
"""Text of the finding that a call raised at an end of a uniform's range."""


COMPARED, MOST_COMPARED = 2, 7
"""Laws that are found with comparisons decided at once, too, and the most answers that were put off there."""

LARGEST_FRACTION = 8_000
"""Binary digits of a denominator that is handed on as it is."""


@dataclass
class Explored:
    """The result of exploring one call.

    law: outcome -> probability, or None.
    exactness, resolution: as in ``Tracer``.
    paths: the number of paths. numbers: of random numbers on all of them.
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
    numbers: int = 0


def explore(
    call: Callable[[], Outcome],
    exploration: Exploration,
    walks: list[Walk] | None = None,
    kind: Callable[[Exploration], Tracer] = Tracer,
) -> Explored:
    """Return the law of ``call``'s outcome, as ``explored`` does.

    The first laws of calls that put comparisons off are found with all decided at once, too: code that gets at a tensor
    past torch's dispatch has another law then, and nothing is put off from there on.
    """
    exploration.put_off = 0
    found = explored(call, exploration, walks, kind)
    if found.law is None or not 0 < exploration.put_off <= MOST_COMPARED or exploration.compared >= COMPARED:
        return found
    exploration.compared, exploration.late = exploration.compared + 1, False
    at_once = explored(call, exploration, None, kind)
    if at_once.law is not None and at_once.law != found.law:
        return explored(call, exploration, walks, kind)
    exploration.late = True
    return found


def explored(
    call: Callable[[], Outcome],
    exploration: Exploration,
    walks: list[Walk] | None = None,
    kind: Callable[[Exploration], Tracer] = Tracer,
) -> Explored:
    """Return the law of ``call``'s outcome over all ways its random numbers can fall.

    call: runs the function once on fresh inputs and returns its outcome, hashable. It is called several times for each
      path, all but the first with plain numbers.
    exploration: what is remembered of the subject.
    walks: where to put the calls with plain numbers in the middle and at the ends of each path.
    kind: function that makes the tracer.
    Guarantee: exact in the sense that ``exactness`` names, if ``law`` is not None.
    """
    of_all = None if walks is None else range(exploration.replays)
    walks, tracer, law = [] if walks is None else walks, kind(exploration), dict[Outcome, Any]()
    leaves, tracer.shares_noise = [], True
    walks.clear()  # of the draft block before
    try:
        while tracer.begin():
            try:
                outcome = following_once(tracer, call)
            except PathLeft:
                continue
            if len(tracer.path) < len(tracer.script):
                tracer.differs()
            law[outcome] = law.get(outcome, 0) + tracer.probability
            if exploration.decisions is not None:
                path = {"outcome": encoded(outcome), "path": [*tracer.path], "lines": [*tracer.lines]}
                exploration.decisions.append(path)
            if sharing(tracer.races):
                leaves.append(tracer.leaf(outcome))
                continue
            points = of_all or exploration.points(one=True)
            replay(tracer, call, outcome, points if tracer.path else range(REPLAYS_WITHOUT_CHANCE), walks)
        for leaf in decided_by_one(leaves):
            tracer.return_to(leaf)
            replay(tracer, call, leaf.outcome, of_all or exploration.points(one=True), walks)
    except SeveralRaces as several:
        return Explored(None, "not interceptable", 0.0, tracer.paths, str(several), tracer.findings)
    except NotInterceptable as stopped:
        return Explored(None, "not interceptable", 0.0, tracer.paths, stopped.reason, tracer.findings)
    coarsest = min(tracer.lattices, default=0)
    law = {outcome: _rounded(probability) for outcome, probability in law.items()}
    known = Explored(law, tracer.exactness, tracer.resolution, tracer.paths, None, tracer.findings, coarsest)
    known.between_levels, known.numbers = tracer.between_levels, tracer.numbers
    return known


def _rounded(probability: Any) -> Any:
    """Round a probability to 300 binary digits if long paths have made it a fraction of thousands."""
    if int(probability.denominator).bit_length() < LARGEST_FRACTION:
        return probability
    return QQ(int(probability * 2**300), 2**300)


def walked(call: Callable[[], Outcome], exploration: Exploration, points: list[int], drawn: list[int]) -> Walk:
    """Make one call with plain numbers at these points, and these indices drawn."""
    tracer = Tracer(exploration)
    tracer.walk(points, drawn)
    return _walk(tracer, following_once(tracer, call), points, drawn)


def _walk(tracer: Tracer, outcome: Outcome, points: list[int], drawn: list[int]) -> Walk:
    weights = [[*map(str, shares(asked) if type(asked) is list else asked)] for asked in tracer.asked]
    numbers = [*map(float, tracer.plain), *map(float, drawn)]
    return Walk(points, drawn, outcome, weights, numbers)


def replay(
    tracer: Tracer, call: Callable[[], Outcome], outcome: Outcome, at: Sequence[int], walks: list[Walk] | None = None
) -> None:
    """Replay the path with plain numbers that lie on it: it must end the same.

    at: the points of what the path allows, as of ``RandomSource.on_path``.

    This makes the law one of the unmodified function. If code treats the stand-ins differently from the numbers they
    stand for, or the function remembers earlier calls, there is no law.
    """
    tracer.remember_path()
    tracer.exploration.repeated += 1
    tracer.numbers += len(tracer.sources) + len(tracer.drawn)
    for which in at[:1] if len(tracer.path) > LONG_PATH / 4 else at:
        tracer.replay(which)
        points = tracer.plain_call[0] if tracer.plain_call else []
        reading = noting(tracer.exploration.reads) if which == 0 else nullcontext()
        with reading, tracer.exploration.noting_no_types():
            with_plain_numbers = following_once(tracer, call)
        if walks is not None and which in ENDS:
            walks.append(_walk(tracer, with_plain_numbers, points, [*tracer.recorded[1]]))
        if kind_of(with_plain_numbers) == kind_of(outcome):
            continue
        if which in ENDS[1:] and isinstance(with_plain_numbers, Raised) and with_plain_numbers.error != LEFT_PATH:
            # log(0) and the like: one point of the lattice, on which the traced number was never asked.
            tracer.notice("raises-at-end", RAISES.format(with_plain_numbers))
            continue
        for _ in range(3):
            tracer.replay(which)
            if kind_of(following_once(tracer, call)) != kind_of(with_plain_numbers):
                tracer.differs()
        tracer.give_up(
            f"with plain random numbers in place of followed ones it returns {with_plain_numbers} and not {outcome}"
        )
    tracer.plain_call = None
