"""All adapters and engines on a few problems each, and with fresh seeds: the reports their page is made from."""

import json
import os
import platform
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from draftproof.corpus.site.engine_modes import MODES, EngineMode
from draftproof.corpus.site.kept_rows import made_rows
from draftproof.models.battery import drawn, own_problems, toy
from draftproof.models.digests import EXAMINING, code_digest
from draftproof.models.errors import InputError
from draftproof.models.files import write_atomically
from draftproof.models.problem import Problem, tree_problem_from
from draftproof.models.store import Key, Store, stored
from draftproof.models.tree_battery import drawing
from draftproof.reports.audits.engines.audit import LEVELS, audit_engine
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.report_form import in_this_version
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.verifiers.adapters.registry import ADAPTERS, ENGINES, Adapter, Engine
from draftproof.verifiers.trees.draft_tree import TOP
from draftproof_engines.releases_audit import TIMEOUT, in_processes

OUTSIDE = "-from-outside"
"""Ending of the names of engines that are audited from outside: some have an adapter too."""

RUNS = "runs.json"
INTERPRETED = 40.0
"""Seconds for a problem under Triton's interpreter, whose calls take milliseconds: a law is confirmed by fewer."""
OUTSIDE_SAMPLES = {"transformers": 500}
"""Texts of each problem, of engines that are slow; 4,000 of the others."""

SURVEYED: dict[str, Adapter | Engine] = {
    **ADAPTERS,
    **MODES,
    **{name + OUTSIDE: engine for name, engine in ENGINES.items() if not name.startswith("draftproof-")},
}
"""What of others can be run here by name; servers have to be started, and their reports are put into the
folder."""

NOT_RUN: dict[str, str] = json.loads(Path(__file__).with_name("not_run.json").read_text(encoding="utf-8"))
"""What could not be run, and why."""


class SurveyRun(NamedTuple):
    """When and on what a report was made. seconds: of processor time; None of a report that was put into the folder."""

    day: str
    machine: str
    seconds: float | None = None


def tree_of(seed: int) -> Problem:
    """Two of the likeliest tokens, and at first the likeliest after the first of them: its engine draws no drafts."""
    rows = {"target": ["1/2", "3/10", "1/5"], "draft": ["1/5", "1/2", "3/10"]}
    if not seed:
        return drawing(tree_problem_from({"name": "rows", "vocabulary": 3, "gamma": 2, **rows}), 2, 1, how=TOP)
    return drawing(drawn(3, 1, "generic", seed), 2, how=TOP)


def cut_of(seed: int) -> Problem:
    """Return rows without ties, of which temperature 1/2, top-k 3 and top-p 3/4 leave two tokens or three."""
    rows = {"target": ["8/22", "7/22", "6/22", "1/22"], "draft": ["1/4", "3/4", "0", "0"]}
    if seed:
        draw = random.Random(f"cut/{seed}")
        for model in rows:
            weights = draw.sample(range(1, 30), 4)
            rows[model] = [f"{weight}/{sum(weights)}" for weight in weights]
    law = {"temperature": "1/2", "top_k": 3, "top_p": "3/4"}
    return tree_problem_from({"name": f"asked-{seed}", "vocabulary": 4, "gamma": 2, **rows, "law": law})


ASKED: dict[tuple[str, ...], Callable[[int], Problem]] = {("tree",): tree_of, ("cut",): cut_of}
"""Problems of modes that take no others, from a seed."""


