"""Races that run with the same noise: each has the law of a race of its own if one alone decides what is emitted.

vLLM's sampler draws one row of noise for a request and finds a replacement at each position with it. The winners depend
on each other, but the block is cut at the first rejection, and all winners but one are thrown away. The tracer branches
as if every race had noise of its own. At the end this module looks at all paths. They are sorted by what was asked and
answered apart from the races of one noise. In each class every combination of winners must be there, the races must be
the same on all paths, and the outcome may change with the winner of one race only. Then the law of the outcome is that
of this race, however the winners depend on each other; else there is no law.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .outcomes import Outcome, kind_of


@dataclass(frozen=True)
class Contest:
    """A race that was run on a path.

    sources: the random numbers that ran, in order.
    scores: what is equal for races with the same scores.
    place: where in the code.
    points: for each source, the function from a replay to a point with which the path's winner wins.
    """

    sources: tuple[Any, ...]
    scores: tuple
    place: str
    points: list[Callable[[int], int]] = field(default_factory=list)

    @property
    def identity(self) -> tuple:
        return (tuple(source.order for source in self.sources), self.scores)


class WholePath(NamedTuple):
    """A path on which races share noise.

    answers, questions: of its decisions.
    races: by their place in the path.
    sources, drawn: as in ``Tracer``.
    """

    outcome: Outcome
    answers: tuple[int, ...]
    questions: tuple[tuple, ...]
    races: dict[int, Contest]
    sources: list[Any]
    drawn: list[int]

    def apart_from(self, races: Sequence[int]) -> tuple:
        """Return what was asked and answered; of these races not which of their contestants won."""
        return tuple(
            (question, self.races[at].identity if at in races else answer)
            for at, (question, answer) in enumerate(zip(self.questions, self.answers))
        )


def sharing(races: dict[int, Contest]) -> list[list[int]]:
    """Return the places of races that share a random number, directly or by others, in groups of two or more."""
    groups: list[tuple[set[Any], list[int]]] = []
    for at, race in races.items():
        found = [group for group in groups if not group[0].isdisjoint(race.sources)]
        groups = [group for group in groups if group not in found]
        groups.append(({*race.sources}.union(*(s for s, _ in found)), [*(k for _, ks in found for k in ks), at]))
    return [places for _, places in groups if len(places) > 1]


def decided_by_one(leaves: list[WholePath]) -> Iterator[WholePath]:
    """Yield the paths to replay, with noise that lets the race win that decides there, whoever wins the others.

    Raises: SeveralRaces if it is not seen that one race alone decides.
    """
    classes = defaultdict[tuple, list[WholePath]](list)
    for leaf in leaves:
        for group in sharing(leaf.races):
            classes[tuple(group), leaf.apart_from(group)].append(leaf)
    deciding = {key: _deciding(key[0], together) for key, together in classes.items()}
    for leaf in leaves:
        chosen = True
        for group in sharing(leaf.races):
            race = deciding[tuple(group), leaf.apart_from(group)]
            for at in group:
                chosen = chosen and (at == race or leaf.answers[at] == _winners(leaf.questions[at])[0])
            for source in {source for at in group for source in leaf.races[at].sources}:
                source.settled = None
            for source, point in zip(leaf.races[race].sources, leaf.races[race].points):
                source.settled = point
        if chosen:
            yield leaf


class SeveralRaces(Exception):
    """Raised where it is not seen that one of several races of the same noise alone decides what is emitted."""


def used_twice(places: Sequence[str]) -> str:
    """Return the reason why there is no law. places: of the races, in the code."""
    first, *others = dict.fromkeys(places)
    where = f"at {', '.join([first, *others[:-1]])} and {others[-1]}" if others else f"in each turn at {first}"
    return f"one row of noise is used twice, {where}: no closed form; take it as an argument (driven)"


def _winners(question: tuple) -> list[int]:
    return [k for k, share in enumerate(question) if share]


def _deciding(group: Sequence[int], leaves: list[WholePath]) -> int:
    """Return the place of the one race of a group on which the outcome of a class of paths depends, or of any."""
    first = leaves[0]
    if len(leaves) == math.prod(len(_winners(first.questions[at])) for at in group):
        for at in group:
            emitted = defaultdict[int, set](set)
            for leaf in leaves:
                emitted[leaf.answers[at]].add(kind_of(leaf.outcome))
            if all(len(outcomes) == 1 for outcomes in emitted.values()):
                return at
    raise SeveralRaces(used_twice([first.races[at].place for at in group]))
