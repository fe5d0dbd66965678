"""All adapters, engines and servers on a few problems each: the reports that the page of engines is made from."""

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from ....models.battery import drawn, own_problems, toy
from ....models.errors import InputError
from ....models.files import write_atomically
from ....models.problem import Problem
from ....verifiers.adapters.engines import ENGINES, Engine
from ....verifiers.adapters.registry import ADAPTERS, Adapter
from ..functions.audit import run_audit
from ..functions.settings import AuditSettings
from ..functions.subject import subject_from
from ..kept_rows import in_processes
from ..migration import migrated
from ..report import Report
from .audit import audit_engine

OUTSIDE = "-from-outside"
"""Ending of the names of engines that are audited from outside: some have an adapter too."""

RUNS = "runs.json"
TIMEOUT, INTERPRETED = 300.0, 40.0
"""Seconds for a problem; under Triton's interpreter, whose calls take milliseconds: fewer random requests confirm a law there."""
OUTSIDE_SAMPLES = {"transformers": 500}
"""Texts of each problem, of engines that are slow; 4,000 of the others."""

SURVEYED: dict[str, Adapter | Engine] = {**ADAPTERS, **{name + OUTSIDE: engine for name, engine in ENGINES.items()}}
"""What can be run here by name; servers have to be started, and their reports are put into the folder."""

NOT_RUN = {
    "FlashInfer, `chain_speculative_sampling`": "CUDA only: its kernels are compiled for a GPU when they are first called",
    "TensorRT-LLM": "CUDA only",
    "SGLang, `tree_speculative_sampling_target_only`": "CUDA only; of its chain kernel see above",
    "vLLM V1, Triton kernels": "CUDA only; the same rule is run above, in the operators compiled for CPUs",
    "vLLM V1, `-1` placeholders in the operators for CPUs": "the operator looks the token -1 up, so that what lies beside the row "
    "decides; vLLM's Triton kernel tests for it",
    "vLLM model runner V2, `fly` and `synthetic`; typical acceptance": "lossy by design: there is nothing to refute",
    "rtp-llm, exllamav3, lmdeploy": "CUDA only",
    "Hierarchical Speculative Decoding, several drafts": "its function with `multidraft` above 1 verifies draft trees, and its "
    "`EAGLE-3H` too; its `algorithm.py` uses names that it does not define. With one draft see above",
}
"""What could not be run, and why."""


class SurveyRun(NamedTuple):
    """When and on what a report was made. seconds: of processor time; None of a report that was put into the folder."""

    day: str
    machine: str
    seconds: float | None = None


def problems_of(adapter: Adapter, seed: int = 0) -> list[Problem]:
    """The paper's example and rows with zeros; of a further seed what an audit draws from it. Few for an interpreter.

    Own problems can have targets and drafts that are nearly the same, where accepting everything is right: rows without a
    scale stand beside them.
    """
    interpreted = "triton" in adapter.engines
    if seed:
        own = own_problems(seed)
        if interpreted:
            return [*(p for p in own if p.gamma * p.vocabulary <= 2), drawn(3, 1, "generic", seed)]
        return [*own, drawn(3, 2, "generic", seed)]
    few = [toy(2), drawn(3, 1, "zeros")]
    return few if interpreted else [*few, toy(3), drawn(3, 2, "zeros")]


def examined(what: Adapter | Engine, seed: int = 0) -> Report:
    """The report of an adapter, or of an engine from outside.

    seed: of an engine's texts; of an adapter's problems too, if it is not 0.
    """
    if isinstance(what, Engine):
        return audit_engine(what, samples=OUTSIDE_SAMPLES.get(what.name, 4_000), seed=seed)
    timeout = INTERPRETED if "triton" in what.engines else TIMEOUT
    settings = AuditSettings(problems=problems_of(what, seed), explain=False, timeout=timeout, seed=seed)
    return run_audit(subject_from(what.name), settings)


def survey(names: Sequence[str], folder: Path, workers: int = 1) -> Iterator[tuple[str, str]]:
    """Name and verdict of each of SURVEYED: those in the folder, then the others as they are made and kept there."""
    there = [name for name in names if (folder / f"{name}.json").is_file()]
    yield from [(name, _report(folder / f"{name}.json")["verdict"]) for name in there]
    for (name,), (text, run) in in_processes(_made, [(name,) for name in names if name not in there], workers):
        write_atomically(folder / f"{name}.json", text)
        write_atomically(folder / RUNS, json.dumps({**_written(folder), name: run._asdict()}, indent=1) + "\n")
        yield name, json.loads(text)["verdict"]


def _made(name: str) -> tuple[str, SurveyRun]:
    """The text of a report, and what it took."""
    since = _processor_time()
    text = examined(SURVEYED[name]).text()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return text, SurveyRun(date.today().isoformat(), machine, round(_processor_time() - since, 1))


def reports_in(folder: Path) -> dict[str, Mapping[str, Any]]:
    """All reports in the folder by name, those of SURVEYED first. Raises: InputError for a file that is none."""
    files = {file.stem: file for file in sorted(folder.glob("*.json")) if file.name != RUNS}
    names = [*(name for name in SURVEYED if name in files), *(name for name in files if name not in SURVEYED)]
    return {name: _report(files[name]) for name in names}


def _report(file: Path) -> dict[str, Any]:
    """Raises: InputError if it is none."""
    try:
        return migrated(json.loads(file.read_text(encoding="utf-8")))
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    except (ValueError, AttributeError, LookupError):
        raise InputError(
            f"{file}: no report of an audit; expected what --json writes, or the file not to be there"
        ) from None


def runs_in(folder: Path) -> dict[str, SurveyRun]:
    """When the reports in the folder were made; of one that was put there, the day of its file."""
    known = _written(folder)
    runs = {}
    for file in folder.glob("*.json"):
        day = date.fromtimestamp(file.stat().st_mtime).isoformat()
        runs[file.stem] = SurveyRun(**known[file.stem]) if file.stem in known else SurveyRun(day, platform.machine())
    return runs


def _written(folder: Path) -> dict[str, Any]:
    file = folder / RUNS
    try:
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except ValueError:
        raise InputError(f"{file}: not JSON; without it the days of the reports are those of their files") from None


def _processor_time() -> float:
    """Of this process and of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
