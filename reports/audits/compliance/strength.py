"""Kinds of evidence, by what they can show."""

from collections.abc import Mapping
from math import isnan
from typing import Any

from ....verifiers.evidence import NO_EVIDENCE, Evidence
from ..scope import SAMPLED as SAMPLING_METHODS

STRENGTHS = {
    "proof": "proof",
    "partial": "proof of the sizes, rules and cases stated",
    "symbolic": "proof for all models of a size",
    "certificate": "certificate, checked, on single problems",
    "exact": "exact enumeration",
    "lattice": "exact enumeration, on the lattice",
    "resolution": "law to a stated resolution",
    "driven": "driven on the lattice",
    "observed": "everything compared that this run did",
    "sampled": "sampled, with a detection limit",
    "none": "none",
}
"""Kinds of evidence, from the strongest on, in words."""

DECIDES = ("proof", "partial", "symbolic", "certificate", "exact", "lattice", "resolution", "driven")
"""Kinds that decide; the others can refute and cannot show more than that nothing was refuted."""

PROOF_STRENGTH = {
    "coq": "proof",
    "z3": "symbolic",
    "sympy": "symbolic",
    "certificate": "certificate",
    "enumeration": "exact",
}

EVERY_SIZE = ("every V, gamma, models with zeros, real field", "any finitely many real values")
"""Sizes of which Coq's proofs are of the whole claim; what is stated otherwise is of a part of it, or under assumptions."""

OBSERVING = ("reading", "forward-pass", "warp", "listening", "ends")
"""Methods that compare what a run did, and all of it."""


def strength_of(e: Evidence) -> str:
    """The kind of a piece of evidence, a key of STRENGTHS; of a method or a law of which it is not known, the weakest."""
    if e.method in OBSERVING:
        return "observed"
    if e.method in SAMPLING_METHODS or e.method == "mean":
        return "sampled"
    if e.verdict == NO_EVIDENCE:
        return "none"
    if e.bound is not None and isnan(e.bound):
        return "observed"
    if e.method in ("enumeration", "closed-form", "interception", "driving"):
        walked = "exact" if "chance" in e.detail else ""  # a loop's: every way that chance can fall
        kind = str(e.detail.get("exactness", walked))
        return kind if kind in DECIDES else "observed"
    return "observed"


def contradicts_itself(e: Evidence) -> bool:
    """Whether it says that a law holds which deviates by more than it allows, or has a witness."""
    beyond = e.total_variation is not None and e.bound is not None and e.total_variation > e.bound
    return e.claim == "lossless" and e.holds and strength_of(e) in DECIDES and bool(beyond or e.witness)


def proof_strength(row: Mapping[str, Any]) -> str:
    """The kind of a row of proofs: of Coq's, a proof only where it is of every size, and under no further condition."""
    if row["method"] == "coq" and row["size"] not in EVERY_SIZE:
        return "partial"
    return PROOF_STRENGTH[row["method"]]
