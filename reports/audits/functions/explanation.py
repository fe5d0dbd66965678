"""Why a function fails: the smallest problem on which it does, and the mutants that behave in the same way."""

import time
from dataclasses import replace

from ....models.battery import drawn
from ....models.errors import RunFailed
from ....models.problem import Problem
from ....models.tree_battery import drawing
from ....proofs.audit_claims import lossless
from ....proofs.diagnosis import diagnose
from ....proofs.measurement import Measurement, measured
from ....proofs.sandbox import Sandbox
from ....proofs.shrink import shrink
from ....verifiers.evidence import Evidence
from ....verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT
from ....verifiers.zoo.catalogue import ZooEntry
from .session import FunctionSession, probe_problems

LONGEST_SHRINKING = 30.0
"""Seconds for the search of a smaller witness."""

MOST_BLOCKS_COMPARED = 9
"""Draft blocks of a problem beyond which it is not used to tell mutants apart."""

FEWEST_COMPARED = 3
"""Problems that mutants are told apart by, if so many can be measured."""


class Explanation:
    """The smallest witness of a refuted function, and its diagnosis."""

    def __init__(self, session: FunctionSession):
        self.session = session
        self.smallest: Evidence | None = None

    def run(self) -> None:
        session = self.session
        known = [m for m in session.measurements if m.known]
        refuted = {
            e.problem
            for e in session.report.evidence
            if e.claim == "lossless" and e.refuted and e.dtype == session.dtype
        }
        failing = [m for m in known if m.problem.name in refuted]
        if not failing or session.sandbox.ended or not session.settings.explain or "state" in session.report.findings:
            return
        session.settings.progress("looking for the smallest witness", 0, 1)
        self._shrink(min(failing, key=_size))
        session.settings.progress("comparing with known mutants", 0, 1)
        self._diagnose(sorted(failing, key=_size), [m for m in known if m.problem.name not in refuted])

    def evidence(self, complete: bool) -> list[Evidence]:
        return [self.smallest] if self.smallest else []

    def _law_on(self, problem: Problem) -> Measurement | None:
        """The law on another problem; None where there is none."""
        if self.session.sandbox.ended:
            return None
        try:
            measurement = self.session.measure(problem)
        except RunFailed:
            return None
        return measurement if measurement.known else None

    def _shrink(self, measurement: Measurement) -> None:
        until = time.monotonic() + LONGEST_SHRINKING

        def fails(problem: Problem) -> bool:
            smaller = self._law_on(problem) if time.monotonic() < until else None
            return smaller is not None and lossless(smaller).refuted

        smallest = self._law_on(shrink(measurement.problem, fails))
        refutation = smallest and lossless(smallest)
        if smallest and refutation and refutation.witness:
            self.session.report.notice(smallest.findings)
            marked = replace(refutation, witness=replace(refutation.witness, smallest=True))
            self.smallest = self.session.with_replay(marked)

    def _diagnose(self, failing: list[Measurement], passing: list[Measurement]) -> None:
        """Small problems first: most mutants are told apart there, and the largest only cost time."""
        chosen = [m for m in failing if len(m.blocks) <= MOST_BLOCKS_COMPARED][-FEWEST_COMPARED:] or failing[:1]
        chosen += [m for m in passing if len(m.blocks) <= MOST_BLOCKS_COMPARED][-1:]
        if len(chosen) < FEWEST_COMPARED:
            # One problem cannot tell mutants apart: two that can, measured for this alone.
            chosen += filter(None, map(self._law_on, self._others()))
        settings = self.session.settings
        with Sandbox("", timeout=settings.timeout, memory=settings.memory) as sandbox:

            def measure(entry: ZooEntry, measurement: Measurement) -> Measurement | None:
                try:
                    if sandbox.subject != entry.name:
                        sandbox.load(entry.target, probe_problems([]))
                        sandbox.subject = entry.name
                    return measured(measurement.problem, "float64", sandbox.law(measurement.problem))
                except RunFailed:
                    return None

            self.session.report.diagnosis += diagnose(chosen, self.session.mutants, measure)

    def _others(self) -> list[Problem]:
        """Small problems that tell mutants apart; trees drawn as on the failing problems of a subject that verifies trees."""
        pairs = [drawn(3, 2, "generic"), drawn(3, 2, "zeros")]
        ways = [way for way in (WITHOUT_REPLACEMENT, IID, TOP) if way in self.session.trees][:1]
        if ways:
            return [drawing(drawn(3, 1, "generic"), 2, how=ways[0]), drawing(pairs[1], 2, 1, how=ways[0])]
        return pairs


def _size(measurement: Measurement) -> tuple[int, str]:
    return measurement.problem.drafts, measurement.problem.name
