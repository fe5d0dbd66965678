"""Evidence, and parts of compliance plans that have it."""

from draftproof.reports.audits.compliance.plan import Collected, Part
from draftproof.reports.audits.report import Report
from draftproof.tests.reports.typed_details import detail_by
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, Evidence, Method


def item(verdict=HOLDS, method="interception", claim="lossless", problem="p", **fields):
    exactness = {"exactness": "lattice"} if method == "interception" and verdict != NO_EVIDENCE else {}
    detail = detail_by(method, **{"dtype": "float64", **exactness} | fields.pop("detail", {}))
    return Evidence(claim=claim, method=Method(method), verdict=verdict, problem=problem, detail=detail, **fields)


def got(*evidence, **fields):
    report = Report(
        {"name": "f", "source": "f.py", "digest": "sha256:1", "dtypes": ["float64"], "convention": {}},
        environment={"transformers": "5.23.0"},
    )
    report.add(evidence)
    for name, value in fields.items():
        setattr(report, name, value)
    return Collected(Part("a", "audit", {"subject": "f.py:f"}), report=report.as_json())
