"""The exact law of any program over chance, by running it once for every way its choices can fall."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

from ..verifiers.chance import NothingToDrawError
from .field import QQ

Outcome = TypeVar("Outcome", bound=Hashable)
Result = TypeVar("Result")
ONE = QQ(1)


class Branching:
    """A tree of choices, walked depth first by running a program again and again.

    Each run replays a script of earlier choices; at the first new choice it takes the first branch of positive
    probability, or the likeliest, and leaves the others for later. ``probability`` is that of the path so far.
    """

    likeliest_first: bool = False

    def __init__(self, one: Any = ONE):
        self.one = one
        self.pending: list[tuple[tuple[int, ...], Any]] = [((), one)]
        self.script: tuple[int, ...] = ()
        self.path: list[int] = []
        self.probability = one

    def begin(self) -> bool:
        """Start the next path; return False when all have been followed."""
        if not self.pending:
            return False
        self.script, self.probability = self.pending.pop()
        self.path = []
        return True

    def replayed(self) -> int | None:
        """Return the branch that this path takes, if an earlier run chose it."""
        at = len(self.path)
        if at >= len(self.script):
            return None
        self.path.append(self.script[at])
        return self.script[at]

    def choose(self, probabilities: Sequence[Any]) -> int:
        """Return the branch that this path takes. The probabilities add up to one."""
        again = self.replayed()
        return self.first(probabilities) if again is None else again

    def first(self, probabilities: Sequence[Any]) -> int:
        """Return the branch to take first at a choice that no path has met before."""
        branches = [(k, p) for k, p in enumerate(probabilities) if p != 0]
        if self.likeliest_first:
            branches.sort(key=lambda branch: -branch[1])
        here, before = tuple(self.path), self.probability
        self.pending += [((*here, k), before * p) for k, p in reversed(branches[1:])]
        k, p = branches[0]
        self.path.append(k)
        self.probability = before * p
        return k


class EnumeratedChance:
    """A chance that follows every branch of a tree of choices; exact for exact numbers."""

    def __init__(self, branching: Branching):
        self._branching = branching

    def flip(self, probability: Any) -> bool:
        if not 0 <= probability <= 1:
            raise ValueError(f"flip with probability {probability}, which is not in [0, 1]")
        if probability == 0 or probability == 1:
            return probability == 1
        return self._branching.choose((probability, 1 - probability)) == 0

    def draw(self, weights: Sequence[Any]) -> int:
        if (again := self._branching.replayed()) is not None:
            return again
        if any(weight < 0 for weight in weights):
            raise ValueError(f"draw from a negative weight: {[str(w) for w in weights]}")
        total = sum(weights)
        if total == 0:
            raise NothingToDrawError(f"draw from weights that are all zero: {[str(w) for w in weights]}")
        one = self._branching.one  # so that plain whole numbers divide exactly too
        return self._branching.first(weights if total == 1 else [one * weight / total for weight in weights])


def law_of(program: Callable[[Any], Outcome], one: Any = ONE) -> dict[Outcome, Any]:
    """Return the exact law of what a program over chance returns.

    law(o) = sum over the paths that end in o of the product of their branch probabilities.
    program: takes a chance, returns something hashable, and must have no other source of randomness.
    one: the unit of the numbers used (sympy's QQ by default, on python-flint where it is installed).
    Guarantee: exact; the probabilities of all outcomes add up to ``one``.
    Raises: ValueError if a flip is outside [0, 1] or a draw has negative or only zero weights.
    """
    law: dict[Outcome, Any] = {}
    for outcome, probability in paths_of(program, one):
        law[outcome] = law.get(outcome, 0) + probability
    return law


def paths_of(program: Callable[[Any], Result], one: Any = ONE) -> Iterator[tuple[Result, Any]]:
    """Yield what a program over chance returns on each path, with the path's probability; else as ``law_of``."""
    branching = Branching(one)
    chance = EnumeratedChance(branching)
    while branching.begin():
        result = program(chance)
        yield result, branching.probability


def batched_law_of(
    programs: Callable[[list[Any]], Sequence[Outcome]], may_begin: Callable[[int, int], bool] = lambda done, open: True
) -> dict[Outcome, float] | None:
    """Return the law, in floats, of a program that runs with many chances at once, all open paths in one batch.

    programs: from one chance for each path to what the program returns on each.
    may_begin: called before each batch with the numbers of paths done and open. If it returns False the law is None.
    """
    law: dict[Outcome, float] = {}
    scripts, done = [((), 1.0)], 0
    while scripts:
        if not may_begin(done, len(scripts)):
            return None
        branches = [Branching(1.0) for _ in scripts]
        for branching, script in zip(branches, scripts, strict=True):
            branching.pending = [script]
            branching.begin()
        outcomes = programs([EnumeratedChance(branching) for branching in branches])
        for outcome, branching in zip(outcomes, branches, strict=True):
            law[outcome] = law.get(outcome, 0.0) + branching.probability
        done += len(branches)
        scripts = [script for branching in branches for script in branching.pending]
    return law
