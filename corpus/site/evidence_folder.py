"""Runs that are kept: a folder for each, with what the run wrote and what it was run on.

corpus/site/evidence/NAME/: run.json (``RunFacts``) and report.json of ``audit``, ``e2e`` and ``engine``, or tables.json
and tables.md of ``tables``. The documentation's build makes their pages, and a table with a row for each
(``runs_table``).
"""

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from draftproof.models.digests import environment, processor
from draftproof.models.errors import InputError

RUN, REPORT, TABLES = "run.json", "report.json", "tables.json"
WRITES = {
    "audit": ("--json", REPORT),
    "e2e": ("--json", REPORT),
    "engine": ("--json", REPORT),
    "server": ("--json", REPORT),
    "tables": ("--out", ""),
}
"""Commands that can be kept, with the options by which they write into the folder."""

HEAD = (
    "| run | device | command | verdict | tokens a target call | times plain decoding's speed | date |\n"
    "|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class RunFacts:
    """The facts of a run. command: runs it again. date: UTC, of its end. seconds: elapsed. status: its exit status.

    device, driver: of the GPU as nvidia-smi has them, or the processor and "none". environment: versions.
    """

    command: str
    date: str
    seconds: float
    status: int
    device: str
    driver: str
    environment: Mapping[str, str]


def run_of(words: Sequence[str], seconds: float, status: int) -> RunFacts:
    """Return the facts of a run that has just ended. words: those of the command, without the options of WRITES."""
    gpu = _gpu() if any("cuda" in word for word in words) else None
    device, driver = gpu or (processor(), "none")
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return RunFacts(shlex.join(["draftproof", *words]), date, round(seconds, 1), status, device, driver, environment())


def _gpu() -> tuple[str, str] | None:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        first = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return None
    name, _, driver = first.partition(", ")
    return name, driver


@dataclass(frozen=True)
class Kept:
    """A folder that is kept. report: that of the run, None for tables."""

    name: str
    run: RunFacts
    report: Mapping[str, Any] | None

    @property
    def line(self) -> str:
        """Return the row of a table with the columns of HEAD."""
        figures = ["", ""]
        verdict = f"exit status {self.run.status}"
        if self.report:
            verdict = self.report["verdict"]
            figures = [_figure(self.report, name) for name in ("block_efficiency", "wall_clock_speedup")]
        cells = [self.name, self.run.device, f"`{self.run.command}`", verdict, *figures, self.run.date[:10]]
        return f"| {' | '.join(cells)} |"


def _figure(report: Mapping[str, Any], name: str) -> str:
    value = report.get(name)
    if value is None:
        return ""
    interval = report.get("end_to_end", {}).get("figures", {}).get(f"{name}_interval")
    return f"{value:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def write_run(folder: Path, run: RunFacts) -> None:
    """Add run.json to the folder."""
    (folder / RUN).write_text(json.dumps(asdict(run), indent=1) + "\n", encoding="utf-8")


def kept(folder: Path) -> Kept:
    """Return a folder that is kept. Raises: InputError that says what is missing or wrong."""
    try:
        run = RunFacts(**json.loads((folder / RUN).read_text(encoding="utf-8")))
        report = None if (folder / TABLES).is_file() else json.loads((folder / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{folder}: {error}; expected {RUN} with {REPORT} or {TABLES}, as the command evidence writes them"
        ) from None
    if report and report["environment"].get("torch") != run.environment.get("torch"):
        raise InputError(
            f"{folder}: its report was made with torch {report['environment'].get('torch')}, not in this run"
        )
    return Kept(folder.name, run, report)


def runs_table() -> str:
    """Return the kept runs of this project as a table in Markdown."""
    folders = sorted(file.parent for file in Path(__file__).with_name("evidence").glob(f"*/{RUN}"))
    return "\n".join([HEAD, *(kept(folder).line for folder in folders)])
