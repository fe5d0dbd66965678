"""An engine from outside: what it emits on forged checkpoints against the law that they were forged from."""

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ....models.battery import drawn_markov
from ....models.decoding_settings import DRAFT, PLAIN, SETTINGS
from ....models.errors import InputError, RunFailed
from ....models.forge import forge
from ....models.problem import Problem, size_of
from ....proofs.child_process import ChildProcess
from ....proofs.time_limits import TimeLimits
from ....stattests.arguments import ALPHA
from ....verifiers.adapters.registry import ENGINES, Engine
from ....verifiers.evidence import Evidence
from ..replay import assignments, command_line, compact
from ..report import Report
from ..runner import examine
from ..settings import Progress, silent
from .cells import DRAFTING, asked_cells, grid_cells, kept_problem
from .exact_texts import DECIDING, ExactTexts
from .telling import told_apart
from .texts import judged, text_length

LAST_SECONDS = 5.0
"""Seconds in which a child that has answered everything ends by itself."""

ENGINE_MEMORY = 32.0
"""GiB of address space of the child. A real model has to fit."""


LEVELS = ("exact", "statistical")
"""Ways to examine a law: exactly first, and by samples if it is not known then."""


NEUTRAL = [("temperature", 1), ("top_k", 0), ("top_p", 1)]
"""Settings that do not change the law."""


def engine_from(name: str) -> Engine:
    """Return the engine that a name on the command line means: a known one, or a function that samples from one.

    Raises: InputError if the name has neither form.
    """
    if name in ENGINES:
        return ENGINES[name]
    if ":" in name:
        return Engine(name, name, name, follows=True)
    raise InputError(
        f"{name!r} is not an engine; expected package.module:function, path/to/file.py:function, or one of "
        f"{', '.join(ENGINES)}"
    )


def engine_problems() -> list[Problem]:
    """Return a pair that any reader can follow, and one whose rows differ by context and have zeros."""
    return [kept_problem("reversed-V4-gamma3"), drawn_markov(3, 2, "zeros")]


def audit_engine(
    engine: Engine,
    problems: Sequence[Problem] = (),
    *,
    plain: bool = False,
    samples: int | None = None,
    seed: int = 0,
    timeout: float = 600.0,
    memory: float = ENGINE_MEMORY,
    settings: Mapping[str, Any] | None = None,
    levels: Sequence[str] | None = None,
    tokens: int | None = None,
    checkpoint: str | None = None,
    grid: bool = False,
    rows: Sequence[str] = (),
    progress: Progress = silent,
) -> Report:
    """Audit an engine: its texts from a forged pair, each after a prompt of one <s>, against the target's law.

    problems: the pairs to forge. By default one without ties, and for samples those of ``engine_problems``.
    plain: whether to decode without the draft, as a control.
    samples: texts of each problem, each with its own seed. The engine has to make them independent.
    seed: of the calls' seeds.
    timeout: seconds of wall-clock time for all samples, and of processor time for one exact law.
    memory: GiB of address space of the child process.
    settings: those of ``models.decoding_settings`` and the engine's own.
    levels: "exact" if its random numbers can be followed, "statistical" if not. By default both; with ``samples`` the
        second alone.
    tokens: the cap of a text whose law is exact.
    checkpoint: a file in which exact laws are kept, and from which the same audit goes on.
    grid: whether to go through every setting that the engine has (``cells.grid_cells``), exactly. ``settings`` then
        say how to draft.
    rows: rows of the grid; they alone are asked for.
    Guarantee: an exact law is known as its evidence says. Samples are judged by ``texts.judged``, at a false-alarm rate
    of ALPHA over all problems.
    Raises: InputError if the engine is not installed, or a problem cannot be forged or counted.
    """
    if missing := engine.missing():
        install = f"; install draftproof[{engine.extra}]" if engine.extra else ""
        raise InputError(f"{engine.name} needs {' and '.join(missing)}{install}", "DP301")
    settings = dict(settings or {})
    levels = levels or (LEVELS[1:] if samples else LEVELS)
    report, cells = Report.begin(engine.name, engine.source, ["float32"], seed), []
    if grid or rows:
        if problems or {*settings} - {*DRAFTING} or plain or tokens:
            raise InputError("--grid has settings, tokens and a problem of its own; --set may say how to draft")
        if engine.settings is None:
            raise InputError(f"{engine.name}: which settings it has is not known; expected --set NAME=VALUE")
        rows_asked = grid_cells(engine, settings, rows) if engine.exact else []
        cells = [cell for one in rows_asked for cell in told_apart(engine, [one], own=False)]
        levels = LEVELS[:1]
    elif engine.exact and "exact" in levels:
        cells = told_apart(engine, asked_cells(engine, problems, settings, tokens, plain), own=bool(problems))
    if engine.exact and "exact" in levels:
        report.claims = DECIDING
        exact = ExactTexts(engine, cells, timeout, memory, report, progress, checkpoint)
        complete, last = examine(report, [exact]), "statistical" not in levels or not engine.sample
        if complete and last and len(exact.failed) == len(cells):
            kind, why = exact.failed[0]
            report.fail(kind, f"none of {len(cells)} requests was answered: {why}")
        if not complete or last or not exact.without:
            return report
    elif engine.driver:
        raise InputError(
            f"{engine.name}: draftproof supplies its random numbers; expected --level exact, without --samples"
        )
    elif "statistical" not in levels:
        raise InputError(f"{engine.name}: its random numbers cannot be followed; expected --level statistical")
    changed = [n for n, v in settings.items() if n in SETTINGS and SETTINGS[n].law and (n, v) not in NEUTRAL]
    if changed:  # samples are judged against the target's own law
        if report.evidence:
            return report
        raise InputError(
            f"{changed[0]} changes the expected distribution, by which samples are not judged; expected --level exact"
        )
    run = EngineTexts(engine, problems or engine_problems(), plain, samples or engine.samples, timeout, memory,
                      settings, report, progress)  # fmt: skip
    examine(report, [run])
    return report


