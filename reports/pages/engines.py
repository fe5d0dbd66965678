"""reports/engines.md: what audits of the adapted engines came to, made from their reports."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from ...models.battery import toy
from ...verifiers.adapters.registry import ADAPTERS, Adapter
from ..audits.functions.audit import run_audit
from ..audits.functions.settings import AuditSettings
from ..audits.functions.subject import subject_from
from ..audits.report import Report
from .summary import summaries

HEAD = """# Engines, audited

Written by `draftproof engines --out FOLDER` on {day}, {machine}. Each verifier is the engine's own code, unpacked by `make engines`
or installed, and not edited but as its report records (`{folder}/NAME.json`, `lifted`). The problems are few (the paper's
example, blocks of 2 and of 3; under Triton's interpreter of 2 alone): `draftproof audit NAME` has the battery. What *holds* is
refuted by nothing on these problems, to the limit stated, and is no proof; a CPU ran everything, and no kernel was compiled for a
GPU. Loops around the verifiers, samplers and temperatures are not examined.

| adapter | version | claims of itself | claim | numbers | verdict | on | how | worst | allowed |
|---|---|---|---|---|---|---|---|---|---|
"""


def audited(adapter: Adapter, folder: Path) -> dict[str, Any]:
    """The report of an engine in its JSON form, from the folder if it is there.

    Raises: InputError if it cannot be begun.
    """
    file = folder / f"{adapter.name}.json"
    if not file.is_file():
        problems = [toy(2)] if "triton" in adapter.engines else [toy(2), toy(3)]
        settings = AuditSettings(problems=problems, explain=False, timeout=300.0)
        report = run_audit(subject_from(adapter.name), settings)
        file.write_text(json.dumps(report.as_json(), indent=1) + "\n", encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


def page(reports: Mapping[str, Mapping[str, Any]], folder: str) -> str:
    """The text of the page. reports: by adapter; those of ADAPTERS that have none were not run, and why is said."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines, witnesses = [], []
    for name, data in reports.items():
        report = Report.from_json(dict(data))
        lines += _rows(ADAPTERS[name], report)
        if shown := report.shown_refutation():
            witnesses.append(f"- `{name}`, {shown.claim}: {shown.witness}. `{shown.replay}`")
    missing = [f"- `{a.name}`: {', '.join(a.missing()) or 'was not asked for'}" for a in ADAPTERS.values()
               if a.name not in reports]  # fmt: skip
    text = HEAD.format(day=date.today().isoformat(), machine=machine, folder=folder) + "\n".join(lines) + "\n"
    for title, items in (("Witnesses of what decides", witnesses), ("Not run, and what was missing", missing)):
        text += f"\n## {title}\n\n" + "\n".join(items or ["none"]) + "\n"
    return text


def _rows(adapter: Adapter, report: Report) -> Sequence[str]:
    lifted = report.subject.get("convention", {}).get("lifted", [])
    version = ", ".join(sorted({f"{one['engine']} {one['version']}" for one in lifted})) or report.environment.get(
        adapter.name, ""
    )
    if report.failure:
        return [f"| `{adapter.name}` | {version} | {adapter.claims} | | | error | | {report.failure} | | |"]
    return [
        f"| `{adapter.name}` | {version} | {adapter.claims} | {' | '.join(map(str, row))} |" for row in _cells(report)
    ]


def _cells(report: Report) -> list[tuple[str, ...]]:
    return [(s.claim, s.dtype, s.verdict, s.problems, s.how, s.worst, s.limit) for s in summaries(report)]
