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
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .contests import Contest
from .outcomes import Outcome, kind_of


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

    def apart_from(self, units: Sequence["Unit"]) -> tuple:
        """Return what was asked and answered; of these races not which of their contestants won."""
        races = {at for unit in units for at in unit}
        return tuple(
            (question, self.races[at].identity if at in races else answer)
            for at, (question, answer) in enumerate(zip(self.questions, self.answers))
        )


Unit = tuple[int, ...]
"""The places of a race and of the races whose winners ran in it, itself last."""


def sharing(races: dict[int, Contest]) -> list[list[Unit]]:
    """Return the units that share a random number, directly or by others, in groups of two or more."""
    units: dict[int, Unit] = {}
    for at, race in races.items():
        units[at] = (*(k for part, *_ in race.parts for k in units.pop(part, ())), at)
    groups: list[tuple[set[Any], list[Unit]]] = []
    for at, unit in units.items():
        found = [group for group in groups if not group[0].isdisjoint(races[at].sources)]
        groups = [group for group in groups if group not in found]
        numbers = {*races[at].sources}.union(*(sources for sources, _ in found))
        groups.append((numbers, [*(u for _, us in found for u in us), unit]))
    return [group for _, group in groups if len(group) > 1]


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
            read = deciding[tuple(group), leaf.apart_from(group)]
            for unit in group:
                first = (leaf.answers[at] == _winners(leaf.questions[at])[0] for at in unit)
                chosen = chosen and (unit == read or all(first))
                for source in leaf.races[unit[-1]].sources:
                    source.settled = None
            leaf.races[read[-1]].settle()
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


def _deciding(group: Sequence[Unit], leaves: list[WholePath]) -> Unit:
    """Return the one unit of a group on which the outcome of a class of paths depends, or any if it depends on none."""
    first = leaves[0]
    if len(leaves) == math.prod(len(_winners(first.questions[at])) for unit in group for at in unit):
        for unit in group:
            emitted = defaultdict[tuple, set](set)
            for leaf in leaves:
                emitted[tuple(leaf.answers[at] for at in unit)].add(kind_of(leaf.outcome))
            if all(len(outcomes) == 1 for outcomes in emitted.values()):
                return unit
    raise SeveralRaces(used_twice([first.races[unit[-1]].place for unit in group]))
