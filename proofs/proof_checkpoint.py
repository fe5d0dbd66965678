"""The rows of a run of proofs in a file, so that a run that was stopped goes on where it was."""

from collections.abc import Iterable, Iterator

from ..models.digests import code_digest
from ..models.store import Store
from ..verifiers.evidence import HOLDS, REFUTED
from .proving import Proof, ProofRow, run

PROOF_CODE = ("models/*.py", "verifiers/**/*.py", "proofs/**/*.py", "proofs/mechanized/*.v")
"""The sources of draftproof that the outcome of a proof depends on."""


def proof_checkpoint(file: str) -> Store:
    """The rows in a file; those that the same code, in the same versions, decided count.

    Raises: InputError if the file is there and no such file.
    """
    return Store(file, "proofs", valid_for=code_digest(PROOF_CODE), older=('{\n "code": ',))


def resumed(proofs: Iterable[Proof], store: Store) -> Iterator[ProofRow]:
    """As ``proving.run``, but for the rows that were decided; each new row is in the store before it is given out."""
    for proof in proofs:
        if proof[:4] in store.rows and store.rows[proof[:4]][0] in (HOLDS, REFUTED):
            yield ProofRow(*proof[:4], *store.rows[proof[:4]])
        else:
            (row,) = run([proof])
            store.put(proof[:4], row[4:])
            yield row
