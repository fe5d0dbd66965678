"""Does a function keep state, or depend on its surroundings? Then no law holds for the calls that were not made.

The opponent is honest but careless (``docs/state.md``). ``CHECKS`` has a row for each of the surroundings in which its
calls are made again, with the same inputs and the same random numbers, and what is compared there: on twins that share
draft tokens but not rows, on all draft blocks of a problem of few paths, and on one block or tree of each other size.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple

from ....models.battery import drawn
from ....models.companions import on_a_tie
from ....models.errors import RunFailed
from ....models.law import Prefix, prefix_key
from ....models.problem import AnyProblem, Problem, as_json
from ....models.related import twins
from ....proofs.audit_claims import refuted
from ....proofs.interception.outcomes import Raised, Walk, decoded_walk
from ....proofs.laws.small_law import Measurement
from ....proofs.laws.small_measurement import measured
from ....proofs.sandbox import Sandbox
from ....verifiers.trees.draft_tree import TOP
from ..sandboxed import probe_problems, sandbox_of
from .driven_state import withdraw_for_driven_state
from .session import FunctionSession, of_each_size, size_drafted

MOST_PATHS = 24
"""Paths of the problem whose twins are made, at most, if there is a choice: the more, the more is compared."""

MOST_ORIGINALS = 3
"""Problems whose twins are made, one after the other, until all of one have a law."""

MOST_CALLS, MOST_REPEATED = 600, 60
"""Calls in turn; calls of one problem that are repeated again and again."""

SHARE, REPEATED_LAWS, OF_ONE_BLOCK = 0.85, 2 * 7, 2 * 3
"""Of the audit's processor time, if it is limited, when all this has to be done; how often the law of the problem with
all its twins is found, here and in a fresh process, and of another problem on one block."""

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


class Difference(NamedTuple):
    """What was seen, as a finding of this kind, none where it is empty. calls: that show it; problems: of the command
    that shows it again."""

    reason: str
    kind: str = "state"
    calls: Sequence[dict[str, Any]] = ()
    problems: Sequence[AnyProblem] | None = None


@dataclass
class Repetition:
    """What is compared: each problem with its law in the audit and what was measured again of it and its twins.

    reads, calls: what calls have asked of their surroundings by now, and how many were made.
    """

    session: FunctionSession
    groups: list[tuple[Measurement, list[Repeated]]]
    reads: list[dict[str, Any]]
    calls: int


def _noticed(session: FunctionSession, difference: Difference) -> str:
    """Put a finding into the report; why laws are withdrawn."""
    shown: dict[str, Any] = {"calls": difference.calls} if difference.calls else {}
    if difference.problems is not None:
        shown["replay"] = session.replay_of(difference.problems)
    if difference.kind:
        session.report.notice({difference.kind: difference.reason}, **shown)
    return difference.reason


def withdraw_for_state(session: FunctionSession, laws: list[Measurement]) -> list[Measurement]:
    """The laws, withdrawn if they hold for the calls of this audit alone. Findings go to the report.

    Twins of a problem are measured beside it, and their laws are added. Where a twin's law, after the calls
    that were made, is not lossless, that stays: it is what the function did.
    """
    if session.driven:
        return withdraw_for_driven_state(session, laws)
    laws = [*laws]
    known = [m for m in laws if m.known]
    if session.sandbox.ended or "exact" not in session.settings.levels or (session.problems and not known):
        return laws
    session.settings.progress("calling it again in other surroundings", 0, 1)
    problem, reason = ALONE, None
    try:

        def affordable(m: Measurement) -> bool:
            return REPEATED_LAWS * session.took.get(m.problem.name, 0.0) <= session.time.left(SHARE) / 2

        for original in _originals(known, affordable) or [session.measure(ALONE)]:
            problem = original.problem
            some = _telling(original, MOST_PATHS) if original.paths > MOST_PATHS else None
            reason, lawless = _examined(session, laws, known, original, some)
            if reason and some:  # the laws of its twins as a whole may refute it
                reason, lawless = _examined(session, laws, known, original)
            if not lawless:
                break
        session.withheld = reason
    except RunFailed as failure:
        reason = session.failed(failure, f"on problem {problem.name}, repeated")
        if failure.kind != "timeout":
            return laws
        session.withheld = reason
    if not reason:
        return laws
    return [m if m.problem.name in session.replays and refuted(m, "lossless") else m.withdrawn(reason) for m in laws]


def why_reads_withdraw(session: FunctionSession) -> str | None:
    """Why laws are withdrawn for what calls have asked of their surroundings by now, if they have. Raises:
    RunFailed."""
    difference = _asked(session.sandbox.surroundings()["reads"])
    return difference and _noticed(session, difference)


def _originals(known: Sequence[Measurement], affordable: Callable[[Measurement], bool]) -> list[Measurement]:
    """Of many paths, but not too many; those after the first for functions that have no law on its twins.

    Where all have too many, the one of the fewest, of which some draft blocks are examined.

    None on a tie of a declared law: its twins are so near that arithmetic decides on which side they are.
    """
    known = [m for m in known if not on_a_tie(m.problem)] or known
    few = sorted((m for m in known if m.paths <= MOST_PATHS and affordable(m)), key=lambda m: -m.paths)
    if not few:
        return [min(known, key=lambda m: m.paths)] if known else []
    count = min(MOST_ORIGINALS, len(few))
    return [few[k * len(few) // count] for k in range(count)]


def _examined(
    session: FunctionSession, laws: list[Measurement], known: Sequence[Measurement], original: Measurement,
    only: list[Prefix] | None = None,
) -> tuple[str | None, bool]:  # fmt: skip
    """Why the laws are withdrawn, if they are; whether only because a twin has no law, so that another problem may do.

    laws: those of the twins are added. known: the laws of the audit's own problems. only: as in ``Repeated``.
    """
    problem = original.problem
    problems = [problem, *twins(problem)]
    here = [_repeated(session, session.sandbox, p, only) for p in problems]
    if only is None:
        laws += [r.measurement for r in here[1:]]
    session.replays |= {p.name: session.replay_of(problems) for p in problems[1:]}
    unknown = _unknown(here)
    if unknown or not here[0].walks:
        return f"on {problem.name} and its twins, after {original.paths} paths were followed: {unknown}", not _stateful(
            here
        )
    sizes = _affordable(session, _of_each_other_size(known, original))
    others = [(m, _of_one_block(session, m)) for m in sizes]
    groups = [(original, here), *((m, group) for m, group in others if all(r.walks for r in group))]
    for m, group in others:
        if _stateful(group) or len(groups) == 1:
            return f"on {m.problem.name} and its twins: {_unknown(group)}", not _stateful(group)
    about = session.sandbox.surroundings()
    repetition = Repetition(session, groups, about["reads"], about["calls"])
    reasons = [_noticed(session, difference) for check in CHECKS for difference in check.differences(repetition)]
    return next(iter(reasons), None), False


def _telling(original: Measurement, texts: int) -> list[Prefix] | None:
    """The largest draft blocks or trees on which the most different texts are emitted, of so many together; None for
    all."""
    if original.problem.tree.how == TOP:
        return None
    most = sorted(original.blocks, key=lambda b: (-len(b), -len(original.blocks[b])))
    emitted = accumulate(len(original.blocks[b]) for b in most)
    return [b for b, so_far in zip(most, emitted) if so_far <= texts] or most[:1]


def _of_each_other_size(known: Sequence[Measurement], original: Measurement) -> list[Measurement]:
    """One of each size (drafted tokens, gamma) but the original's, with rows that depend on the text where there is
    one."""
    return [m for size, m in of_each_size(known).items() if size[0] and size != size_drafted(original)]


def _affordable(session: FunctionSession, others: Iterable[Measurement]) -> list[Measurement]:
    """Those whose repetition there is time for, the cheapest first, where that is limited."""
    left, chosen = session.time.left(SHARE), []
    if left == math.inf:
        return [*others]
    cost = {id(m): OF_ONE_BLOCK * session.took.get(m.problem.name, 0.0) / len(m.blocks) for m in others}
    for m in sorted(others, key=lambda m: cost[id(m)]):
        left -= cost[id(m)]
        chosen += [m] if left > 0 else []
    return chosen


def _of_one_block(session: FunctionSession, original: Measurement) -> list[Repeated]:
    """A problem and two twins, on the most telling draft block or tree."""
    problem, only = original.problem, _telling(original, 1)
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
    law = measured(problem, session.dtype, answers, session.subject.modifies_target, session.subject.own_rule)
    return Repeated(law.on_lattice(session.settings.uniform_bits), walks, only)


def _kept(answers: Iterable[Mapping[str, Any]], walks: dict[Prefix, list[Walk]]) -> Iterator[Mapping[str, Any]]:
    for answer in answers:
        if "walks" in answer:
            walks[tuple(answer["block"])] = [*map(decoded_walk, answer["walks"])]
        yield answer


def _at_the_end(all_: Repetition) -> Iterator[Difference]:
    """Laws that are others than at the beginning."""
    for original, (repeated, *_) in all_.groups:
        again = repeated.measurement
        blocks = {block: law for block, law in original.blocks.items() if block in again.blocks}
        if not replace(original, blocks=blocks).agrees_with(again):
            reason = f"its law on {original.problem.name} is another one after {all_.calls:,} calls"
            yield Difference(reason, problems=all_.session.settings.problems)


def _in_turn(all_: Repetition) -> Iterator[Difference]:
    """Of each group, the first call of the twins in turn that does not show what it showed among those of its own
    problem."""
    for _, group in all_.groups:
        problems = [r.measurement.problem for r in group]
        turns: list[tuple[int, Prefix, Walk]] = []
        for block in group[0].walks:
            sides = [(k, r.walks.get(block, [])) for k, r in enumerate(group)]
            longest = max(len(walks) for _, walks in sides)
            turns += [(k, block, walks[i % len(walks)]) for i in range(longest) for k, walks in sides if walks]
        step = max(1, len(turns) // MOST_CALLS)
        turns = [turn for i, turn in enumerate(turns) if (i // len(problems)) % step == 0]
        shown = all_.session.sandbox.again(problems, turns)
        differing = (i for i, (turn, now) in enumerate(zip(turns, shown)) if turn[2].shown != now.shown)
        if (i := next(differing, None)) is not None:
            (before, block_before, _), (k, block, walk) = turns[i - 1], turns[i]
            calls = [
                _call(problems[before], block_before, shown[i - 1], "the call before"),
                _call(problems[k], block, shown[i], "then"),
                _call(problems[k], block, walk, "the same among calls on its own problem"),
            ]
            yield _shown(f"after a call on {problems[before].name}", calls, problems)


def _elsewhere(all_: Repetition) -> Iterator[Difference]:
    """The first law or call that is another one in a fresh process, asked in the opposite order; in one precision."""
    session, settings = all_.session, all_.session.settings
    if session.dtype != session.subject.dtypes[0]:
        return
    given = session.subject.handed_over
    given = given if given and given["script"] else None  # else imported anew: what it reads then is read again
    with sandbox_of(
        session.subject, session.dtype, array=session.sandbox.array, timeout=settings.timeout, memory=settings.memory,
        time=session.time, handed_over=given, elsewhere=_flipped({r["key"] for r in all_.reads if r["key"]}),
    ) as sandbox:  # fmt: skip
        sandbox.start(probe_problems([all_.groups[0][1][1].measurement.problem]))
        for _, group in reversed(all_.groups):
            if difference := _there(session, sandbox, group, all_.calls):
                yield difference
                return


def _there(session: FunctionSession, sandbox: Sandbox, here: list[Repeated], made: int) -> Difference | None:
    """What differs in that process on one problem and its twins. made: calls in the process of the audit."""
    problems = [r.measurement.problem for r in here]
    for k in (*range(1, len(problems)), 0):
        there = _repeated(session, sandbox, problems[k], here[k].only)
        if there.measurement.known and here[k].measurement.agrees_with(there.measurement):
            continue
        turns = [(k, block, walk) for block, walks in here[k].walks.items() for walk in walks]
        for (_, block, walk), now in zip(turns, sandbox.again(problems, turns)):
            if walk.shown != now.shown:
                when = "in a fresh process, with another clock, {}environment and layout of arrays"
                calls = [
                    _call(problems[k], block, walk, f"after {made:,} other calls"),
                    _call(problems[k], block, now, when.format("host, ")),
                ]
                return _shown(when.format(""), calls, problems)
        if not there.measurement.known and not _stateful([there]):
            return Difference(f"in a fresh process it has no law on {problems[k].name}: {there.measurement.reason}", "")
        return Difference(f"in a fresh process its law on {problems[k].name} is another one", problems=problems)
    return None


def _flipped(variables: set[str]) -> dict[str, str | None]:
    """Other values of variables of the environment that were read, unless all were: none where one is set."""
    wanted = variables - NEEDED if len(variables) <= MOST_VARIABLES else ()
    return {variable: None if variable in os.environ else "1" for variable in wanted}


def _shown(when: str, calls: list[dict[str, Any]], problems: list[Problem]) -> Difference:
    one, other = calls[-2:]
    what = "emitted" if one["emitted"] != other["emitted"] else "weights"
    reason = (
        f"{when} the same inputs and random numbers give another result: on {one['problem']['name']}, draft block "
        f"{one['draft_block']}, random numbers {one['numbers']}: {what} {one[what]} and {other[what]}"
    )
    return Difference(reason, calls=calls, problems=problems)


def _call(problem: Problem, block: Prefix, walk: Walk, when: str) -> dict[str, Any]:
    emitted = prefix_key(walk.outcome) if type(walk.outcome) is tuple else str(walk.outcome)
    return {
        "when": when, "problem": as_json(problem), "draft_block": prefix_key(block), "numbers": walk.numbers,
        "emitted": emitted, "weights": walk.weights,
    }  # fmt: skip


def _few(texts: Iterable[str]) -> str:
    first, *more = sorted(set(texts))
    return ", ".join([first, *more[:2]]) + (f" and {len(more) - 2} more" if len(more) > 2 else "")


def _asked(reads: list[dict[str, Any]]) -> Difference | None:
    if not reads:
        return None
    names = [f"{r['what']}[{r['key']!r}]" if r["key"] else r["what"] for r in reads]
    texts = _few([f"{r['of']} ({name} at {r['place']})" for name, r in zip(names, reads)])
    return Difference(
        f"during a call it asks {texts}: what it does elsewhere, or at another time, no law says", "surroundings"
    )


def _reading(all_: Repetition) -> Iterator[Difference]:
    """What was asked of the surroundings in any call that was watched."""
    if difference := _asked(all_.reads):
        yield difference


def _keeping(all_: Repetition) -> Iterator[Difference]:
    """What changes with every repetition of one call, or of several: with each number of tokens that are emitted, so
    that drafts are rejected at each position and accepted, on one block after the other."""
    kept: set[str] = set()
    for original, (repeated, *_) in all_.groups:
        calls = [(block, walk) for block, walks in repeated.walks.items() for walk in walks]
        alone = _of_each_length(calls)
        of_blocks = [call for block in repeated.walks for call in _of_each_length(c for c in calls if c[0] == block)]
        some = of_blocks[:: 1 + len(of_blocks) // MOST_REPEATED]
        kept |= {*all_.session.sandbox.kept(original.problem, [*alone, *some], len(alone))}
    if kept:
        after = f"what it does after more than {all_.session.sandbox.calls:,} calls no law says"
        yield Difference(f"{_few(kept)} changes with every repetition of the same calls: {after}")


def _of_each_length(calls: Iterable[tuple[Prefix, Walk]]) -> list[tuple[Prefix, Walk]]:
    """Of these calls one that emits each number of tokens, and one that raises each error."""
    came = ((call, call[1].outcome) for call in calls)
    return [*{out.error if isinstance(out, Raised) else len(out): call for call, out in came}.values()]


class StateCheck(NamedTuple):
    """Surroundings in which calls are made again, and what is compared there."""

    surroundings: str
    comparison: str
    differences: Callable[[Repetition], Iterable[Difference]]


CHECKS = (
    StateCheck("the process of the audit, after all its calls", "laws", _at_the_end),
    StateCheck("the same process, a call on each twin in turn", "calls", _in_turn),
    StateCheck(
        "a fresh process, another clock, host, environment and hash seed, arrays with gaps",
        "laws and calls",
        _elsewhere,
    ),
    StateCheck("every path, watched once", "what is asked: nothing may be", _reading),
    StateCheck(
        "the same process, calls that reject and accept again and again",
        "what is kept: nothing may change every time",
        _keeping,
    ),
)
"""docs/state.md shows this table."""
