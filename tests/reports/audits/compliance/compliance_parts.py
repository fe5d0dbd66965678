"""Plans, and parts of them that have evidence."""

from typing import Any

from draftproof.reports.audits.compliance.plan import Collected, Part
from draftproof.tests.reports.report_parts import report_on

REQUIRED = {"R": 'statement = "s"\nclaim = "lossless"'}


def plan_text(parts, requirements=REQUIRED):
    """The text of a plan. parts, requirements: id -> the text of the other fields."""
    tables = [("part", *one) for one in parts.items()] + [("requirement", *one) for one in requirements.items()]
    return '[plan]\ntitle = "t"\n' + "".join(f'[[{kind}]]\nid = "{name}"\n{rest}\n' for kind, name, rest in tables)


def got(*evidence, **fields) -> Any:
    """What an audit of a plan gave."""
    part = Part("a", "audit", {"subject": "f.py:f"})
    return Collected.of(part, report=report_on(*evidence, **fields).as_json())
