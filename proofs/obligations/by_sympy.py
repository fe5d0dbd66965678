"""Identities of rational functions, and the closed forms derived from the code."""

from collections.abc import Iterator

from ...verifiers.evidence import HOLDS, REFUTED
from ..proving import Proof, ProofResult
from ..symbolic.derivations import DERIVATIONS
from ..symbolic.validity_identity import deviations


def proofs() -> Iterator[Proof]:
    """One entry an identity's size, and one a closed form."""

    def identity(vocabulary, gamma) -> ProofResult:
        wrong, sequences, variables = deviations(vocabulary, gamma)
        detail = f"{wrong} of {sequences} sequences deviate; {variables} variables"
        return ProofResult(REFUTED if wrong else HOLDS, detail)

    for vocabulary, gamma in ((2, 3), (3, 3), (4, 3)):
        size = f"all rows, V {vocabulary}, gamma {gamma}"
        yield Proof("theorem-1", "sympy", "the sub-block law with any mass kept", size,
                    lambda v=vocabulary, g=gamma: identity(v, g))  # fmt: skip
    for d in DERIVATIONS:
        yield Proof(d.claim, "sympy", d.name, d.size, lambda d=d: ProofResult(HOLDS if d.check() else REFUTED))
