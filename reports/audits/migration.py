"""Reading reports of earlier versions of report.schema.json."""

import copy
from collections.abc import Mapping
from typing import Any

from ...models.errors import InputError

SCHEMA_VERSION = "2.0"

_SMALLEST = "smallest-of-"
"""How version 1.0 named the problem of the smallest witness."""


def migrated(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report in the form of the present version; the one given stays as it is.

    Raises: InputError for a version that is not known.
    """
    version = report.get("schema_version")
    if version == SCHEMA_VERSION:
        return dict(report)
    if version != "1.0":
        raise InputError(f"report of version {version!r}: expected {SCHEMA_VERSION}, or 1.0")
    return _from_1_0(copy.deepcopy(dict(report)))


def _from_1_0(report: dict[str, Any]) -> dict[str, Any]:
    """1.0 had columns of the table in the detail of evidence, and the smallest witness marked in a problem's name."""
    for item in report["evidence"]:
        for column in ("how", "worst", "limit"):
            item["detail"].pop(column, None)
        name = item["problem"] or ""
        if item["witness"]:
            item["witness"]["smallest"] = name.startswith(_SMALLEST)
        item["problem"] = item["problem"] and name.removeprefix(_SMALLEST)
    if "end_to_end" in report:
        report["end_to_end"]["mutant"] = report["end_to_end"].pop("defect")
    return report | {"schema_version": SCHEMA_VERSION}
