"""Does a function keep state, or mind its surroundings? Then no law holds for the calls that were not made.

The same calls, with the same inputs and the same random numbers, are made in the process in which the whole audit ran and
in a fresh one, whose clock, host and environment are others, with arrays that are not contiguous; on twins that share
draft tokens but not rows, in another order and one after the other in turn: on all draft blocks of a problem of few paths,
and on one block or tree of each other size. What differs is a finding with the calls that show it. What was read of the
surroundings, and what changes with every repetition, withdraws the laws whether or not a difference was seen: a counter
may wait for more calls than an audit can make.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....models.battery import drawn
from ....models.errors import RunFailed
from ....models.law import Prefix, prefix_key
from ....models.problem import Problem, as_json
from ....models.rationals import as_float
from ....models.related import twins
from ....proofs.audit_claims import lossless
from ....proofs.interception.outcomes import Walk, decoded_walk
from ....proofs.laws import total_variation
from ....proofs.measurement import Measurement, measured
from ....proofs.sandbox import Sandbox
from ....verifiers.trees.draft_tree import TOP
from .driven_state import withdraw_for_driven_state
from .session import FunctionSession, of_each_size, probe_problems, size_drafted

MOST_PATHS = 24
"""Paths of the problem whose twins are made, at most, if there is a choice: the more, the more is compared."""

MOST_ORIGINALS = 3
"""Problems whose twins are made, one after the other, until all of one have a law."""

MOST_CALLS = 600
"""Calls in turn."""

TWINS_OF_LARGE = "nearer", "other-target"
"""Twins of problems of which one draft block or tree is examined: its rows rounded are the same; they are others."""

ALONE = drawn(2, 2, "generic")
"""The problem that is repeated where all those of the audit are wide."""

MOST_VARIABLES = 8
NEEDED = {"PATH", "HOME", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV"}
"""Variables of the environment that a process needs in order to start."""


@dataclass
class Repeated:
    """A problem's law in one process, and the calls with plain numbers that it was confirmed by.

    only: the draft blocks of which that is so; None for all.
    """

    measurement: Measurement
    walks: dict[Prefix, list[Walk]] = field(default_factory=dict)
    only: list[Prefix] | None = None


def withdraw_for_state(session: FunctionSession) -> None:
    """Withdraw the measured laws if they hold for the calls of this audit alone. Findings go to the report.

    Twins of a problem are measured beside it and become measurements of the session. Where a twin's law, after the calls
    that were made, is not lossless, that stays: it is what the function did.
    """
    if session.driven:
        withdraw_for_driven_state(session)
        return
    known = [m for m in session.measurements if m.known]
    if session.sandbox.ended or "exact" not in session.settings.levels or (session.problems and not known):
        return
    session.settings.progress("calling it again in other surroundings", 0, 1)
    problem, reason = ALONE, None
    try:
        for original in _originals(known) or [session.measure(ALONE)]:
            problem = original.problem
            reason, lawless = _examined(session, known, original)
            if not lawless:
                break
        session.withheld = reason
    except RunFailed as failure:
        reason = session.failed(failure, f"on problem {problem.name}, repeated")
        if failure.kind != "timeout":
            return
        session.withheld = reason
    for measurement in session.measurements if reason else ():
        if measurement.known and not (measurement.problem.name in session.replays and lossless(measurement).refuted):
            measurement.reason = reason


def why_reads_withdraw(session: FunctionSession) -> str | None:
    """Why laws are withdrawn for what calls have asked of their surroundings by now, if they have. Raises: RunFailed."""
    return _of_reads(session, session.sandbox.surroundings()["reads"])


def _originals(known: Sequence[Measurement]) -> list[Measurement]:
    """Of many paths, but not too many; those after the first for functions that have no law on its twins."""
    few = sorted((m for m in known if m.paths <= MOST_PATHS), key=lambda m: -m.paths)
    if not few:
        return [min(known, key=lambda m: m.paths)] if known else []
    count = min(MOST_ORIGINALS, len(few))
    return [few[k * len(few) // count] for k in range(count)]


def _examined(session: FunctionSession, known: Sequence[Measurement], original: Measurement) -> tuple[str | None, bool]:
    """Why the laws are withdrawn, if they are; whether only because a twin has no law, so that another problem may do.

    known: the laws of the audit's own problems.
    """
    problem = original.problem
    problems = [problem, *twins(problem)]
    here = [_repeated(session, session.sandbox, p) for p in problems]
    session.measurements += [r.measurement for r in here[1:]]
    session.replays |= {p.name: session.replay_of(problems) for p in problems[1:]}
    unknown = _unknown(here)
    if unknown or not here[0].walks:
        return f"on {problem.name} and its twins, after {original.paths} paths were followed: {unknown}", not _stateful(
            here
        )
    others = [(m, _of_one_block(session, m)) for m in _of_each_other_size(known, original)]
    groups = [(original, here), *((m, group) for m, group in others if all(r.walks for r in group))]
    for m, group in others:
        if _stateful(group) or len(groups) == 1:
            return f"on {m.problem.name} and its twins: {_unknown(group)}", not _stateful(group)
    kept = session.sandbox.kept(problem, *_one(here[0]))
    about = session.sandbox.surroundings()
    first = session.dtype == session.subject.dtypes[0]
    reasons = [
        *(_otherwise_at_the_end(session, m, group[0], about["calls"]) for m, group in groups),
        *(_otherwise_in_turn(session, group) for _, group in groups),
        _otherwise_elsewhere(session, [group for _, group in groups], about) if first else None,
        _of_reads(session, about["reads"]),
        _of_what_is_kept(session, kept),
    ]
    return next(filter(None, reasons), None), False


def _of_each_other_size(known: Sequence[Measurement], original: Measurement) -> list[Measurement]:
    """One of each size (drafted tokens, gamma) but the original's, with rows that depend on the text where there is one."""
    return [m for size, m in of_each_size(known).items() if size[0] and size != size_drafted(original)]


