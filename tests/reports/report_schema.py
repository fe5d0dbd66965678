"""The schema of reports."""

from typing import Any

from jsonschema import Draft202012Validator

from draftproof.reports.audits.report_form import report_schema

SCHEMA = report_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def validate(report: dict[str, Any]) -> None:
    """Raises jsonschema's ValidationError."""
    VALIDATOR.validate(report)
