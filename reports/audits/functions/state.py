"""Does a function keep state, or depend on its surroundings? Then no law holds for the calls that were not made.

The opponent is honest but careless (``docs/state.md``). The same calls are made again, with the same inputs and the
same random numbers: on twins that share draft tokens but not rows, on all draft blocks of a problem of few paths, and
on one block or tree of each other size. ``CHECKS`` says where, and what is compared there.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

from ....models.battery import drawn
from ....models.companions import on_a_tie
from ....models.errors import RunFailed
from ....models.law import Prefix
from ....models.related import twins
from ....proofs.audit_claims import refuted
from ....proofs.interception import reads
from ....proofs.interception.outcomes import Raised, Walk
from ....proofs.laws.small_law import Measurement
from ....verifiers.trees.draft_tree import TOP
from .differences import Difference, asked, described_call, shown_by, some_of
from .driven_state import withdraw_for_driven_state
from .fresh_process import STAGE, Elsewhere, FreshProcess, Repeated, Variants, flipped, measured_again
from .session import FunctionSession, of_each_size, size_drafted

MOST_PATHS = 24
"""Paths of the problem whose twins are made, at most, if there is a choice: the more, the more is compared."""

MOST_ORIGINALS = 3
"""Problems whose twins are made, one after the other, until all of one have a law."""

MOST_CALLS = 600
"""Calls on twins in turn."""

MOST_REPEATED = 60
"""Calls of one problem that are repeated again and again."""

SHARE = 0.85
"""Share of the audit's processor time, if it is limited, after which nothing more is repeated."""

REPEATED_LAWS = 2 * 7
"""Laws that are measured again for one problem: itself and its twins, here and in a fresh process."""

TWINS_OF_LARGE = "nearer", "other-target"
"""Twins of problems of which one draft block or tree is examined: one with the same rounded rows, one with others."""

ALONE = drawn(2, 2, "generic")
"""The problem that is repeated where all those of the audit are wide."""


@dataclass
class Repetition:
    """A set of laws to compare: of each original in the audit, and of it and its twins when measured again.

    fresh: the process in other surroundings.
    reads: what calls have asked of their surroundings by now. calls: how many were made.
    """

    session: FunctionSession
    groups: list[tuple[Measurement, list[Repeated]]]
    fresh: FreshProcess
    reads: list[reads.Read]
    calls: int


class Examined(NamedTuple):
    """A reason for withdrawing the laws (None: they stand), and whether another problem could tell more."""

    reason: str | None
    lawless: bool = False


def begun_elsewhere(session: FunctionSession, first: Measurement) -> Elsewhere | None:
    """Begin the process that ``withdraw_for_state`` will ask, if it may run beside others.

    first: the audit's first law. None where none is asked, or the process of the audit has ended, which its next
    problem shows.
    """
    if session.driven:
        return None
    try:
        process = Elsewhere(session, flipped(_reads_of(session)[0]), first.problem)
    except RunFailed:
        return None
    if session.jobs > 1 and session.dtype == session.subject.dtypes[0]:
        process.begin()
    return process


def withdraw_for_state(
    session: FunctionSession, laws: list[Measurement], ahead: Elsewhere | None = None
) -> list[Measurement]:
    """Withdraw the laws if they hold for the calls of this audit alone. Findings go to the report.

    ahead: a process that was begun for it.

    Laws of twins are added. A twin's law that is not lossless after the calls that were made stays: it is what the
    function did.
    """
    if session.driven:
        return withdraw_for_driven_state(session, laws)
    laws = [*laws]
    known = [m for m in laws if m.known]
    if session.sandbox.ended or "exact" not in session.settings.levels or (session.problems and not known):
        return laws
    session.settings.progress(STAGE, 0, 1)
    problem, found = ALONE, Examined(None)
    try:
        for original in _originals(session, known) or [session.measure(ALONE)]:
            problem = original.problem
            some = _telling(original, MOST_PATHS) if original.paths > MOST_PATHS else None
            found = _examined(session, laws, known, original, some, ahead)
            if found.reason and some:  # the laws of its twins as a whole may refute it
                found = _examined(session, laws, known, original, None, ahead)
            if not found.lawless:
                break
    except RunFailed as failure:
        found = Examined(session.failed(failure, f"on problem {problem.name}, repeated"))
        if failure.kind != "timeout":
            return laws
    session.withheld = reason = found.reason
    if not reason:
        return laws
    return [m if m.problem.name in session.replays and refuted(m, "lossless") else m.withdrawn(reason) for m in laws]