@dataclass
class EngineTexts:
    """A sample of an engine's texts on forged pairs; fields as in ``audit_engine``.

    counts: for each problem, emitted tokens -> times.
    failures: for each problem, [kind, why] if not all samples were taken.
    """

    engine: Engine
    problems: Sequence[Problem]
    plain: bool
    samples: int
    timeout: float
    memory: float
    settings: dict[str, Any]
    report: Report
    progress: Progress

    def __post_init__(self) -> None:
        self.counts: list[Counter] = [Counter() for _ in self.problems]
        self.failures: dict[int, list[str] | None] = {}

    def run(self) -> None:
        self.progress("forging", 0, len(self.problems) * self.samples)
        with tempfile.TemporaryDirectory(prefix="draftproof-") as folder:
            # The same seeds for every problem, so that each can be replayed alone.
            seeds = np.random.default_rng(self.report.seed).choice(2**31, self.samples, replace=False).tolist()
            jobs = [self._job(problem, Path(folder, str(k)), seeds) for k, problem in enumerate(self.problems)]
            last = self._sampled(jobs)
        for job, problem in enumerate(self.problems):
            if failure := self.failures.setdefault(job, last):
                kind, why = failure
                self.report.fail(kind, f"on problem {problem.name}, after {self.counts[job].total()} samples: {why}")

    def _sampled(self, jobs: Sequence[Mapping[str, Any]]) -> list[str]:
        """Sample the jobs in a child process. Return how it ended, of which the jobs that did not end have failed."""
        failure = ["crash", "it ended too early"]
        limits = TimeLimits(self.timeout)
        child = ChildProcess("draftproof.reports.audits.engines.child", memory=self.memory, limits=limits)
        try:
            child.send(sample=self.engine.sample, jobs=jobs, settings=self.settings, packages=self.engine.packages)
            child.expect("sampling", None)
            while "job" in (answer := child.receive()):
                for text, n in answer["counts"]:
                    self.counts[answer["job"]][tuple(text)] += n
                if "ended" in answer:
                    self.failures[answer["job"]] = answer["ended"]
                done = sum(counts.total() for counts in self.counts)
                self.progress(self.engine.name, done, len(jobs) * self.samples)
            failure = answer.get("failure", failure)
            self.report.environment |= answer.get("versions", {})
            self.report.subject["digest"] = answer.get("digest", "unknown")
            child.end(LAST_SECONDS)
        except RunFailed as error:
            failure = [error.kind, error.message]
        except KeyboardInterrupt:
            failure = ["interrupted", "interrupted; what was counted before is in the report"]
        finally:
            child.end()
        return failure

    def evidence(self, complete: bool) -> list[Evidence]:
        how = {"sampling": PLAIN if self.plain else DRAFT, "seed": self.report.seed, "settings": self.settings}
        return [
            self._with_replay(
                judged(problem, counts, ALPHA / len(self.problems), complete=self.failures.get(job) is None)
                .with_detail(**how, **size_of(problem))
            )
            for job, (problem, counts) in enumerate(zip(self.problems, self.counts))
            if counts
        ]  # fmt: skip

    def _with_replay(self, evidence: Evidence) -> Evidence:
        """Add the command that shows a refutation again, on its problem alone."""
        if not evidence.witness:
            return evidence
        replay = command_line(
            "engine", self.engine.name, problem=compact(evidence.witness.problem),
            samples=self.samples, seed=self.report.seed, plain=self.plain, set=assignments(self.settings),
        )  # fmt: skip
        return replace(evidence, replay=replay)

    def _job(self, problem: Problem, folder: Path, seeds: list[int]) -> dict[str, Any]:
        forged = forge(problem, folder)
        draft = None if self.plain else str(forged.draft)
        return {"target": str(forged.target), "draft": draft, "start": forged.start, "tokens": text_length(problem),
                "gamma": problem.gamma, "seeds": seeds}  # fmt: skip
