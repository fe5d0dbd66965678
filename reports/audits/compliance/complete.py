"""Whether the report of an audit has evidence on every problem that its plan gives it."""

from collections.abc import Mapping
from typing import Any

from ....models.battery import audit_battery, own_problems
from ....verifiers.registry import REFERENCES
from ..report import Report


def left_out(part: Mapping[str, Any]) -> list[str]:
    """Names of problems on which an audit that ended says nothing of losslessness in one of its kinds of numbers.

    Guarantee: of the problems that the plan names, and of those of every audit without any; not of restated and wide
    ones, nor of rules for draft trees.
    """
    if part["kind"] != "audit" or part["state"] != "done" or "report" not in part:
        return []
    report, given = Report.from_json(part["report"]), part["options"].get("problems", ())
    if report.scope and report.scope.drafting:
        return []
    names = set(report.subject.get("problems", ()))
    if not given:
        names = {problem.name for problem in [*audit_battery(), *own_problems(report.seed)]}
    elif part["options"].get("subject") not in REFERENCES and len(names) != len(given):
        return ["one that the plan names"]
    absent: set[str] = set()
    for dtype in report.subject["dtypes"]:
        absent |= names - {e.problem for e in report.evidence if e.claim == "lossless" and e.dtype == dtype}
    return sorted(absent)
