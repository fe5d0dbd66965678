"""Kinds of evidence, by what they can show: of proofs; what contradicts itself, and what an audit left out."""

from collections.abc import Mapping
from typing import Any

from ....models.battery import audit_battery, own_problems
from ....verifiers.evidence import Evidence, Strength
from ....verifiers.registry import REFERENCES
from ..report import Report

PROOF_STRENGTH = {
    "coq": Strength.PROOF,
    "z3": Strength.SYMBOLIC,
    "sympy": Strength.SYMBOLIC,
    "certificate": Strength.CERTIFICATE,
    "enumeration": Strength.EXACT,
}

EVERY_SIZE = ("every V, gamma, models with zeros, real field", "any finitely many real values")
"""Sizes of which Coq's proofs are of the whole claim; others are of a part of it, or under assumptions."""


def contradicts_itself(e: Evidence) -> bool:
    """Whether it says that a law holds which deviates by more than it allows, or has a witness."""
    beyond = e.total_variation is not None and e.bound is not None and e.total_variation > e.bound
    return e.claim == "lossless" and e.holds and e.strength.decides and bool(beyond or e.witness)


def proof_strength(row: Mapping[str, Any]) -> Strength:
    """The kind of a row of proofs: of Coq's, a proof only where it is of every size, and under no further condition."""
    if row["method"] == "coq" and row["size"] not in EVERY_SIZE:
        return Strength.PARTIAL
    return PROOF_STRENGTH[row["method"]]


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
