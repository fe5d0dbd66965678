"""A sampling campaign as an audit: millions of samples of a verifier on one problem, judged like any other evidence."""

import secrets
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from .... import __version__
from ....models.errors import InputError
from ....models.law import prefix_key
from ....models.problem import Problem, size_of
from ....models.rationals import as_float
from ....proofs.claims import coupling_bound
from ....proofs.field import in_field
from ....proofs.interception.digests import UNKNOWN
from ....proofs.laws.reference_laws import expected_accepted, output_law
from ....proofs.rounding.rounding_allowed import sampling_slack
from ....proofs.sandbox import Sandbox
from ....stattests.arguments import ALPHA, BETA
from ....stattests.bounds import tokens_per_call, total_variation_bound
from ....stattests.campaign.run import CampaignCounts, SampleSource, plan, run_campaign
from ....stattests.campaign.tally import Outcomes, Tally
from ....verifiers.details import CampaignDetail
from ....verifiers.evidence import REFUTED, Evidence, Method
from ....verifiers.registry import reference
from ..completed_law import Counts, completed_law, verdict_of_counts
from ..report import Report
from ..runner import examine
from ..sandboxed import probe_problems, sampled, sandbox_of
from ..settings import Progress
from ..subject import SubjectSpec
from .table_source import TableSource, fingerprint

MOST_SEQUENCES = 2**17
"""Most sequences of gamma + 1 tokens that a campaign takes, since their law is compared with the counts."""


class Judge:
    """A judge of a campaign's counts by the target's law of the completed tokens.

    problem: what is sampled.
    modifies_target: True of greedy block verification, whose tokens are completed by the modified target (Lemma 8).
    dtype: of the rows that the subject gets; what its rounding can account for is no refutation.
    seed: of the completion.
    Raises: InputError if the problem is too large.
    """

    def __init__(self, problem: Problem, *, modifies_target: bool = False, dtype: str = "float64", seed: int = 0):
        if problem.vocabulary ** (problem.gamma + 1) > MOST_SEQUENCES:
            raise InputError(
                f"{problem.name}: {problem.vocabulary}^{problem.gamma + 1} sequences of {problem.gamma + 1} tokens are "
                f"too many for a campaign; expected at most {MOST_SEQUENCES:,}"
            )
        self.problem, self.seed, self.dtype = problem, seed, dtype
        self.law = completed_law(problem, modifies_target)
        self.slack = sampling_slack(in_field(problem), dtype, modifies_target)

    def bound(self, tally: Tally) -> float:
        """Return an upper bound on the total variation from lossless, at confidence 1 - ALPHA, for one look."""
        counts = self._sequences(tally) | _malformed(tally)
        return total_variation_bound(counts, self.law.with_impossible(counts), ALPHA).upper

    def evidence(self, tally: Tally) -> Evidence:
        """Return the verdict, an upper bound on the deviation, and the detection limit."""
        sequences, malformed = self._sequences(tally), _malformed(tally)
        deviation = self.law.deviation(sequences, malformed, self.slack)
        detail = CampaignDetail(
            dtype=self.dtype, samples=tally.n, p_value=deviation.p_value, p_value_by=deviation.fit.method,
            cells=deviation.fit.cells, total_variation_at_least=deviation.distance.lower, false_alarm_rate=ALPHA,
            miss_rate=BETA, detection_limit=deviation.limit, rounding_allowed=self.slack,
            accepted=self._accepted(tally), strange={kind: list(seen) for kind, seen in tally.strange.items()},
            **size_of(self.problem),
        )  # fmt: skip
        witness = None
        verdict = verdict_of_counts(deviation, self.slack)
        if verdict == REFUTED:
            witness = self.law.witness(sequences, malformed, deviation.fit)
            if witness.sequence in tally.strange:
                witness = replace(witness, why=f"for example {tally.strange[witness.sequence].example}")
        return Evidence(
            claim="lossless", method=Method.CAMPAIGN, verdict=verdict,
            problem=self.problem.name, total_variation=deviation.distance.empirical, bound=deviation.distance.upper,
            witness=witness, detail=detail,
        )  # fmt: skip

    def _sequences(self, tally: Tally) -> Counts:
        return self.law.completed(dict(tally.items()), self.seed)[0]

    def _accepted(self, tally: Tally) -> dict[str, Any] | None:
        """Return E[tau] between the optimum and the cap; None if no block got tokens."""
        if not tally.counts.any():
            return None
        first = [tally.outcomes.first(length) for length in range(1, tally.outcomes.longest + 2)]
        times = {tau: int(tally.counts[a:b].sum()) for tau, (a, b) in enumerate(pairwise(first))}
        measured = tokens_per_call(times, self.problem.gamma, *self.theory, ALPHA)
        interval = [measured.accepted.lower, measured.accepted.upper]
        return {"mean": measured.accepted.mean, "interval": interval, "optimum": measured.optimum, "cap": measured.cap}

    @cached_property
    def theory(self) -> tuple[float, float]:
        """Return E[tau] of block verification, and the cap that no lossless rule exceeds."""
        exact = in_field(self.problem)
        optimum = expected_accepted(output_law(exact, reference("block")))
        return as_float(optimum), as_float(sum(coupling_bound(exact).values()))


