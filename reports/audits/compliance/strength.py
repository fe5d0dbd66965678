"""Kinds of evidence, by what they can show: of proofs, and of what contradicts itself."""

from collections.abc import Mapping
from typing import Any

from ....verifiers.evidence import Evidence, Strength

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
