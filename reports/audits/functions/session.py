"""A third-party function in its child process, and what the parts of its audit share."""

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....models.errors import RunFailed
from ....models.law import ContextFree
from ....models.problem import AnyProblem, Problem, as_json
from ....proofs.audit_claims import refuted
from ....proofs.interception.reads import Read
from ....proofs.laws.law import Law
from ....proofs.laws.small_law import Measurement
from ....proofs.laws.small_measurement import measured
from ....proofs.sandbox import Sandbox
from ....proofs.time_limits import NOT_REACHED, ProcessorTime
from ....verifiers.claims import FUNCTION, claims_of
from ....verifiers.evidence import Evidence
from ....verifiers.zoo.catalogue import MUTANTS, TREE_MUTANTS, ZooEntry
from ..completed_law import Counts
from ..replay import audit_words, with_replay
from ..report import Report
from ..sandboxed import probe_problems, sampled
from ..settings import QUICK_REQUESTS, AuditSettings
from ..subject import SubjectSpec
from .problems import drawn_for, ways_of

OF_REQUESTS = 0.2
"""Share of a problem's remaining requests that confirms its law; the rest finds it and replays."""

REAL_CALLS = 2000
"""Real calls that a measured law has to survive."""

FEW_REAL_CALLS = 500
"""The same of what is slow, in a quick audit."""

NOT_ASKED = "the exact route was not asked for"
"""The reason for which there is no law where the level excludes it."""

TOO_LONG = "too-long"
"""The finding that something was not done within its time: what else was examined stands."""


@dataclass
class FunctionSession:
    """An audit of one third-party function in one dtype.

    subject: the function.
    dtype: of the rows that it gets.
    problems: those of the audit, each with a name of its own.
    settings: of the audit.
    report: where findings and failures go.
    sandbox: the child process.
    laws: on the problems that were examined; one that is not known has the reason.
    folders: that the subject was imported from, and that a process of its own would not search.
    withheld: why no law of the function is exact, if that is so: it keeps state or reads its surroundings, or there was
      no time to see that it does not.
    driven: whether the subject's random numbers are inputs.
    trees: how draft trees are drawn for it; empty for a subject that verifies blocks.
    time: that the audit may take. took: problem -> seconds for its law, where that is limited.
    real_calls: that a measured law has to survive.
    reads: what calls in copies of the process asked of their surroundings. jobs: copies that run at a time.
    replays: problem -> the command that shows a refutation on it, where that takes calls on other problems before.
    """

    subject: SubjectSpec
    dtype: str
    problems: list[Problem]
    settings: AuditSettings
    report: Report
    sandbox: Sandbox
    laws: list[Measurement] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    replays: dict[str, str] = field(default_factory=dict)
    withheld: str | None = None
    driven: bool = False
    trees: tuple[str, ...] = ()
    time: ProcessorTime = field(default_factory=ProcessorTime)
    took: dict[str, float] = field(default_factory=dict)
    real_calls: int = REAL_CALLS
    reads: list[Read] = field(default_factory=list)
    jobs: int = 1

    def start(self) -> Mapping[str, Any]:
        """Start a child that loads the function and finds out how to call it. Raises: RunFailed."""
        about = self.sandbox.start(probe_problems(self.problems))
        self.folders = about["origin"]["folders"]
        self.driven = about["convention"]["random"] == "driven"
        self.trees = ways_of(self.subject, tuple(about["convention"].get("trees", ())), self.settings)
        self.problems = drawn_for(self.subject, self.trees, self.problems, self.settings)
        slow = self.driven or self.trees or about["convention"].get("array") == "torch"
        self.real_calls = FEW_REAL_CALLS if slow and self.settings.quick else REAL_CALLS
        return about

    def failed(self, failure: RunFailed, doing: str) -> str:
        """Report that something was not done: where it took too long as a finding, else as the end of the audit."""
        text = f"{doing}: {failure}"
        if failure.kind == "timeout":
            self.report.notice({TOO_LONG: text})
        else:
            self.report.fail(failure.kind, text)
        return text

    def measure(self, problem: Problem, seconds: float = math.inf) -> Measurement:
        """Measure the exact law on a problem, or say why there is none. seconds: as of ``Sandbox.law``.

        Raises: RunFailed.
        """
        limited = self.time.seconds < math.inf
        before = self.time.spent() if limited else 0.0
        answers = self.sandbox.law(
            problem, seed=self.settings.seed, seconds=seconds, confirmations=self._confirmations()
        )
        law = self.law_from(problem, answers)
        if limited:
            self.took[problem.name] = self.time.spent() - before
        return law

    def law_from(self, problem: Problem, answers: Iterable[Mapping[str, Any]]) -> Measurement:
        """Return the law that the child's answers make up, judged as this audit judges."""
        law = measured(problem, self.dtype, answers, self.subject.modifies_target, self.subject.own_rule)
        return law.on_lattice(self.settings.uniform_bits)

    def _confirmations(self) -> int | None:
        """Return how many random requests may confirm the next problem's law, of those that a quick audit has left."""
        if not (self.driven and self.settings.quick):
            return None
        left = QUICK_REQUESTS // len(self.subject.dtypes) - self.sandbox.calls
        return max(int(OF_REQUESTS * left / max(len(self.problems) - len(self.laws), 1)), 1)

    def sample(self, problem: AnyProblem, count: int) -> Counts:
        """Count outcomes with real random numbers. Raises: RunFailed, and what was counted is lost."""
        if not self.time.left():
            raise RunFailed("timeout", NOT_REACHED)
        counts, findings = sampled(self.sandbox, problem, count, self.settings.seed)
        self.report.notice(findings)
        return counts

    def decided(self, *laws: Law) -> bool:
        """Check whether one of the laws refutes a claim that decides the verdict."""
        claims = [claim for claim in claims_of(FUNCTION) if claim in self.settings.claims]
        return any(refuted(law, *claims) for law in laws)

    @property
    def mutants(self) -> list[ZooEntry]:
        """Return the mutants that it is compared with."""
        return [*(TREE_MUTANTS if self.trees else MUTANTS).values()]

    def with_replay(self, evidence: Evidence) -> Evidence:
        """Return the evidence with the command that shows it again."""
        subject = self.subject
        if evidence.refuted and evidence.problem in self.replays:
            return replace(evidence, replay=self.replays[evidence.problem])
        dtypes = () if subject.program else subject.dtypes
        return with_replay(evidence, subject.words, self.settings, dtypes, subject.given_array, self.folders)

    def replay_of(self, problems: Sequence[AnyProblem], **options: Any) -> str:
        """Return the command that audits these problems again, in this precision."""
        precision = None if self.subject.program else self.dtype
        words = audit_words(self.subject.words, map(as_json, problems), self.folders, dtype=precision,
                            array=self.subject.given_array or None, **options)  # fmt: skip
        return shlex.join(words)


def size_drafted(measurement: Measurement) -> tuple[int, int]:
    """(drafted tokens, gamma) of the largest draft block or tree."""
    return max(map(len, measurement.blocks), default=0), measurement.problem.gamma


def of_each_size(known: Sequence[Measurement]) -> dict[tuple[int, int], Measurement]:
    """Choose one law of each size: if possible with rows that depend on the text, then of the fewest paths."""
    chosen: dict[tuple[int, int], Measurement] = {}
    for m in sorted(known, key=lambda m: (isinstance(m.problem.draft, ContextFree), m.paths)):
        chosen.setdefault(size_drafted(m), m)
    return chosen
