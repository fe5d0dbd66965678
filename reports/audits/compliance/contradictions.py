"""What cannot be in the report of a part, whatever was measured: what its evidence does not give, or leaves out."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ....models.battery import audit_battery, own_problems
from ....models.json_files import plain
from ....models.path_rows import path_battery
from ....verifiers.adapters.registry import ENGINES
from ....verifiers.registry import REFERENCES
from ..report import Report
from .plan import DONE, Collected


def contradictions_of_report(got: Collected, ours: bool) -> Iterator[str]:
    """Say what in a part's report is not what its evidence gives, or not what the plan names.

    ours: whether this code made it, so that the problems of every audit are known.
    """
    said: dict[str, Any] = got.report or {}
    options, report, subject = got.options, Report.from_json(said), said["subject"]
    yield from untrue(said, report, said if ours else ("verdict", "scope", "not_examined"))
    name = options.get("subject") if got.kind == "audit" else options.get("engine")
    if name and (got.kind == "audit" or name in ENGINES) and subject["name"] != name:
        yield f"is of {subject['name']}, the plan names {name}"
    if "subject" in options and options.get("dtypes", subject["dtypes"]) != subject["dtypes"]:
        yield "is of other numbers than the plan names"
    if ours and got.kind == "audit" and got.state == DONE and (absent := left_out(report, options)):
        yield f"has no evidence on {', '.join(absent[:3])}"


def untrue(said: dict[str, Any], report: Report, fields: Iterable[str]) -> Iterator[str]:
    """Say what a report's JSON form states that its own evidence does not give. report: read from it."""
    gives = plain(report.as_json())
    for field in fields:
        if field in said and json.dumps(said[field], sort_keys=True) != json.dumps(gives.get(field), sort_keys=True):
            stated = f": it says {said[field]}, and its evidence says {gives[field]}" if field == "verdict" else ""
            yield f"{field} is not what its evidence gives{stated}"
    for e in report.evidence:
        beyond = e.total_variation is not None and e.bound is not None and e.total_variation > e.bound
        if e.claim == "lossless" and e.holds and e.strength.decides and (beyond or e.witness):
            yield f"holds on {e.problem}, and deviates by more than it allows"


def left_out(report: Report, options: dict[str, Any]) -> list[str]:
    """Return the problems on which an audit with these options says nothing of losslessness in one of its dtypes.

    Guarantee: of the problems that the plan names, and of those of every audit without any; not of restated and wide
    ones, nor of rules for draft trees.
    """
    given, names = options.get("problems", ()), set(report.subject.get("problems", ()))
    if report.scope and report.scope.drafting:
        return []
    if not given:
        on_paths = [] if options.get("quick") else path_battery()
        names = {problem.name for problem in [*audit_battery(), *own_problems(report.seed), *on_paths]}
    elif options.get("subject") not in REFERENCES and len(names) != len(given):
        return ["one that the plan names"]
    examined = {(e.problem, e.dtype) for e in report.evidence if e.claim == "lossless"}
    dtypes = report.subject["dtypes"]
    return sorted(name for name in names if not all((name, dtype) in examined for dtype in dtypes))
