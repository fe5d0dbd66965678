"""Proofs for every vocabulary and every gamma, checked by Coq: in a clone, which has the sources and what runs them."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ...verifiers.evidence import NO_EVIDENCE
from ..proving import Proof, ProofResult
from ..statements import standing

SOURCES = Path(__file__).parents[1] / "mechanized"
"""Folder of Coq's files, which a clone has."""

NOT_HERE = (
    "Coq's sources and what runs them are in a clone of draftproof and in its source distribution, not in the wheel"
)


def proofs(claims: Sequence[str], **options: Any) -> Iterator[Proof]:
    """Yield one proof for each claim; if Coq cannot be run, each says so. options: of ``coq.Build``."""
    if SOURCES.is_dir():
        yield from import_module("draftproof.corpus.coq.theorems").proofs(claims, **options)
        return
    for row in standing():
        if row["method"] == "coq":
            yield Proof(row["claim"], "coq", row["what"], row["size"], lambda: ProofResult(NO_EVIDENCE, NOT_HERE))
