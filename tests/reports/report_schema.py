"""The schema of reports, as it is shipped."""

import json
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

SCHEMA = json.loads((files("draftproof.reports.audits") / "report.schema.json").read_text(encoding="utf-8"))
Draft202012Validator.check_schema(SCHEMA)


def validate(report: dict[str, Any]) -> None:
    """Raises jsonschema's ValidationError."""
    Draft202012Validator(SCHEMA).validate(report)
