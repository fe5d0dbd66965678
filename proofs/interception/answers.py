"""Answers of the child process about a function: its law on a problem, samples, and calls made again."""

import functools
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...models.problem import AnyProblem, Problem
from .arithmetic import Arithmetic
from .explore import walked
from .harness import NeverReturned, Subject
from .kept import changing
from .outcomes import Outcome, Walk
from .rows_in_use import Rows, WideRows, rows_for

CALLS_PER_ANSWER = 200

SLOW = "a call that is followed does not end"
"""Reason why code that returns in time when it is not traced has no law."""

UNKNOWN = {"law": None, "exactness": "not interceptable", "paths": 0, "neutral": True}


def _rows(problem: AnyProblem, subject: Subject, scales: Sequence[float] = (1.0, 1.0), **of_wide: Any) -> Rows:
    return rows_for(problem, subject, scales) if isinstance(problem, Problem) else WideRows(problem, subject, **of_wide)


def _never_returns(subject: Subject, rows: Rows, block: tuple[int, ...]) -> bool:
    """Check whether a call with real random numbers does not end either."""
    try:
        subject.outcome(rows, block, subject.real_random(0))
    except NeverReturned:
        return True
    return False


def answers(subject: Subject, problem: AnyProblem, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows in use, then one law for each draft block until one is not known, or a call never returned.

    request: "walks": whether to add calls with plain numbers; "scales": what the rows of target and draft are
      multiplied by; "hand_in": whether a generator is handed in where it is optional; "only": the draft blocks, in
      place of all; "paths", "every_id": of a wide problem as of ``WideRows``; "lines": whether to add the line of each
      decision, of a small problem.
    """
    of_wide = {"most_paths": request["paths"], "every_id": request.get("every_id", False)}
    rows = _rows(problem, subject, request["scales"], **of_wide)
    wide = not isinstance(problem, Problem)
    seen = subject.array == "torch" and (wide or subject.dtype != "float64")
    arithmetic = Arithmetic(subject.dtype) if seen else None
    subject.exploration.arithmetic = arithmetic
    subject.outside.begin(problem.vocabulary if tuple(request["scales"]) == (1.0, 1.0) else 0)
    yield from rows.answers()
    walks: list[Walk] | None = [] if request["walks"] else None
    decisions = subject.exploration.decisions = [] if request.get("lines") else None
    blocks = rows.blocks() if request["only"] is None else map(tuple, request["only"])
    for number, block in enumerate(blocks):
        generator = subject.real_random(0) if request["hand_in"] else None
        try:
            call = functools.partial(subject.outcome, rows, block, generator)
            *before, law = rows.law(call, subject.exploration, block, number, walks)
        except NeverReturned as late:
            known = {"never_returned": str(late)}
            if wide and not _never_returns(subject, rows, block):
                known = {**UNKNOWN, "neutral": False, "reason": f"{SLOW} {late}", "findings": {}}
            yield {"block": list(block), **known}
            break
        yield from before
        more = {} if walks is None else {"walks": [walk.encoded() for walk in walks]}
        if decisions is not None:
            more["decisions"], decisions[:] = [*decisions], []
        yield {**law, "block": list(block)} | more
        if law["law"] is None:
            break
    subject.exploration.decisions = None
    subject.findings |= subject.outside.finding
    yield {"findings": subject.findings} | ({"arithmetic": arithmetic.answer()} if arithmetic else {})


def samples(subject: Subject, problem: AnyProblem, count: int, seed: Sequence[int]) -> Counter[Outcome]:
    """Count the outcomes of calls with real random numbers, the draft block drawn afresh each time."""
    rows = _rows(problem, subject)
    drawn = rows.drawing()
    words = np.random.SeedSequence(seed).generate_state(40).reshape(5, 8)  # 256 bits for each generator
    seeds = [int.from_bytes(row.tobytes(), "little") for row in words]
    draw = random.Random(seeds[0])
    random.seed(seeds[1])
    np.random.seed(words[2])
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seeds[3] % 2**64)
    generator = subject.real_random(seeds[4])  # a stream of its own
    return Counter(subject.outcome(rows, drawn(draw), generator) for _ in range(count))


def again(subject: Subject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Make the calls of the request in their order, with plain numbers, and yield their outcomes."""
    rows = [rows_for(problem, subject) for problem in request["problems"]]
    calls = request["calls"]
    for start in range(0, len(calls), CALLS_PER_ANSWER):
        walks = []
        for k, block, *walk in calls[start : start + CALLS_PER_ANSWER]:
            call = functools.partial(subject.outcome, rows[k], tuple(block), subject.real_random(0))
            walks.append(walked(call, subject.exploration, *walk).encoded())
        yield {"walks": walks}


def kept(subject: Subject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what changes with each repetition of one of the calls, or of all in turn."""
    (problem,) = request["problems"]
    rows = rows_for(problem, subject)

    def repeat(calls: Sequence[Any]) -> None:
        for block, *walk in calls:
            call = functools.partial(subject.outcome, rows, tuple(block), subject.real_random(0))
            walked(call, subject.exploration, *walk)

    calls = request["calls"]
    repetitions = [functools.partial(repeat, some) for some in (*([one] for one in calls[: request["alone"]]), calls)]
    yield {"kept": changing(subject.called, repetitions)}


def surroundings(subject: Subject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what calls have asked of their surroundings, and how many were made."""
    reads = subject.exploration.reads.values()
    yield {"reads": [read._asdict() for read in reads], "calls": subject.calls}