def problems_of(adapter: Adapter, seed: int = 0) -> list[Problem]:
    """The paper's example and rows with zeros; of a further seed what an audit draws from it. Few for an interpreter.

    Own problems can have targets and drafts that are nearly the same, where accepting everything is right: rows without
    a scale stand beside them.
    """
    if isinstance(adapter, EngineMode) and adapter.problems:
        if adapter.problems in ASKED:
            return [ASKED[adapter.problems](seed)]
        if not seed:
            named = {"toy1": toy(1), "toy2": toy(2), "zeros1": drawn(3, 1, "zeros")}
            return [named[name] for name in adapter.problems]
        return [drawn(3, 1, ("zeros", "generic")[seed % 2], seed)]
    interpreted = "triton" in adapter.engines
    if seed:
        own = own_problems(seed)
        if interpreted:
            return [*(p for p in own if p.gamma * p.vocabulary <= 2), drawn(3, 1, "generic", seed)]
        return [*own[seed % 2 :: 2], drawn(3, 2, "generic", seed)]
    few = [toy(2), drawn(3, 1, "zeros")]
    return few if interpreted else [*few, toy(3), drawn(3, 2, "zeros")]


def examined(what: Adapter | Engine, seed: int = 0) -> Report:
    """Return the report of an adapter, or of an engine from outside.

    seed: of an engine's texts; of an adapter's problems too, if it is not 0.
    """
    if isinstance(what, Engine):
        samples = OUTSIDE_SAMPLES.get(what.name, 4_000)
        return audit_engine(what, samples=samples, levels=LEVELS if what.exact else LEVELS[1:], seed=seed)
    timeout = INTERPRETED if "triton" in what.engines else TIMEOUT
    settings = AuditSettings(problems=problems_of(what, seed), explain=False, timeout=timeout, seed=seed)
    if isinstance(what, EngineMode):
        subject = subject_from(what.target, what.array, what.dtypes)._replace(source=what.source)
        return run_audit(subject, settings)
    return run_audit(subject_from(what.name), settings)


def survey(names: Sequence[str], folder: Path, workers: int = 1) -> Iterator[tuple[str, str]]:
    """Name and verdict of each of SURVEYED: those in the folder, then the others as they are made and kept there."""
    there = {name: folder / f"{name}.json" for name in names if (folder / f"{name}.json").is_file()}
    yield from [(name, _report(file)["verdict"]) for name, file in there.items()]
    for (name,), (text, run) in in_processes(_made, [(name,) for name in names if name not in there], workers):
        write_atomically(folder / f"{name}.json", text)
        write_atomically(folder / RUNS, json.dumps({**_written(folder), name: run._asdict()}, indent=1) + "\n")
        yield name, json.loads(text)["verdict"]


def _made(name: str) -> tuple[str, SurveyRun]:
    """Return the text of a report, and what it took."""
    since = _processor_time()
    text = examined(SURVEYED[name]).text()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return text, SurveyRun(date.today().isoformat(), machine, round(_processor_time() - since, 1))


