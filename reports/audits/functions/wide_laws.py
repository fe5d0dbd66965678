"""The wide problems of an audit: laws on long blocks and on rows of a whole vocabulary, samples where there is none."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ....models.errors import RunFailed
from ....models.long_blocks import LENGTHS, LENGTHS_APART, SHORTER, apart, regions, together
from ....models.wide import ALL_CALLED, WideProblem, backwards, exchanged
from ....proofs.audit_claims import judge
from ....proofs.interception.answers import SLOW
from ....proofs.interception.reads import Read
from ....proofs.interception.wide_laws import TOO_MANY
from ....proofs.laws import verdict_rule
from ....proofs.laws.wide_law import WideMeasurement
from ....proofs.laws.wide_measurement import measured_wide
from ....proofs.sandbox import Sandbox
from ....proofs.time_limits import NOT_REACHED
from ....stattests.arguments import ALPHA
from ....verifiers.evidence import REFUTED, Evidence
from ..sandboxed import probe_problems
from .lanes import Lanes, lanes_of, work_of
from .session import NOT_ASKED, FunctionSession
from .state import why_reads_withdraw
from .wide_cells import goodness
from .withdrawal import confirmed_by_real_calls, withdrawn, withdrawn_if_not_repeated

REAL_CALLS = 1000
"""Real calls that the law of a wide problem of at most WIDEST tokens has to survive."""

WIDEST = 40_000
"""Vocabulary up to which wide problems are sampled: calls on larger ones take too long."""

SAMPLED = 20_000_000
"""Calls times tokens up to which samples of a wide problem take seconds."""

TYPICAL = 1000
"""Vocabulary of the problem that is sampled where no law is known of any: wide, and thousands of calls take seconds."""

SHARE = 0.9
"""Share of the audit's processor time, if it is limited, after which no further law is looked for."""

MOST_SAMPLED = 2
MODIFIES = "the distribution that a modified target continues (Lemma 8) is not computed on wide problems"
DRIVEN = "random numbers that are inputs are sent one by one: only small vocabularies are examined"
TREES = "wide problems draft blocks: trees are drawn only over small vocabularies"
GAVE_UP = 3
"""Problems without a law after which the others, wider still, are not tried."""

NOT_TRIED = "not tried, after others without a known distribution"

LONG_BLOCKS = 1e8
"""Work on long blocks, in the unit of ``work_of``."""

MOST_WAYS = 300
"""Ways up to which a block is followed with all its positions decided: 2^8, or gamma + 2 of any gamma, and some."""

LIKELIEST = 8
"""The same where the ways were seen to double with each position. The likeliest ones can refute: that all is
accepted, or nothing is, happens too often where coins are shared or left out, wherever they are."""

EVERY_LENGTH = (*SHORTER, *LENGTHS)

Measure = Callable[[WideProblem, int | None], WideMeasurement]
"""Function that measures a problem's law, given a limit of paths for each draft block."""


class ShownPiece(NamedTuple):
    """A result of a piece: laws, and what calls showed in their process by then.

    reads: what calls asked of their surroundings. calls: how many were made.
    """

    laws: list[WideMeasurement]
    findings: Mapping[str, str] = {}
    reads: Sequence[Read] = ()
    calls: int = 0


