"""Reports as JUnit's XML, for any CI: a test case for each claim that was examined, or for each requirement."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...verifiers.evidence import REFUTED
from ..audits.compliance.requirements import FAILED, MET, OPEN
from ..audits.report import Report
from .summary import speaks_of, summaries

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML can hold."""


class JUnitCase(NamedTuple):
    """A test case. name: its name. outcome: passed, failure, error or skipped. text: why."""

    name: str
    outcome: str
    text: str


def junit(report: Report) -> str:
    """Return a case for each claim, in each precision, by each method: passed only if it holds.

    What decides nothing is skipped: no evidence, and what is refuted of a claim that does not decide the report's
    verdict. A claim that decides and was not examined is an error.
    """
    cases = []
    for row in summaries(report):
        said = (f"{row.verdict} on {row.problems}", row.how, row.worst, row.limit and f"limit {row.limit}")
        about, outcome = ", ".join(filter(None, said)), row.verdict.junit
        same = [e for e in report.evidence if (e.claim, e.dtype) == (row.claim, row.dtype)]
        shown = next((e for e in same if e.refuted and e.witness), None)
        if row.verdict is REFUTED and shown:
            about += f"\n{shown.problem}: {shown.witness}\nreplay: {shown.replay}"
        if outcome == "failure" and row.claim not in report.claims:
            outcome, about = "skipped", f"does not decide: {about}"
        cases.append(JUnitCase(f"{row.claim}, {row.dtype}, {row.how}", outcome, about))
    unexamined = [claim for claim in report.claims if claim not in {e.claim for e in report.evidence}]
    cases += [JUnitCase(claim, "error", "it decides the verdict, and was not examined") for claim in unexamined]
    if report.failure or not cases:
        why = report.failure["message"] if report.failure else "nothing was examined"
        cases.append(JUnitCase("the audit came to its end", "error", why))
    return _xml(report.subject["name"], cases, {"verdict": report.reading, "scope": speaks_of(report)})


def junit_of_requirements(document: Mapping[str, Any]) -> str:
    """Return a case for each requirement: passed only if it is met. What is open is an error, since a CI ignores what
    is skipped.

    What is sampled only is skipped: nothing was refuted. Each with what would close it.
    """
    outcomes = {MET: "passed", FAILED: "failure", OPEN: "error"}
    cases = [
        JUnitCase(
            f"{r['id']}: {r['statement']}",
            outcomes.get(r["verdict"], "skipped"),
            "\n".join([r["reading"], *r["closing"]]),
        )
        for r in document["requirements"]
    ]
    return _xml(document["title"], cases, {"verdict": document["verdict"], "date": document["date"]})


def _xml(suite: str, cases: Iterable[JUnitCase], properties: Mapping[str, str]) -> str:
    made = list(cases)
    counts = {f"{kind}s" if kind != "skipped" else kind: str(sum(case.outcome == kind for case in made))
              for kind in ("failure", "error", "skipped")}  # fmt: skip
    root = ET.Element("testsuites")
    element = ET.SubElement(root, "testsuite", {"name": _clean(suite), "tests": str(len(made)), **counts})
    listed = ET.SubElement(element, "properties")
    for name, value in properties.items():
        ET.SubElement(listed, "property", {"name": f"draftproof.{name}", "value": _clean(value)})
    for case in made:
        one = ET.SubElement(
            element, "testcase", {"classname": _clean(f"draftproof.{suite}"), "name": _clean(case.name)}
        )
        if case.outcome != "passed":
            first, _, rest = _clean(case.text).partition("\n")
            ET.SubElement(one, case.outcome, {"message": first}).text = rest or None
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return NOT_XML.sub("\ufffd", str(text))