def reports_in(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return all reports in the folder by name, those of SURVEYED first. Raises: InputError for a file that is none."""
    files = {file.stem: file for file in sorted(folder.glob("*.json")) if file.name != RUNS}
    names = [*(name for name in SURVEYED if name in files), *(name for name in files if name not in SURVEYED)]
    return {name: _report(files[name]) for name in names}


def _report(file: Path) -> dict[str, Any]:
    """Raises: InputError if it is none."""
    try:
        return in_this_version(json.loads(file.read_text(encoding="utf-8")))
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
    """Return the processor time of this process and of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


SEEDS = "seeds.jsonl"
"""The file of the rows, in the folder of the page."""

WHAT = "engines audited with fresh seeds"
"""What the rows are, for their ``Store``."""

KNOWN_WRONG = frozenset({
    "vllm-ascend-block", "vllm-ascend-v2", "hsd", "openvino-genai-from-outside",
    *(mode.name for mode in MODES.values() if mode.lossy),
})  # fmt: skip
"""Names whose emitted text is known not to follow the target."""

OF_ITS_BATCH = frozenset({"sglang-jax", "sglang-jax-tree", "tpu-inference"})
"""Names of which what a request emits is known to depend on its batch, and whose text alone is not refuted."""


def seed_rows(names: Iterable[str], seeds: int, file: Path, workers: int = 1) -> Iterator[dict[str, Any]]:
    """One row for each name and seed from 1 to seeds - 1: those in the file, then the others as they become known."""
    names = [*names]
    file.parent.mkdir(parents=True, exist_ok=True)
    with Store(file, WHAT, valid_for=code_digest(EXAMINING)) as store:
        wanted = [(name, seed) for seed in range(1, seeds) for name in names]
        yield from (_named(key, store.rows[key]) for key in wanted if key in store.rows)
        yield from (_named(key, row) for key, row in made_rows(store, wanted, _examined, workers))


def _named(key: Key, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": key[0], "seed": key[1], **row}


def _examined(name: str, seed: int) -> dict[str, Any]:
    return seed_row(examined(SURVEYED[name], seed))


def seed_row(report: Report) -> dict[str, Any]:
    """What is kept of the report of a fresh seed; of a server also its texts of each kind of request and the limits."""
    laws = [e for e in report.evidence if e.claim == "lossless"]
    sampled = {}
    if report.server:
        kinds = report.server["kinds"].values()
        limits = [float(e.bound) for e in laws if e.bound is not None] or [1.0]
        sampled = {"texts": min(kind["counted"] for kind in kinds), "limits": [max(limits), min(limits)]}
    return sampled | {
        "verdict": report.verdict, "problems": len({e.problem for e in laws}),
        "refuted": [f"{e.claim} on {e.problem}" for e in report.evidence if e.refuted and e.claim in report.claims],
        "failure": report.failure and report.failure["message"], "day": date.today().isoformat(),
    }  # fmt: skip


def unexpected(row: Mapping[str, Any]) -> bool:
    """Return whether a known bug was not refuted, or something else was."""
    known = row["name"] in OF_ITS_BATCH and of_batches_alone(row)
    return (row["verdict"] == "refuted" and not known) != (row["name"] in KNOWN_WRONG)


def of_batches_alone(row: Mapping[str, Any]) -> bool:
    """Return whether nothing but what a request emits beside others was refuted."""
    return all(claim.startswith("batch ") for claim in row["refuted"])


class SeedCount(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What fresh seeds of one name came to, under one state of the code.

    seeds: their numbers, with commas. refuted: how many of them; batches: those of them of which batches alone were.
    other: verdicts that are not as they are known to be. day: of the last one. texts: of a server, of each kind of
    request, at least. limit: the largest total variation that all texts of a seed together would not show.
    """

    name: str
    seeds: str
    refuted: int
    batches: int
    other: int
    code: str
    day: str
    texts: int = 0
    limit: float = 0.0

    @property
    def numbers(self) -> set[str]:
        return {*self.seeds.split(",")}

    def __str__(self) -> str:
        alone = f", {self.batches} of them of batches alone" if self.batches else ""
        return (
            f"{self.name}: refuted with {self.refuted} of {len(self.numbers)} fresh seeds{alone}, {self.other} "
            f"otherwise than known (code {self.code}, {self.day})"
        )


def seed_counts(folder: Path) -> list[SeedCount]:
    """Return what the rows in the folder say, for each name and state of the code."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for key, code, row in stored(folder / SEEDS, WHAT).rows:
        groups.setdefault((str(key[0]), code[:12]), []).append(_named(key, row))
    day = date.fromtimestamp((folder / SEEDS).stat().st_mtime).isoformat() if groups else ""
    return [
        SeedCount(
            name=name, code=code, seeds=",".join(map(str, sorted(row["seed"] for row in rows))),
            refuted=sum(row["verdict"] == "refuted" for row in rows),
            batches=sum(row["verdict"] == "refuted" and of_batches_alone(row) for row in rows),
            other=sum(map(unexpected, rows)), day=max(row.get("day", day) for row in rows),
            texts=min(row.get("texts", 0) for row in rows), limit=max(row.get("limits", [0.0])[-1] for row in rows),
        )
        for (name, code), rows in groups.items()
    ]  # fmt: skip
