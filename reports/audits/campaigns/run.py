"""A sampling campaign as an audit: millions of samples of a verifier on one problem, judged like any other evidence."""

from dataclasses import dataclass

from .... import __version__
from ....models.law import prefix_key
from ....models.problem import Problem
from ....proofs.field import in_field
from ....stattests.campaign.compiled import CompiledSource
from ....stattests.campaign.run import CampaignCounts, SampleSource, plan, run_campaign
from ....verifiers.evidence import Evidence
from ..functions.settings import Progress
from ..functions.subject import SubjectSpec
from ..report import Report
from ..runner import examine
from .judgement import Judge
from .subject import ThirdPartySource


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
    subject: SubjectSpec,
    problem: Problem,
    settings: CampaignSettings,
    progress: Progress = lambda stage, done, total: None,
) -> Report:
    """Sample a verifier on one problem and hold the counts against the target's law.

    Guarantee: the counts depend on neither the workers nor interruptions; a failure leaves those of the checkpoint.
    Raises: InputError for a problem that is too large, and for the checkpoint and the cluster.
    """
    report = Report.begin(subject.name, subject.source, subject.dtypes, settings.seed)
    examine(report, [Campaign(subject, problem, settings, report, progress)])
    return report


class Campaign:
    """The samples of one campaign, and what they say."""

    def __init__(
        self, subject: SubjectSpec, problem: Problem, settings: CampaignSettings, report: Report, progress: Progress
    ):
        self.subject, self.problem, self.settings, self.report = subject, problem, settings, report
        self.progress = progress
        self.judge = Judge(
            problem, modifies_target=subject.modifies_target, dtype=subject.dtypes[0], seed=settings.seed
        )
        self.counts: CampaignCounts | None = None
        report.campaign = {"samples": 0}

    def run(self) -> None:
        settings = self.settings
        source = self._source()
        planned = plan(source, settings.samples, settings.seed, settings.chunk)
        self.counts = run_campaign(
            source,
            planned,
            workers=settings.workers,
            cluster=settings.cluster,
            checkpoint=settings.checkpoint,
            bound=self.judge.bound,
            progress=self._progress,
        )
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
