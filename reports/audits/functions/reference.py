"""The audit of one of our own verifiers: its laws are enumerated over rationals."""

from dataclasses import replace
from functools import partial

from .... import __version__
from ....models.law import Table
from ....models.problem import Problem, size_of
from ....models.rationals import as_float
from ....models.regions import covered
from ....proofs.audit_claims import judge, optimal, support
from ....proofs.claims import lemma_8
from ....proofs.field import in_field
from ....proofs.laws.reference_laws import enumerated_law
from ....proofs.laws.small_law import NOT_BOUNDED, Measurement
from ....verifiers.details import LawDetail
from ....verifiers.evidence import Evidence, Strength
from ....verifiers.registry import Reference
from ..replay import with_replay
from ..report import Report
from ..runner import examine
from ..settings import AuditSettings


def audit_reference(verifier: Reference, problems: list[Problem], settings: AuditSettings, report: Report) -> None:
    """Audit one of our own verifiers on the problems."""
    laws = ReferenceLaws(verifier, problems, settings, report)
    examine(report, [laws])
    report.regions["exact"] = covered((m.problem, m.tolerance) for m in laws.laws)


class ReferenceLaws:
    """A part of an audit: the exact laws of one of our own verifiers."""

    def __init__(self, verifier: Reference, problems: list[Problem], settings: AuditSettings, report: Report):
        self.verifier, self.problems, self.settings, self.report = verifier, problems, settings, report
        self.laws: list[Measurement] = []

    def run(self) -> None:
        """Enumerate the laws."""
        self.report.subject["digest"] = f"draftproof {__version__}"
        for k, problem in enumerate(self.problems):
            self.settings.progress(problem.name, k, len(self.problems))
            exact = in_field(problem)
            self.laws.append(Measurement(problem, exact, {(): enumerated_law(exact, self.verifier)}))
            self.report.add_curve(self.laws[-1])
        self.settings.progress("done", len(self.problems), len(self.problems))

    def evidence(self, complete: bool) -> list[Evidence]:
        """Judge the laws."""
        judged = partial(_judge_modifying, verifier=self.verifier) if self.verifier.modifies_target else judge
        evidence = [e for law in self.laws for e in judged(law)]
        return [with_replay(e, [self.report.subject["name"]], self.settings) for e in evidence]


def _judge_modifying(law: Measurement, verifier: Reference) -> list[Evidence]:
    """Judge Algorithm 6 as Lemma 8 states it, over two iterations where the models go on that far."""
    iterations = 1 if isinstance(law.problem.target, Table) else 2
    nested = lemma_8(law.in_use, verifier, iterations)
    loop = "Algorithm 6, completed as Lemma 8 prescribes"
    detail = LawDetail(exactness=Strength.EXACT, dtype="exact", loop=loop, **size_of(law.problem))
    lossless = replace(nested, claim="lossless", total_variation=as_float(nested.total_variation), detail=detail)
    return [lossless, support(law), optimal(law).not_claimed(NOT_BOUNDED)]
