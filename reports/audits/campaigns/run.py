"""A sampling campaign as an audit: millions of samples of a verifier on one problem, judged like any other evidence."""

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import __version__
from ....models.battery import drawn, toy
from ....models.law import prefix_key
from ....models.problem import Problem
from ....proofs.field import in_field
from ....proofs.interception.digests import UNKNOWN
from ....proofs.interception.outcomes import decoded
from ....proofs.sandbox import Sandbox
from ....stattests.campaign.compiled import CompiledSource, fingerprint
from ....stattests.campaign.run import CampaignCounts, SampleSource, plan, run_campaign
from ....stattests.campaign.tally import Outcomes, Tally
from ....verifiers.evidence import Evidence
from ..report import Report
from ..runner import examine
from ..settings import Progress
from ..subject import SubjectSpec
from .judgement import Judge


@dataclass(frozen=True)
class CampaignSettings:
    """How a campaign is sampled.

    samples: draft blocks to verify.
    seed: of the whole campaign.
    workers: processes on this machine; all processors if not given.
    cluster: dask://HOST:PORT or ray://HOST:PORT in place of this machine.
    checkpoint: the file that keeps the counts.
    chunk: samples that are drawn, and saved, at a time.
    batch: draft blocks that a third-party function takes in one call.
    timeout: seconds of processor time for one chunk of calls of a third-party function.
    """

    samples: int
    seed: int = 0
    workers: int | None = None
    cluster: str | None = None
    checkpoint: str | None = None
    chunk: int | None = None
    batch: int | None = None
    timeout: float = 600.0


def audit_by_campaign(
    subject: SubjectSpec, problem: Problem, settings: CampaignSettings, progress: Progress = lambda *_: None
) -> Report:
    """Sample a verifier on one problem and compare the counts with the target's law.

    Guarantee: the counts depend on neither the workers nor interruptions; a failure leaves those of the checkpoint.
    Raises: InputError for a problem that is too large, and for the checkpoint and the cluster.
    """
    report = Report.begin(subject.name, subject.source, subject.dtypes, settings.seed)
    examine(report, [Campaign(subject, problem, settings, report, progress)])
    return report


@dataclass
class Campaign:
    """The samples of one campaign, and what they say; fields as in ``audit_by_campaign``."""

    subject: SubjectSpec
    problem: Problem
    settings: CampaignSettings
    report: Report
    progress: Progress
    counts: CampaignCounts | None = None

    def __post_init__(self) -> None:
        of_subject = {"modifies_target": self.subject.modifies_target, "dtype": self.subject.dtypes[0]}
        self.judge = Judge(self.problem, seed=self.settings.seed, **of_subject)
        self.report.campaign = {"samples": 0}

    def run(self) -> None:
        settings, source = self.settings, self._source()
        planned = plan(source, settings.samples, settings.seed, settings.chunk)
        self.counts = run_campaign(
            source, planned, workers=settings.workers, cluster=settings.cluster, checkpoint=settings.checkpoint,
            bound=self.judge.bound, progress=self._progress,
        )  # fmt: skip
        tally, seconds = self.counts.tally, self.counts.seconds
        new = tally.n - self.counts.resumed
        self.report.campaign = {
            "samples": tally.n, "resumed": self.counts.resumed, "seconds": seconds,
            "samples_per_second": new / seconds if new else None, "cluster": settings.cluster, "chunk": planned.chunk,
            "source": source.identity, "counts": {prefix_key(tokens): times for tokens, times in tally.items()},
            "counts_digest": tally.digest(),
        }  # fmt: skip
        if tally.failures == tally.n:
            (kind, seen), *_ = tally.strange.items()
            self.report.fail("crash", f"none of {tally.n:,} blocks got tokens: {kind}: {seen.example}")

    def evidence(self, complete: bool) -> list[Evidence]:
        if self.counts is None or self.report.failure:
            return []
        return [self.judge.evidence(self.counts.tally)]

    def _source(self) -> SampleSource:
        if self.subject.reference:
            self.report.subject["digest"] = f"draftproof {__version__}"
            return CompiledSource(self.subject.reference, in_field(self.problem))
        source = ThirdPartySource(self.subject, self.problem, batch=self.settings.batch, timeout=self.settings.timeout)
        self.report.subject["digest"] = source.digest
        return source

    def _progress(self, stage: str, done: int, total: int) -> None:
        self.report.campaign = {"samples": done}
        self.progress(stage, done, total)


class ThirdPartySource:
    """Calls of a third-party function.

    A fresh child process for every chunk: what the function remembers from call to call cannot make the counts depend
    on which worker drew which chunk.
    batch: draft blocks of a call; None for one, without the dimension of a batch.
    timeout: limit for a chunk, in seconds of processor time.
    memory: of the child process, in GiB.
    Raises (sample): RunFailed if the function cannot be loaded, crashes, or takes too long.
    """

    def __init__(self, subject: SubjectSpec, problem: Problem, *, batch: int | None = None, timeout: float = 600.0,
                 memory: float = 8.0):  # fmt: skip
        self.subject, self.problem, self.batch, self.dtype = subject, problem, batch, subject.dtypes[0]
        self.limits = {"timeout": timeout, "memory": memory, "torch": subject.torch}
        self.chunk = 200_000 if batch else 20_000
        self.outcomes = Outcomes(problem.vocabulary, problem.gamma + 1)
        with self._sandbox() as sandbox:
            self.digest: str = sandbox.start(self._probe())["digest"]
        self.identity = {
            "subject": f"{subject.name} ({_distinguished(self.digest)})",
            "problem": fingerprint(problem),
            "rows": f"{subject.array or 'as it takes them'} {self.dtype}, {batch or 1} a call",
        }

    def sample(self, seed: np.random.SeedSequence, n: int) -> Tally:
        """n calls, or batches enough for n blocks."""
        tally = Tally(self.outcomes)
        with self._sandbox() as sandbox:
            sandbox.start(self._probe())
            for answer in sandbox.sample(self.problem, n, int.from_bytes(seed.generate_state(8).tobytes(), "little")):
                for outcome, times in answer.get("counts", ()):
                    tally.count(decoded(outcome), times)
        return tally

    def _probe(self) -> list[Problem]:
        return [self.problem] if self.batch else [self.problem, toy(1), drawn(3, 2, "generic")]

    def _sandbox(self) -> Sandbox:
        named = self.subject.target or self.subject.name, self.subject.array, self.dtype
        return BatchedSandbox(self.batch, *named, **self.limits) if self.batch else Sandbox(*named, **self.limits)


def _distinguished(digest: str) -> str:
    """A digest as it stands; what has none is another subject each time, so that no checkpoint mixes versions of it."""
    return digest if digest != UNKNOWN else f"version unknown, as loaded for run {secrets.token_hex(4)}"


class BatchedSandbox(Sandbox):
    """The sandbox, with a child that calls a function on many blocks at once."""

    child = "draftproof.reports.audits.campaigns.child"

    def __init__(self, batch: int, subject: str, array: str | None = None, dtype: str = "float64", **settings: Any):
        super().__init__(subject, array or "numpy", dtype, **settings)
        self.arguments = (str(batch),)