def _of_one_block(session: FunctionSession, original: Measurement) -> list[Repeated]:
    """A problem and two twins, on the largest draft block or tree on which the most different texts are emitted."""
    problem = original.problem
    only = None if problem.tree.how == TOP else [max(original.blocks, key=lambda b: (len(b), len(original.blocks[b])))]
    return [_repeated(session, session.sandbox, p, only) for p in (problem, *twins(problem, *TWINS_OF_LARGE))]


def _unknown(group: Iterable[Repeated]) -> str | None:
    return next((r.measurement.reason for r in group if not r.measurement.known), None)


def _stateful(group: Iterable[Repeated]) -> bool:
    return any("state" in r.measurement.findings for r in group)


def _repeated(
    session: FunctionSession, sandbox: Sandbox, problem: Problem, only: list[Prefix] | None = None
) -> Repeated:
    walks: dict[Prefix, list[Walk]] = {}
    answers = _kept(sandbox.law(problem, walks=True, only=only), walks)
    return Repeated(measured(problem, session.dtype, answers, session.subject.modifies_target), walks, only)


def _kept(answers: Iterable[Mapping[str, Any]], walks: dict[Prefix, list[Walk]]) -> Iterator[Mapping[str, Any]]:
    for answer in answers:
        if "walks" in answer:
            walks[tuple(answer["block"])] = [*map(decoded_walk, answer["walks"])]
        yield answer


def _one(repeated: Repeated) -> tuple[Prefix, Walk]:
    block, walks = next(iter(repeated.walks.items()))
    return block, walks[0]


def _same(one: Measurement, other: Measurement) -> bool:
    """Whether the laws are the same for each draft block, up to rounding."""
    nothing: dict[Any, Any] = {}
    return all(
        as_float(total_variation(one.blocks.get(b, nothing), other.blocks.get(b, nothing))) <= one.tolerance
        for b in one.blocks.keys() | other.blocks.keys()
    )


def _otherwise_at_the_end(
    session: FunctionSession, original: Measurement, repeated: Repeated, calls: int
) -> str | None:
    again = repeated.measurement
    if _same(replace(original, blocks={b: law for b, law in original.blocks.items() if b in again.blocks}), again):
        return None
    reason = f"its law on {original.problem.name} is another one after {calls:,} calls"
    session.report.notice({"state": reason}, replay=session.replay_of(session.settings.problems))
    return reason