def why_reads_withdraw(session: FunctionSession) -> str | None:
    """Return why what calls have asked by now withdraws the laws; None if they asked nothing. Raises: RunFailed."""
    difference = asked(_reads_of(session)[0])
    return difference and _noticed(session, difference)


def _noticed(session: FunctionSession, difference: Difference) -> str:
    """Put a finding into the report, and return the reason for withdrawing the laws."""
    shown: dict[str, Any] = {"calls": difference.calls} if difference.calls else {}
    if difference.problems is not None:
        shown["replay"] = session.replay_of(difference.problems)
    if difference.kind:
        session.report.notice({difference.kind: difference.reason}, **shown)
    return difference.reason


def _reads_of(session: FunctionSession) -> tuple[list[reads.Read], int]:
    about = session.sandbox.surroundings()
    return [*dict.fromkeys([*(reads.Read(**read) for read in about["reads"]), *session.reads])], about["calls"]


def _originals(session: FunctionSession, known: Sequence[Measurement]) -> list[Measurement]:
    """Pick problems with enough paths to show state, yet few enough to replay. The later ones are fallbacks.

    If all have too many, take the one of the fewest. Take none on a tie of a declared law: its twins are so near that
    arithmetic decides on which side they are.
    """
    known = [m for m in known if not on_a_tie(m.problem)] or known
    most = session.time.left(SHARE) / 2 / REPEATED_LAWS
    few = [m for m in known if m.paths <= MOST_PATHS and session.took.get(m.problem.name, 0.0) <= most]
    if not few:
        return [min(known, key=lambda m: m.paths)] if known else []
    few.sort(key=lambda m: -m.paths)
    count = min(MOST_ORIGINALS, len(few))
    return [few[k * len(few) // count] for k in range(count)]


def _examined(
    session: FunctionSession, laws: list[Measurement], known: Sequence[Measurement], original: Measurement,
    only: list[Prefix] | None, ahead: Elsewhere | None,
) -> Examined:  # fmt: skip
    """Measure a problem and its twins again, and make all checks.

    laws: those of the twins are added. known: the laws of the audit's own problems. only: as in ``Repeated``. ahead: as
    of ``FreshProcess``.
    """
    problem = original.problem
    problems = [problem, *twins(problem)]
    variants = [Variants(original, problems, only), *_other_sizes(session, known, original)]
    first = ahead.first if ahead else original.problem
    with FreshProcess(session, variants, flipped(_reads_of(session)[0]), first, ahead) as fresh:
        here = [measured_again(session, session.sandbox, p, only) for p in problems]
        if only is None:
            laws += [r.measurement for r in here[1:]]
        session.replays |= {p.name: session.replay_of(problems) for p in problems[1:]}
        unknown = _unknown(here)
        if unknown or not here[0].walks:
            text = f"on {problem.name} and its variants, after {original.paths} paths were followed: {unknown}"
            return Examined(text, not any(r.stateful for r in here))
        others = [
            (one.original, [measured_again(session, session.sandbox, p, one.only) for p in one.problems])
            for one in variants[1:]
            if session.time.left(SHARE)
        ]
        groups = [(original, here), *((m, group) for m, group in others if all(r.walks for r in group))]
        for m, group in others:
            stateful = any(r.stateful for r in group)
            if stateful or len(groups) == 1:
                return Examined(f"on {m.problem.name} and its variants: {_unknown(group)}", not stateful)
        repetition = Repetition(session, groups, fresh, *_reads_of(session))
        reasons = [_noticed(session, difference) for check in CHECKS for difference in check.differences(repetition)]
    return Examined(next(iter(reasons), None))


def _other_sizes(session: FunctionSession, known: Sequence[Measurement], original: Measurement) -> list[Variants]:
    """Return one problem of each other size (drafted tokens, gamma), with two twins and its most telling draft block.

    The cheapest come first: they are measured as long as there is time.
    """
    sizes = [m for size, m in of_each_size(known).items() if size[0] and size != size_drafted(original)]
    sizes.sort(key=lambda m: session.took.get(m.problem.name, 0.0) / len(m.blocks))
    return [Variants(m, [m.problem, *twins(m.problem, *TWINS_OF_LARGE)], _telling(m, 1)) for m in sizes]


def _telling(original: Measurement, texts: int) -> list[Prefix] | None:
    """Return the largest draft blocks or trees with the most outcomes, so many together; None for all."""
    if original.problem.tree.how == TOP:
        return None
    most = sorted(original.blocks, key=lambda b: (-len(b), -len(original.blocks[b])))
    emitted = accumulate(len(original.blocks[b]) for b in most)
    return [b for b, so_far in zip(most, emitted) if so_far <= texts] or most[:1]


def _unknown(group: Iterable[Repeated]) -> str | None:
    return next((r.measurement.reason for r in group if not r.measurement.known), None)


def _at_the_end(all_: Repetition) -> Iterator[Difference]:
    """Yield laws that differ from those at the beginning."""
    for original, (repeated, *_) in all_.groups:
        again = repeated.measurement
        blocks = {block: law for block, law in original.blocks.items() if block in again.blocks}
        if not replace(original, blocks=blocks).agrees_with(again):
            reason = f"its distribution on {original.problem.name} differs after {all_.calls:,} calls"
            yield Difference(reason, problems=all_.session.settings.problems)


def _in_turn(all_: Repetition) -> Iterator[Difference]:
    """Yield, for each group, the first interleaved call whose result differs from the same call made alone."""
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
                described_call(problems[before], block_before, shown[i - 1], "the call before"),
                described_call(problems[k], block, shown[i], "then"),
                described_call(problems[k], block, walk, "the same among calls on its own problem"),
            ]
            yield shown_by(f"after a call on {problems[before].name}", calls, problems)


def _elsewhere(all_: Repetition) -> Iterator[Difference]:
    """Yield the first law or call that differs in a fresh process, asked in the opposite order."""
    here = {original.problem.name: group for original, group in all_.groups}
    if difference := all_.fresh.first_difference(here, all_.calls):
        yield difference


def _reading(all_: Repetition) -> Iterator[Difference]:
    """Yield what any call asked of the surroundings."""
    if difference := asked(all_.reads):
        yield difference


def _keeping(all_: Repetition) -> Iterator[Difference]:
    """Yield what changes with every repetition of one call, or of several.

    One call is repeated for each number of tokens that are emitted, so that drafts are rejected at each position and
    accepted, and several on one block after the other.
    """
    kept: set[str] = set()
    for original, (repeated, *_) in all_.groups:
        alone = _of_each_length(repeated.calls)
        of_blocks = [c for b in repeated.walks for c in _of_each_length(c for c in repeated.calls if c[0] == b)]
        some = of_blocks[:: 1 + len(of_blocks) // MOST_REPEATED]
        kept |= {*all_.session.sandbox.kept(original.problem, [*alone, *some], len(alone))}
    if kept:
        after = f"nothing is known of more than {all_.session.sandbox.calls:,} calls"
        yield Difference(f"{some_of(kept)} changes with every repetition of the same calls: {after}")


def _of_each_length(calls: Iterable[tuple[Prefix, Walk]]) -> list[tuple[Prefix, Walk]]:
    """Pick one call for each emitted length and one for each error."""
    came = ((call, call[1].outcome) for call in calls)
    return [*{out.error if isinstance(out, Raised) else len(out): call for call, out in came}.values()]


class StateCheck(NamedTuple):
    """A row of the table in docs/state.md: surroundings in which calls are made again, and what is compared there."""

    surroundings: str
    comparison: str
    differences: Callable[[Repetition], Iterable[Difference]]


CHECKS = (
    StateCheck("the process of the audit, after all its calls", "distributions", _at_the_end),
    StateCheck("the same process, a call on each variant in turn", "calls", _in_turn),
    StateCheck(
        "a fresh process, another clock, host, environment and hash seed, arrays with gaps",
        "distributions and calls",
        _elsewhere,
    ),
    StateCheck("every path, noted once", "what is asked: nothing may be", _reading),
    StateCheck(
        "the same process, calls that reject and accept again and again",
        "what is kept: nothing may change every time",
        _keeping,
    ),
)
"""Checks in the order in which they are made; docs/state.md shows this table."""
