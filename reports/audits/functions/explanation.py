"""Why a function fails: the smallest problem on which it does, and the mutants that behave in the same way."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ....models.battery import drawn
from ....models.errors import RunFailed
from ....models.problem import Problem, digest_of
from ....models.tree_battery import drawing
from ....proofs.audit_claims import judge_claim, refuted
from ....proofs.diagnosis import FEWEST, compared, diagnose
from ....proofs.interception.outcomes import decoded
from ....proofs.laws.small_law import Measurement
from ....proofs.laws.small_measurement import measured
from ....proofs.laws.where import Decision, Departing, deciding_line, where_it_departs
from ....proofs.sandbox import Sandbox
from ....proofs.shrink import shrink
from ....proofs.time_limits import ProcessorTime
from ....verifiers.evidence import Evidence
from ....verifiers.trees.draft_tree import HUB, IID, TOP, WITHOUT_REPLACEMENT
from ....verifiers.zoo.catalogue import ZooEntry
from ..runner import explain
from ..sandboxed import probe_problems
from .session import FunctionSession

LONGEST_SHRINKING = 30.0
"""Processor seconds for the search of a smaller witness."""

LESS = 100
"""How many times smaller the deviation on a smaller problem may be. A fault that is far smaller is another fault."""

SHARE = 0.8
"""Share of the audit's processor time, if it is limited, after which that search ends."""

EXPLAINED = ("lossless", "support", "optimal")
"""Claims whose refutation is compared with mutants, the first that is refuted; ``optimal`` only where it decides."""


_KNOWN: dict[tuple[str, str], Measurement] = {}
"""Laws of mutants that this process has measured, by the mutant and the problem's digest: a process that audits several
wrong functions, as a run of pytest does, compares each with the same mutants on the same problems."""


class Explanation:
    """A part of an audit: the smallest witness of a refuted function, and its diagnosis."""

    def __init__(self, session: FunctionSession):
        self.session = session
        self.smallest: Evidence | None = None

    def run(self) -> None:
        session = self.session
        if session.sandbox.ended or not session.settings.explain or "state" in session.report.findings:
            return
        known = sorted((law for law in session.laws if law.known), key=_size)
        asked = [claim for claim in EXPLAINED if claim != "optimal" or claim in session.settings.claims]
        claim = next((claim for claim in asked if any(refuted(law, claim) for law in known)), None)
        if claim is None:
            return
        failing = [law for law in known if refuted(law, claim)]
        passing = [law for law in known if law not in failing]
        limits = {"timeout": session.settings.timeout, "memory": session.settings.memory, "time": session.time}
        with Sandbox("", **limits) as sandbox, ThreadPoolExecutor(1) as pool:
            if session.mutants and session.time.left() == math.inf:  # it imports while a smaller witness is looked for
                pool.submit(sandbox.load, session.mutants[0].measured, probe_problems([]))
            session.settings.progress("looking for the smallest witness", 0, 1)
            telling = next((law for law in failing if not _raises(law)), failing[0])
            explain(session.report, lambda: self._shrink(telling, claim))
            session.settings.progress("comparing with known mutants", 0, 1)
            pool.shutdown()
            explain(session.report, lambda: self._diagnose(claim, compared(failing, passing), sandbox))

    def evidence(self, complete: bool) -> list[Evidence]:
        return [self.smallest] if self.smallest else []

    def _law_on(self, problem: Problem) -> Measurement | None:
        """Return the law on another problem, or None."""
        if self.session.sandbox.ended:
            return None
        try:
            measurement = self.session.measure(problem)
        except RunFailed:
            return None
        return measurement if measurement.known else None

    def _shrink(self, measurement: Measurement, claim: str) -> None:
        own, least = ProcessorTime(LONGEST_SHRINKING), measurement.departure(claim).size / LESS
        raises = _raises(measurement)

        def fails(problem: Problem) -> bool:
            smaller = self._law_on(problem) if own.left() and self.session.time.left(SHARE) else None
            if smaller is None or not refuted(smaller, claim) or (_raises(smaller) and not raises):
                return False
            return smaller.departure(claim).size >= least

        smallest = self._law_on(shrink(measurement.problem, fails))
        refutation = smallest and judge_claim(smallest, claim)
        if smallest and refutation and refutation.witness:
            self.session.report.notice(smallest.findings)
            marked = replace(refutation, witness=replace(refutation.witness, smallest=True))
            self.smallest = self.session.with_replay(marked)
            if claim == "lossless":
                explain(self.session.report, lambda: self._locate(smallest))

    def _locate(self, law: Measurement) -> None:
        """Add to the smallest witness where its law departs."""
        where = where_it_departs(law)
        if where and self.smallest and self.smallest.witness:
            found = replace(self.smallest.witness, where=where.words, line=self._line(law.problem, where))
            self.smallest = replace(self.smallest, witness=found)

    def _line(self, problem: Problem, where: Departing) -> str | None:
        """Return the source line that decides what departs; None for a subject whose calls are not traced, or where
        the calls that would show it end the child.
        """
        if self.session.driven or self.session.sandbox.ended:
            return None
        decisions = []
        try:
            for answer in self.session.sandbox.law(problem, lines=True):
                block = tuple(answer.get("block", ()))
                for one in answer.get("decisions", ()):
                    lines = [(file, number) for file, number in one["lines"]]
                    decisions.append(Decision(block, decoded(one["outcome"]), one["path"], lines))
        except RunFailed:
            return None
        return deciding_line(where, decisions)

    def _diagnose(self, claim: str, chosen: list[Measurement], sandbox: Sandbox) -> None:
        if len(chosen) < FEWEST:
            # One problem cannot tell mutants apart: two that can, measured for this alone.
            names = {m.problem.name for m in chosen}
            chosen += filter(None, (self._law_on(p) for p in self._others(claim) if p.name not in names))

        def measure(entry: ZooEntry, measurement: Measurement) -> Measurement | None:
            key = entry.measured, digest_of(measurement.problem)
            try:
                if key not in _KNOWN:
                    if sandbox.subject != entry.measured:
                        sandbox.load(entry.measured, probe_problems([]))
                        sandbox.subject = entry.measured
                    _KNOWN[key] = measured(measurement.problem, "float64", sandbox.law(measurement.problem))
                return _KNOWN[key]
            except RunFailed:
                return None

        found = diagnose(chosen, self.session.mutants, measure, claim)
        self.session.report.diagnosis += found.same
        if found.mutants:
            names = [m.problem.name for m in chosen]
            about = {"mutants": found.mutants, "left_out": found.left_out, "claim": claim, "problems": names}
            self.session.report.compared = about

    def _others(self, claim: str) -> list[Problem]:
        """Return small problems that tell mutants apart; trees are drawn as for a subject that verifies trees."""
        pairs = [drawn(3, 2, "generic"), drawn(3, 2, "zeros")]
        ways = [way for way in (WITHOUT_REPLACEMENT, IID, TOP, HUB) if way in self.session.trees][:1]
        if ways:
            return [drawing(drawn(3, 1, "generic"), 2, how=ways[0]), drawing(pairs[1], 2, 1, how=ways[0])]
        return [*pairs, drawn(2, 3, "generic")] if claim == "optimal" else pairs


def _raises(law: Measurement) -> bool:
    """Check whether calls raise: that says less of a mistake than a wrong distribution does."""
    return any(isinstance(outcome, str) for given in law.blocks.values() for outcome in given)


def _size(measurement: Measurement) -> tuple[int, str]:
    return measurement.problem.drafts, measurement.problem.name
