"""Answers of the child process about a driven subject: its law on a problem, samples, the same requests again.

If a generator is keyed by the place in the text, a block that emits n tokens is followed by one whose first place is n
further on. It gets the same numbers at all places from there, and they have to be independent of what was emitted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...models.problem import Problem
from ..interception.harness import NeverReturned
from ..interception.outcomes import Outcome, Raised, encoded
from ..interception.rows_in_use import RowsInUse, rows_for
from ..laws.law import ASKED_AGAIN
from .laws import CONFIRMATIONS, DrivenLaws, NoLaw
from .layout import Layout
from .subjects import DrivenSubject, Request

PLAINLY = {"scales": (1.0, 1.0), "seed": 0}

IN_TURN = 8
"""Largest number of requests on one problem between those on others: no more than a subject takes in one call."""


def answers(subject: DrivenSubject, problem: Problem, request: Mapping[str, Any] = PLAINLY) -> Iterator[dict[str, Any]]:
    """Yield the rows in use, one law for each draft block, and what may have been missed.

    request: "scales": what the rows of target and draft are multiplied by; "seed": seed of the random requests;
      "confirmations": the largest number of them, if it is not the default.
    """
    rows = rows_for(problem, subject, request["scales"])
    subject.outside.begin(problem.vocabulary if tuple(request["scales"]) == (1.0, 1.0) else 0)
    yield from rows.answers()
    reason, laws = (
        None,
        DrivenLaws(subject, problem, rows, request["seed"], request.get("confirmations", CONFIRMATIONS)),
    )
    try:
        if subject.random is None:
            raise NoLaw("it draws its random numbers itself, from a seed")
        laws.find()
    except NoLaw as why:
        reason = str(why)
    except NeverReturned as late:
        yield {"block": list(laws.blocks[0]), "never_returned": str(late)}
        return
    for block in laws.blocks[: 1 if reason else None]:
        outcomes = {} if reason else laws.law(block)
        for outcome in outcomes:
            subject.outside.look_at(() if isinstance(outcome, Raised) else outcome, by_a_call=False)
        law = None if reason else [[encoded(o), str(p)] for o, p in outcomes.items()]
        yield {
            "block": list(block), "law": law, "exactness": "driven",
            "resolution": 0.0 if reason else laws.laws[block].resolution,
            "paths": 0 if reason else laws.paths(block), "reason": reason,
            "coarsest": 0 if reason else laws.coarsest(block), "findings": {},
        }  # fmt: skip
    subject.findings |= subject.outside.finding
    again = None if reason else asked_again(laws)
    yield {
        "findings": subject.findings | ({ASKED_AGAIN: again} if again else {}),
        "missed": laws.missed,
        "confirmations": laws.confirmations,
        "numbers": {} if reason else laws.numbers(),
    }


def random_requests(
    subject: DrivenSubject, problem: Problem, count: int, seed: Sequence[int]
) -> tuple[RowsInUse, list[Request]]:
    """Draw requests with draft blocks and numbers at random."""
    rows = rows_for(problem, subject)
    _, draft = rows.in_use()
    blocks = list(rows.blocks())
    weights = np.array([rows.drafted(block, draft) for block in blocks])
    generator = np.random.default_rng(list(seed))
    layout = Layout(list(subject.random or ()), problem, subject.dtype)
    chosen = generator.choice(len(blocks), count, p=weights / weights.sum())
    seeds = generator.integers(0, 2**53, count)
    points = layout.drawn(generator, count)
    return rows, [Request(blocks[k], layout, point, int(s)) for k, point, s in zip(chosen, points, seeds)]


def samples(subject: DrivenSubject, problem: Problem, count: int, seed: Sequence[int]) -> Counter[Outcome]:
    """Count the outcomes of requests with draft blocks and numbers at random."""
    return Counter(subject.outcomes(*random_requests(subject, problem, count, seed)))


def repeated(subject: DrivenSubject, problems: Sequence[Problem], count: int, backwards: bool) -> list[list[Outcome]]:
    """Return the outcomes of the same random requests on each problem, asked in turn, or one problem after the other
    and backwards."""
    drawn = [random_requests(subject, problem, count, [count]) for problem in problems]
    if backwards:
        return [subject.outcomes(rows, requests[::-1])[::-1] for rows, requests in drawn]
    outcomes: list[list[Outcome]] = [[] for _ in problems]
    at_once = count if len(problems) == 1 else min(subject.batch, IN_TURN)
    for start in range(0, count, at_once):
        for known, (rows, requests) in zip(outcomes, drawn):
            known += subject.outcomes(rows, requests[start : start + at_once])
    return outcomes


FRESH = 1e-6
"""Largest deviation of a fresh number, times the probability of the text: the grain of thresholds."""


def asked_again(laws: DrivenLaws) -> str | None:
    """Return the number that is furthest from a fresh one given a text, in words; None if all are fresh.

    It is the maximum over texts, keys behind them and thresholds t of Pr(text) |Pr(U <= t | text) - Pr(U <= t)|, over
    all draft blocks. A key that no block asks for so many places before never comes again.
    Guarantee: as of the laws, which it is read off; one number at a time, without those of rows that may race.
    """
    firsts = {one.name: one.first for one in laws.subject.random or () if one.first is not None}
    if not firsts:
        return None
    asked, texts = defaultdict[Any, set[int]](set), defaultdict[Any, float](float)
    intervals: dict[Any, list[tuple[int, int, float]]] = defaultdict(list)
    _, draft = laws.rows.in_use()
    for block, known in laws.laws.items():
        drafted, axes = float(laws.rows.drafted(block, draft)), {*known.layout.axes}
        keys = [(n, *key, axis) for n in firsts for key, axis in known.layout.keyed[n].items() if axis in axes]
        for name, seed, position, _ in keys:
            asked[name, seed].add(position)
            if position < firsts[name]:
                return f"{name} is asked for position {position}, before the first, {firsts[name]}"
        for emitted, box, exactly in laws.boxes(block):
            if isinstance(emitted, Raised):
                continue
            mass = drafted * float(exactly)
            texts[emitted] += mass
            for name, seed, position, axis in keys:
                if position >= firsts[name] + len(emitted):
                    intervals[name, seed, position, emitted].append((box.low[axis], box.high[axis], mass))
    worst, said = FRESH, None
    for (name, seed, position, emitted), parts in intervals.items():
        if not texts[emitted] or min(asked[name, seed]) > position - len(emitted):
            continue
        number, total = laws.plain.kinds[name], texts[emitted]
        for at in {at for low, high, _ in parts for at in (low - 1, high)} - {number.first - 1, number.last}:
            fresh = float(number.mass(number.first, at))
            off = sum(
                mass * (float(number.mass(low, min(at, high)) / number.mass(low, high)) if low <= at else 0.0)
                - mass * fresh for low, high, mass in parts
            )  # fmt: skip
            if abs(off) > worst:
                worst, said = abs(off), (
                    f"{name} at position {position} is asked for again by the block behind {emitted}, and is no fresh "
                    f"number there: at most {number.value(at):.6g} with probability {fresh + off / total:.6g}, not "
                    f"{fresh:.6g}"
                )  # fmt: skip
    return said
