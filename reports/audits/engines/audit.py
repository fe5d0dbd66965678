"""Engines from outside, end to end: what they emit on forged checkpoints against the law those were forged from."""

import json
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....models.battery import drawn_markov
from ....models.environment import environment
from ....models.errors import InputError
from ....models.forge import forge
from ....models.problem import Problem, problem_from
from ....verifiers.adapters.engines import ENGINES, Engine
from ....verifiers.evidence import Evidence
from ..functions.sampling import ALPHA
from ..report import Report
from .process import ENGINE_MEMORY, sampled
from .texts import judged, text_length


def engine_from(name: str) -> Engine:
    """The engine that a name on the command line means: a known one, or a function that samples from one.

    Raises: InputError if the name has neither form.
    """
    if name in ENGINES:
        return ENGINES[name]
    if ":" in name:
        return Engine(name, name, name)
    raise InputError(
        f"{name!r} is no engine; expected package.module:function, path/to/file.py:function, or one of "
        f"{', '.join(ENGINES)}"
    )


def engine_problems() -> list[Problem]:
    """A pair that any reader can follow, and one whose rows differ by context and have zeros."""
    row = ["2/5", "3/10", "1/5", "1/10"]
    reversed_ = {"vocabulary": 4, "gamma": 3, "target": row, "draft": row[::-1], "name": "reversed-V4-gamma3"}
    return [problem_from(reversed_), drawn_markov(3, 2, "zeros")]


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
    progress: Callable[[str, int, int], None] = lambda what, done, of: None,
) -> Report:
    """The report on an engine: its texts from a forged pair, each from a prompt of one <s>, against the target's law.

    What is tested, the guarantees and the bound of a pass: ``texts.judged``, at a false-alarm rate of 1e-6 over all
    problems. Every sample is a call with a seed of its own; that these are independent is up to the engine.
    plain: without the draft, as a control. timeout: seconds of wall-clock time for all problems.
    memory: GiB of address space of the child process. settings: the engine's own.
    Raises: InputError if the engine is not installed, or a problem cannot be forged or counted.
    """
    if missing := engine.missing():
        raise InputError(f"{engine.name} needs {' and '.join(missing)}; install draftproof[{engine.extra}]")
    problems, samples, settings = problems or engine_problems(), samples or engine.samples, dict(settings or {})
    report = Report(
        {"name": engine.name, "source": engine.source, "digest": "unknown", "dtypes": ["float32"]},
        seed=seed,
        environment=environment(),
    )
    progress("forging", 0, len(problems) * samples)
    with tempfile.TemporaryDirectory(prefix="draftproof-") as folder:
        # The same seeds for every problem, so that each can be replayed alone.
        seeds = np.random.default_rng(seed).choice(2**31, samples, replace=False).tolist()
        jobs = [_job(problem, Path(folder, str(k)), plain, seeds) for k, problem in enumerate(problems)]
        request = {"sample": engine.sample, "jobs": jobs, "settings": settings, "packages": engine.packages}
        found, about = sampled(request, timeout, lambda n: progress(engine.name, n, len(problems) * samples), memory)
    report.environment |= about.get("versions", {})
    report.subject["digest"] = about.get("digest", "unknown")
    how = {"sampling": "plain" if plain else "speculative", "seed": seed, "settings": settings}
    for problem, (counts, failure) in zip(problems, found, strict=True):
        if failure:
            report.fail(failure[0], f"on problem {problem.name}, after {sum(counts.values())} samples: {failure[1]}")
        if counts:
            evidence = judged(problem, counts, ALPHA / len(problems), complete=failure is None)
            evidence.detail |= how
            evidence.replay = _replay(engine, evidence, samples) if evidence.witness else None
            report.add(None, [evidence])
    return report


def _job(problem: Problem, folder: Path, plain: bool, seeds: list[int]) -> dict[str, Any]:
    forged = forge(problem, folder)
    return {
        "target": str(forged.target),
        "draft": None if plain else str(forged.draft),
        "start": forged.start,
        "tokens": text_length(problem),
        "gamma": problem.gamma,
        "seeds": seeds,
    }


def _replay(engine: Engine, evidence: Evidence, samples: int) -> str:
    """The command that shows a refutation again, on its problem alone."""
    problem = json.dumps(evidence.witness["problem"], separators=(",", ":"))
    words = ["draftproof", "engine", engine.name, "--problem", problem, "--samples", str(samples)]
    words += ["--seed", str(evidence.detail["seed"])]
    words += ["--plain"] if evidence.detail["sampling"] == "plain" else []
    for name, value in evidence.detail["settings"].items():
        words += ["--set", f"{name}={json.dumps(value)}"]
    return shlex.join(words)
