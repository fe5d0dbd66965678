"""Reports of real runs, kept, from which every surface is tested; ``make.py`` made them."""

import json
from pathlib import Path
from typing import Any

from draftproof.reports.audits.report import Report

FOLDER = Path(__file__).parent


def golden(name: str) -> Any:
    """Return the JSON of a kept report, of an audit or of another kind."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def golden_report(name: str) -> Report:
    """Return the kept report of an audit."""
    return Report.from_json(golden(name))
