"""The exact route for reference verifiers: enumerated over rationals, without rounding or interception."""

from dataclasses import replace

from .... import __version__
from ....models.law import Table
from ....models.problem import Problem, size_of
from ....models.rationals import as_float
from ....proofs.audit_claims import NOT_BOUNDED, judge, optimal, support
from ....proofs.claims import lemma_8
from ....proofs.field import in_field
from ....proofs.laws import enumerated_law
from ....proofs.measurement import Measurement
from ....verifiers.evidence import Evidence
from ....verifiers.registry import Reference
from ..report import Report
from .replay import with_replay
from .settings import AuditSettings


class ReferenceLaws:
    """The exact laws of one of our own verifiers on the problems."""

    def __init__(self, verifier: Reference, problems: list[Problem], settings: AuditSettings, report: Report):
        self.verifier, self.problems, self.settings, self.report = verifier, problems, settings, report
        self.measurements: list[Measurement] = []

    def run(self) -> None:
        self.report.subject["digest"] = f"draftproof {__version__}"
        for k, problem in enumerate(self.problems):
            self.settings.progress(problem.name, k, len(self.problems))
            exact = in_field(problem)
            self.measurements.append(Measurement(problem, exact, {(): enumerated_law(exact, self.verifier)}))
            self.report.add_curve(self.measurements[-1])
        self.settings.progress("done", len(self.problems), len(self.problems))

    def evidence(self, complete: bool) -> list[Evidence]:
        judged = _judge_modifying if self.verifier.modifies_target else lambda measurement, _: judge(measurement)
        evidence = [e for measurement in self.measurements for e in judged(measurement, self.verifier)]
        return [with_replay(e, [self.report.subject["name"]], self.settings) for e in evidence]


def _judge_modifying(measurement: Measurement, verifier: Reference) -> list[Evidence]:
    """Of Algorithm 6: lossless as Lemma 8 states it, over two iterations where the models go on that far."""
    iterations = 1 if isinstance(measurement.problem.target, Table) else 2
    nested = lemma_8(measurement.in_use, verifier, iterations)
    lossless = replace(
        nested,
        claim="lossless",
        total_variation=as_float(nested.total_variation),
        detail={"exactness": "exact", "dtype": "exact", "loop": "Algorithm 6, completed as Lemma 8 prescribes"}
        | size_of(measurement.problem),
    )
    not_bounded = optimal(measurement).not_claimed(NOT_BOUNDED)
    return [lossless, support(measurement), not_bounded]