class WideLaws:
    """A part of an audit: laws on wide problems, smallest first, of a verifier that the small ones do not refute.

    long_blocks: whether to examine long blocks all positions of which are decided, before them.
    """

    def __init__(self, session: FunctionSession, problems: Sequence[WideProblem], long_blocks: bool = False):
        self.session, self.problems, self.long_blocks = session, problems, long_blocks
        self.laws: list[WideMeasurement] = []
        self.done = 0
        self.samples: list[Evidence] = []
        self.running: Lanes | None = None

    def begin(self) -> None:
        """Begin to measure, beside what is examined before, where several processes may run. Raises: RunFailed."""
        session = self.session
        wanted = self.problems and not self._why_none() and "exact" in session.settings.levels
        if wanted and session.jobs > 1 and not self.running:
            self.running = self._lanes()

    def pause(self) -> None:
        """Begin nothing further until ``run``."""
        if self.running:
            self.running.pause()

    def close(self) -> None:
        """End what was begun."""
        if self.running:
            self.running.close()
            self.running = None

    def run(self) -> None:
        session = self.session
        if not self.problems or self._refuted_before():
            return
        if reason := self._why_none():
            session.report.notice({"not-wide": reason})
            return
        if reason := session.withheld or self._why_not_measured():
            typical = min(self.problems, key=lambda p: abs(math.log(p.vocabulary / TYPICAL)))
            self.laws = [self._lawless(typical, reason)]
        else:
            self._measure()
        self._compare_backwards()
        self.laws = self._confirmed()
        self._sample()

    def evidence(self, complete: bool) -> list[Evidence]:
        judged = [e for law in self.laws for e in judge(law)]
        return [self.session.with_replay(e) for e in [*judged, *self.samples]]

    def _why_none(self) -> str | None:
        """Return why there is nothing wide to be measured on this subject."""
        session = self.session
        if session.trees or session.driven:
            return TREES if session.trees else DRIVEN
        return MODIFIES if session.subject.modifies_target else None

    def _lanes(self) -> Lanes:
        """Begin the lanes: those of the problems, and one of long blocks, whose result is asked for first."""
        lanes = lanes_of(self.problems)
        pieces = [[partial(self._law, problem) for problem in lane] for lane in lanes]
        self._lane = {id(problem): number for number, lane in enumerate(lanes) for problem in lane}
        work, asked = [[*map(work_of, lane)] for lane in lanes], [self._lane[id(problem)] for problem in self.problems]
        if self.long_blocks:  # they come first, however long they take
            work, asked, pieces = [*work, [LONG_BLOCKS]], [len(pieces), *asked], [*pieces, [self._on_long_blocks]]
        return Lanes(self.session.sandbox, pieces, work, asked, self.session.jobs, self._tell)

    def _refuted_before(self) -> bool:
        session = self.session
        return any(
            e.refuted and e.claim in session.settings.claims and e.dtype == session.dtype
            for e in session.report.evidence
        )

    def _why_not_measured(self) -> str | None:
        """Return why there is no law on wide problems if there is none on the others."""
        if "exact" not in self.session.settings.levels:
            return NOT_ASKED
        reasons = [law.reason for law in self.session.laws]
        return reasons[0] if reasons and all(reasons) else None

    def _lawless(self, problem: WideProblem, reason: str, neutral: bool = False) -> WideMeasurement:
        about = {"dtype": self.session.dtype, "reason": reason, "out_of_scope": neutral}
        return WideMeasurement(problem, unknown=1.0, **about)

    def _measure(self) -> None:
        session = self.session
        if session.sandbox.ended:
            session.start()
        self.running = running = self.running or self._lanes()
        if self.long_blocks:
            self.laws = self._taken(running.next(-1))
        if not any(law.lossless.refutes for law in self.laws):
            shown = (self._taken(running.next(self._lane[id(problem)]), problem)[0] for problem in self.problems)
            self.laws += self._until_refuted(shown, self.problems)
        self.close()
        if self.laws and self.laws[-1].lossless.refutes:
            self._look_for_memory(self.laws[-1])
        self.laws = withdrawn(withdrawn_if_not_repeated(self.laws), why_reads_withdraw(session))

    def _on_long_blocks(self, sandbox: Sandbox) -> "ShownPiece":
        """Measure the laws on long blocks in that process."""
        shown: list[ShownPiece] = []

        def measure(problem: WideProblem, paths: int | None) -> WideMeasurement:
            shown.append(self._law(problem, sandbox, paths))
            return shown[-1].laws[0]

        laws = self._until_refuted(laws_of_long_blocks(measure, self.session.settings.seed))
        findings = {kind: text for one in reversed(shown) for kind, text in one.findings.items()}
        return shown[-1]._replace(laws=laws, findings=findings)

    def _taken(self, shown: "ShownPiece", problem: WideProblem | None = None) -> list[WideMeasurement]:
        """Note what a piece showed, and return its laws. problem: the one of the piece."""
        session = self.session
        session.report.notice(shown.findings)
        session.reads = [*dict.fromkeys([*session.reads, *shown.reads])]
        session.sandbox.calls = max(session.sandbox.calls, shown.calls)
        self.done += problem is not None
        return shown.laws

    def _tell(self) -> None:
        session = self.session
        now = self.problems[min(self.done, len(self.problems) - 1)]
        session.settings.progress(now.name, self.done, len(self.problems))

    def _look_for_memory(self, law: WideMeasurement) -> None:
        """Report a wrong law on rows that agree in part with earlier ones, if it is right without the calls on
        those."""
        session, problem = self.session, law.problem
        original = next((p for p in self.problems if exchanged(p) == problem), None)
        if original is None:
            return
        try:
            session.start()
            alone = measured_wide(problem, session.dtype, session.sandbox.law(problem))
        except RunFailed:
            return
        if not alone.lossless.refutes:
            replay = session.replays[problem.name] = session.replay_of([original, problem])
            text = f"its distribution on {problem.name} differs after calls on {original.name}, which shares some rows"
            session.report.notice({"state": f"{text}: it confuses the two"}, replay=replay)

    def _until_refuted(
        self, laws: Iterable[WideMeasurement], problems: Sequence[WideProblem] = ()
    ) -> list[WideMeasurement]:
        """Return the laws up to one that refutes, or to a few that are not known; the other problems have none.

        problems: those of the laws, in order.
        """
        measured: list[WideMeasurement] = []
        for law in laws:
            measured.append(law)
            if law.lossless.refutes:
                break
            slow = (law.reason or "").startswith(SLOW)
            if slow or sum(not one.known for one in measured) >= GAVE_UP:
                neutral = all(one.known or one.out_of_scope for one in measured)
                why = NOT_REACHED if law.reason == NOT_REACHED else NOT_TRIED
                return [*measured, *(self._lawless(p, why, neutral) for p in problems[len(measured) :])]
        return measured

    def _law(self, problem: WideProblem, sandbox: Sandbox, paths: int | None = None) -> "ShownPiece":
        """Measure the law on a problem in that process. paths: as of ``Sandbox.law``."""
        session = self.session
        if not (left := session.time.left(SHARE)):
            return ShownPiece([self._lawless(problem, NOT_REACHED)])
        try:
            law = measured_wide(problem, session.dtype, sandbox.law(problem, paths=paths, seconds=left))
            if law.lossless.refutes and problem.vocabulary <= ALL_CALLED:  # by how much, whatever was called so far
                every = sandbox.law(problem, paths=paths, seconds=left, every_id=True)
                law = measured_wide(problem, session.dtype, every)
            reads = [Read(**read) for read in sandbox.surroundings()["reads"]]
        except RunFailed as failure:
            if failure.kind not in ("timeout", "memory"):
                raise RunFailed(failure.kind, f"on problem {problem.name}: {failure}") from None
            law, reads = self._lawless(problem, str(failure)), []
            sandbox.start(probe_problems(session.problems))
        found = law.on_lattice(session.settings.uniform_bits)
        return ShownPiece([found], law.findings, reads, sandbox.calls)

    def _compare_backwards(self) -> None:
        """Compare the law of a problem with its ids in the opposite order with the law of the problem itself."""
        known = {law.problem.name: law for law in self.laws if law.known}
        for here in (law for law in known.values() if law.problem.backwards):
            there = known.get(backwards(here.problem).name)
            if there and (gap := other_law_backwards(there, here)):
                how = "ids in the opposite order has another output distribution"
                self.session.report.notice({"relation": f"{there.problem.name} with {how}, by TV {gap:.2g}"})

    def _confirmed(self) -> list[WideMeasurement]:
        """Withdraw the laws if real calls on one of the problems contradict its law."""
        known = [law for law in self.laws if law.known and law.problem.vocabulary <= WIDEST]
        cheap = [law for law in known if law.problem.vocabulary * REAL_CALLS <= SAMPLED]
        chosen = sorted(cheap or known, key=lambda law: (law.problem.gamma == 2, law.problem.vocabulary))[-1:]
        return confirmed_by_real_calls(self.session, self.laws, chosen, REAL_CALLS)

    def _sample(self) -> None:
        """Sample two problems without a law, on a partition of the tokens."""
        session = self.session
        lawless = [law for law in self.laws if not law.known and law.problem.vocabulary <= WIDEST]
        if "statistical" not in session.settings.levels or any(law.lossless.refutes for law in self.laws):
            return
        chosen = lawless[:: max(1, len(lawless) - 1)][:MOST_SAMPLED]
        alpha = ALPHA / (len(chosen) * len(session.subject.dtypes)) if chosen else ALPHA
        for law in chosen:
            problem = law.problem
            count = min(session.settings.samples, SAMPLED // problem.vocabulary)
            session.settings.progress(f"sampling {problem.name}", 0, len(chosen))
            try:
                counts = session.sample(problem, count)
            except RunFailed as failure:
                session.failed(failure, f"on problem {problem.name}")
                continue
            self.samples.append(goodness(law, counts, alpha, session.settings.seed))


def other_law_backwards(law: WideMeasurement, restated: WideMeasurement) -> float | None:
    """``relations.other_law`` of a problem and the same with its ids in the opposite order."""
    v = law.problem.vocabulary
    renamed = {tuple(v - 1 - t for t in prefix): row[::-1] for prefix, row in restated.emitted.items()}
    nothing, prefixes = np.zeros(v), law.emitted.keys() | renamed.keys()
    gap = sum(float(np.abs(law.emitted.get(x, nothing) - renamed.get(x, nothing)).sum()) for x in prefixes) / 2
    allowed = law.tolerance + restated.tolerance, law.explained + restated.explained
    return gap if verdict_rule.decide(gap, *allowed) == REFUTED else None


def laws_of_long_blocks(
    measure: Measure, seed: int, lengths: Sequence[int] = EVERY_LENGTH, doubles: bool = False
) -> Iterator[WideMeasurement]:
    """Yield the laws on long blocks whose positions are all decided, together if that takes few ways, else a few.

    If there are too many ways for all positions together, yield what was seen of them if it refutes.

    seed: of the pairs of positions that are decided together where not all are. lengths: of blocks. doubles: whether
      the ways are known to double with each position.
    """
    for gamma in lengths:
        yield from (measure(problem, None) for problem in regions(gamma, seed))
        if gamma in SHORTER:
            continue
        most = LIKELIEST if doubles and 2**gamma > MOST_WAYS else MOST_WAYS
        law = measure(together(gamma), most)
        cut = law.reason == TOO_MANY.format(most)
        if law.tells or not cut or "state" in law.findings:
            yield law
        doubles = doubles or cut or law.paths >= 2**gamma
        if law.known or gamma in LENGTHS_APART:
            yield measure(apart(gamma, seed, pairs=not law.known), None)
