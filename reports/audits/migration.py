"""Reads reports of earlier versions of report.schema.json."""

import copy
from collections.abc import Mapping
from typing import Any

from ...models.errors import InputError

SCHEMA_VERSION = "2.2"

_SMALLEST = "smallest-of-"
"""Prefix by which version 1.0 named the problem of the smallest witness."""

_CAMPAIGN = ("samples", "resumed", "seconds", "samples_per_second", "cluster", "chunk", "counts", "counts_digest")
"""Top-level fields of the campaigns' own format, whose version was 1.0 as well."""


def migrated(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report in the form of the present version; the one given is not changed.

    Raises: InputError for a version that is not known.
    """
    version = report.get("schema_version")
    if version == SCHEMA_VERSION:
        return dict(report)
    if version not in ("1.0", "2.0", "2.1"):
        raise InputError(f"report of version {version!r}: expected {SCHEMA_VERSION}, 2.1, 2.0 or 1.0")
    copied = copy.deepcopy(dict(report))
    if version == "1.0":
        copied = _from_1_0(_campaign_as_report(copied) if "counts_digest" in copied else copied)
    if version != "2.1":
        copied = _from_2_0(copied)
    verdict = copied.get("verdict")  # called lossless until 2.1: a word that is kept for what is proved
    return copied | {"schema_version": SCHEMA_VERSION, "verdict": "holds" if verdict == "lossless" else verdict}


def _from_2_0(report: dict[str, Any]) -> dict[str, Any]:
    """Add the kind of each detail, which 2.0 did not state."""
    for item in report.get("evidence", ()):  # of what is missing the types speak
        item["detail"]["kind"] = _kind(item["method"], item["detail"])
    return report


def _kind(method: str, detail: Mapping[str, Any]) -> str:
    if method in ("enumeration", "interception", "driving"):
        kinds = {"chance": "loop-law", "ids_called": "wide-law", "missed": "driven-law"}
        return next((kind for key, kind in kinds.items() if key in detail), "law")
    if method == "chi-square":
        return "texts" if "tokens" in detail else "samples"
    kinds = {"sampling campaign": "campaign", "closed-form": "bias", "forward-pass": "rows", "warp": "rows",
             "rows alone and together": "plain"}  # fmt: skip
    return kinds.get(method, method)


def _from_1_0(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report in version 2.0.

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
        if name.startswith(_SMALLEST):
            item["problem"] = f"{name.removeprefix(_SMALLEST)}-shrunk"
    if "end_to_end" in report:
        run = report["end_to_end"]
        run["mutant"], run["command"] = run.pop("defect"), _renamed(run["command"])
    return report


def _campaign_as_report(campaign: dict[str, Any]) -> dict[str, Any]:
    """Return a campaign of version 1.0 as a report of that version."""
    figures = {name: campaign.pop(name) for name in _CAMPAIGN}
    subject = campaign["subject"]
    source = {name: subject.pop(name) for name in [*subject] if name not in ("name", "source")}
    for item in campaign["evidence"]:
        item["replay"] = None
    nothing: dict[str, Any] = {"diagnosis": [], "findings": [], "failure": None, "curves": [], "standing": []}
    return campaign | nothing | {
        "subject": subject | {"digest": "unknown", "dtypes": []}, "claims": ["lossless"], "environment": {},
        "campaign": figures | {"source": source},
    }  # fmt: skip


def _facts_shown(method: str, worst: str, limit: str) -> dict[str, Any]:
    """Return the facts that 1.0 kept only in the columns of the table."""
    if method in ("forward-pass", "warp", "betting"):
        return {"too_wide": limit == "drift too wide to judge"}
    if method == "ends":
        return {"wrong_ends": int(worst.split()[0])}
    return {"detection_limit": float(limit.split()[0])} if method == "mean" else {}


def _renamed(command: str) -> str:
    """Return a command line with the present name of its option."""
    return command.replace(" --defect ", " --mutant ")
