"""Evidence, and parts of compliance plans that have it."""

from typing import Any

from draftproof.reports.audits.compliance.plan import Collected, Part
from draftproof.reports.audits.report import Report
from draftproof.tests.reports.typed_details import detail_by
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, Evidence, Method

REQUIRED = {"R": 'statement = "s"\nclaim = "lossless"'}


def plan_text(parts, requirements=REQUIRED):
    """The text of a plan. parts, requirements: id -> the text of the other fields."""
    tables = [("part", *one) for one in parts.items()] + [("requirement", *one) for one in requirements.items()]
    return '[plan]\ntitle = "t"\n' + "".join(f'[[{kind}]]\nid = "{name}"\n{rest}\n' for kind, name, rest in tables)


def item(verdict=HOLDS, method="interception", claim="lossless", problem="p", **fields):
    exactness = {"exactness": "lattice"} if method == "interception" and verdict != NO_EVIDENCE else {}
    detail = detail_by(method, **{"dtype": "float64", **exactness} | fields.pop("detail", {}))
    return Evidence(claim=claim, method=Method(method), verdict=verdict, problem=problem, detail=detail, **fields)


def report_on(*evidence, **fields) -> Report:
    report = Report(
        {"name": "f", "source": "f.py", "digest": "sha256:1", "dtypes": ["float64"], "convention": {}},
        environment={"transformers": "5.23.0"},
    )
    report.add(evidence)
    for name, value in fields.items():
        setattr(report, name, value)
    return report


def got(*evidence, **fields) -> Any:
    """What an audit of a plan gave."""
    part = Part("a", "audit", {"subject": "f.py:f"})
    return Collected.of(part, report=report_on(*evidence, **fields).as_json())