def _otherwise_in_turn(session: FunctionSession, here: list[Repeated]) -> str | None:
    """Calls of the twins in turn: each has to show what it showed among calls of its own problem."""
    problems = [r.measurement.problem for r in here]
    turns: list[tuple[int, Prefix, Walk]] = []
    for block in here[0].walks:
        sides = [(k, r.walks.get(block, [])) for k, r in enumerate(here)]
        longest = max(len(walks) for _, walks in sides)
        turns += [(k, block, walks[i % len(walks)]) for i in range(longest) for k, walks in sides if walks]
    step = max(1, len(turns) // MOST_CALLS)
    turns = [turn for i, turn in enumerate(turns) if (i // len(problems)) % step == 0]
    shown = session.sandbox.again(problems, turns)
    for i, (turn, now) in enumerate(zip(turns, shown)):
        if turn[2].shown != now.shown:
            before = turns[i - 1]
            calls = [
                _call(problems[before[0]], before[1], shown[i - 1], "the call before"),
                _call(problems[turn[0]], turn[1], now, "then"),
                _call(problems[turn[0]], turn[1], turn[2], "the same among calls on its own problem"),
            ]
            return _shown(session, f"after a call on {problems[before[0]].name}", calls, problems)
    return None


def _otherwise_elsewhere(session: FunctionSession, groups: list[list[Repeated]], about: dict[str, Any]) -> str | None:
    """The same in a fresh process with other surroundings, in the opposite order."""
    subject, settings = session.subject, session.settings
    flipped = _flipped({read["key"] for read in about["reads"] if read["key"]})
    with Sandbox(
        subject.target, session.sandbox.array, session.dtype, timeout=settings.timeout, memory=settings.memory,
        torch=subject.torch, folders=subject.folders, elsewhere=flipped,
    ) as sandbox:  # fmt: skip
        sandbox.start(probe_problems([groups[0][1].measurement.problem]))
        differing = (_otherwise_there(session, sandbox, group, about["calls"]) for group in reversed(groups))
        return next(filter(None, differing), None)


def _otherwise_there(session: FunctionSession, sandbox: Sandbox, here: list[Repeated], made: int) -> str | None:
    """What differs in that process on one problem and its twins. made: calls in the process of the audit."""
    problems = [r.measurement.problem for r in here]
    for k in (*range(1, len(problems)), 0):
        there = _repeated(session, sandbox, problems[k], here[k].only)
        if there.measurement.known and _same(here[k].measurement, there.measurement):
            continue
        turns = [(k, block, walk) for block, walks in here[k].walks.items() for walk in walks]
        for (_, block, walk), now in zip(turns, sandbox.again(problems, turns)):
            if walk.shown != now.shown:
                when = "in a fresh process, with another clock, {}environment and layout of arrays"
                calls = [
                    _call(problems[k], block, walk, f"after {made:,} other calls"),
                    _call(problems[k], block, now, when.format("host, ")),
                ]
                return _shown(session, when.format(""), calls, problems)
        if not there.measurement.known and not _stateful([there]):
            return f"in a fresh process it has no law on {problems[k].name}: {there.measurement.reason}"
        reason = f"in a fresh process its law on {problems[k].name} is another one"
        session.report.notice({"state": reason}, replay=session.replay_of(problems))
        return reason
    return None


def _flipped(variables: set[str]) -> dict[str, str | None]:
    """Other values of variables of the environment that were read, unless all were: none where one is set."""
    wanted = variables - NEEDED if len(variables) <= MOST_VARIABLES else ()
    return {variable: None if variable in os.environ else "1" for variable in wanted}


def _shown(session: FunctionSession, when: str, calls: list[dict[str, Any]], problems: list[Problem]) -> str:
    one, other = calls[-2:]
    what = "emitted" if one["emitted"] != other["emitted"] else "weights"
    reason = (
        f"{when} the same inputs and random numbers give another result: on {one['problem']['name']}, draft block "
        f"{one['draft_block']}, random numbers {one['numbers']}: {what} {one[what]} and {other[what]}"
    )
    session.report.notice({"state": reason}, calls=calls, replay=session.replay_of(problems))
    return reason


def _call(problem: Problem, block: Prefix, walk: Walk, when: str) -> dict[str, Any]:
    emitted = prefix_key(walk.outcome) if type(walk.outcome) is tuple else str(walk.outcome)
    return {
        "when": when, "problem": as_json(problem), "draft_block": prefix_key(block), "numbers": walk.numbers,
        "emitted": emitted, "weights": walk.weights,
    }  # fmt: skip


def _few(texts: Iterable[str]) -> str:
    first, *more = sorted(set(texts))
    return ", ".join([first, *more[:2]]) + (f" and {len(more) - 2} more" if len(more) > 2 else "")


def _of_reads(session: FunctionSession, reads: list[dict[str, Any]]) -> str | None:
    if not reads:
        return None
    names = [f"{r['what']}[{r['key']!r}]" if r["key"] else r["what"] for r in reads]
    texts = _few([f"{r['of']} ({name} at {r['place']})" for name, r in zip(names, reads)])
    reason = f"during a call it asks {texts}: what it does elsewhere, or at another time, no law says"
    session.report.notice({"surroundings": reason})
    return reason


def _of_what_is_kept(session: FunctionSession, kept: list[str]) -> str | None:
    if not kept:
        return None
    reason = (
        f"{_few(kept)} changes with every repetition of the same call: "
        f"what it does after more than {session.sandbox.calls:,} calls no law says"
    )
    session.report.notice({"state": reason})
    return reason