def _malformed(tally: Tally) -> dict[str, int]:
    """Return how often each kind of outcome was not tokens."""
    return {kind: seen.times for kind, seen in tally.strange.items()}


@dataclass(frozen=True)
class CampaignSettings:
    """A set of the settings of a campaign.

    samples: draft blocks to verify.
    seed: of the whole campaign.
    workers: processes on this machine; all processors if not given.
    cluster: dask://HOST:PORT in place of this machine.
    checkpoint: the file that keeps the counts.
    chunk: samples that are drawn, and saved, at a time.
    timeout: seconds of processor time for one chunk of calls of a third-party function.
    """

    samples: int
    seed: int = 0
    workers: int | None = None
    cluster: str | None = None
    checkpoint: str | None = None
    chunk: int | None = None
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
    """An examination of one campaign's samples; fields as in ``audit_by_campaign``."""

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
            return TableSource(self.subject.reference, in_field(self.problem))
        source = ThirdPartySource(self.subject, self.problem, timeout=self.settings.timeout)
        self.report.subject["digest"] = source.digest
        return source

    def _progress(self, stage: str, done: int, total: int) -> None:
        self.report.campaign = {"samples": done}
        self.progress(stage, done, total)


class ThirdPartySource:
    """A source of calls of a third-party function.

    A fresh child process for every chunk: what the function remembers from call to call cannot make the counts depend
    on which worker drew which chunk.
    timeout: limit for a chunk, in seconds of processor time.
    memory: of the child process, in GiB.
    Raises (sample): RunFailed if the function cannot be loaded, crashes, or takes too long.
    """

    chunk = 20_000

    def __init__(self, subject: SubjectSpec, problem: Problem, *, timeout: float = 600.0, memory: float = 8.0):
        self.subject, self.problem, self.dtype = subject, problem, subject.dtypes[0]
        self.timeout, self.memory = timeout, memory
        self.outcomes = Outcomes(problem.vocabulary, problem.gamma + 1)
        with self._sandbox() as sandbox:
            self.digest: str = sandbox.start(probe_problems([problem]))["digest"]
        self.identity = {
            "subject": f"{subject.name} ({_distinguished(self.digest)})", "problem": fingerprint(problem),
            "rows": f"{subject.array or 'as it takes them'} {self.dtype}, 1 a call",
        }  # fmt: skip

    def sample(self, seed: np.random.SeedSequence, n: int) -> Tally:
        """Make n calls."""
        tally = Tally(self.outcomes)
        with self._sandbox() as sandbox:
            drawn_by = int.from_bytes(seed.generate_state(8).tobytes(), "little")
            for outcome, times in sampled(sandbox, self.problem, n, drawn_by)[0].items():
                tally.count(outcome, times)
        return tally

    def _sandbox(self) -> Sandbox:
        return sandbox_of(self.subject, self.dtype, timeout=self.timeout, memory=self.memory)


def _distinguished(digest: str) -> str:
    """Return a digest; for an unknown one a text that differs each time, so that no checkpoint mixes versions."""
    return digest if digest != UNKNOWN else f"version unknown, as loaded for run {secrets.token_hex(4)}"
