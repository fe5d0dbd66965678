"""In the child process: calls made again with given numbers, and what was seen of the surroundings of all calls."""

import functools
from collections.abc import Iterator
from typing import Any

from ...models.problem import tree_problem_from
from .explore import walked
from .harness import Subject
from .kept import changing
from .outcomes import encoded_walk
from .rows_in_use import rows_for
from .watch import WATCH

CALLS_PER_ANSWER = 200


def again(subject: Subject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The calls of the request in their order, with plain numbers, and what came of each."""
    rows = [rows_for(tree_problem_from(p), subject) for p in request["problems"]]
    calls = request["calls"]
    for start in range(0, len(calls), CALLS_PER_ANSWER):
        walks = []
        for k, block, *walk in calls[start : start + CALLS_PER_ANSWER]:
            call = functools.partial(subject.outcome, rows[k], tuple(block), subject.real_random(0))
            walks.append(encoded_walk(walked(call, *walk)))
        yield {"walks": walks}


def kept(subject: Subject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What changes with each repetition of a call."""
    rows, block = rows_for(tree_problem_from(request["problem"]), subject), tuple(request["block"])
    call = functools.partial(subject.outcome, rows, block, subject.real_random(0))
    once = functools.partial(walked, call, *request["walk"])
    yield {"kept": changing(subject.function, WATCH.code, once)}


def surroundings(subject: Subject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What calls have asked of their surroundings, and how many were made."""
    yield {"reads": [read._asdict() for read in WATCH.reads.values()], "calls": WATCH.calls}
