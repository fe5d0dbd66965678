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
    """The report in version 2.0.

    1.0 had columns of the table in the detail of evidence, marked the smallest witness by its problem's name, gave
    every witness the fields that its method had, and called mutants of loops defects.
    """
    for item in report["evidence"]:
        shown = {column: item["detail"].pop(column, "") for column in ("how", "worst", "limit")}
        item["detail"] |= _facts_shown(item["method"], shown["worst"], shown["limit"])
        name = item["problem"] or ""
        if item["witness"]:
            item["witness"]["smallest"] = name.startswith(_SMALLEST)
        item["replay"] = item["replay"] and _renamed(item["replay"])
        item["problem"] = item["problem"] and name.removeprefix(_SMALLEST)
    if "end_to_end" in report:
        run = report["end_to_end"]
        run["mutant"], run["command"] = run.pop("defect"), _renamed(run["command"])
    return report | {"schema_version": SCHEMA_VERSION}


def _facts_shown(method: str, worst: str, limit: str) -> dict[str, Any]:
    """What 1.0 kept in the columns of the table alone."""
    if method in ("forward-pass", "warp", "betting"):
        return {"too_wide": limit == "drift too wide to judge"}
    if method == "ends":
        return {"wrong_ends": int(worst.split()[0])}
    return {"detection_limit": float(limit.split()[0])} if method == "mean" else {}


def _renamed(command: str) -> str:
    """A command line with the present name of its option."""
    return command.replace(" --defect ", " --mutant ")
