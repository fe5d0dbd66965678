"""The rows of a run of proofs in a file, so that a run that was stopped goes on where it was."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..models.environment import environment, versions
from ..models.errors import InputError
from ..models.files import write_atomically
from ..verifiers.evidence import HOLDS, REFUTED
from .proving import Proof, ProofRow, run

ROOT = Path(__file__).resolve().parents[1]
"""The package draftproof."""

LEFT_OUT = {"tests", ".venv", "build"}
"""Folders in it without sources of the product."""


def code_digest() -> str:
    """What a proof's outcome depends on besides its own size: every source of the product, and the versions in use."""
    digest = hashlib.sha256(repr((environment(), versions("z3-solver", "scipy"))).encode())
    for path in sorted(_sources()):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    for folder, inside, names in os.walk(ROOT):
        inside[:] = [name for name in inside if name not in LEFT_OUT]  # a .venv has tens of thousands of files
        yield from (path for name in names if is_source(path := Path(folder) / name))


def is_source(path: Path) -> bool:
    """Whether a file is one of the product's sources, of which ``code_digest`` speaks."""
    if path.suffix not in (".py", ".v") or not path.is_relative_to(ROOT):
        return False
    return not LEFT_OUT & set(path.relative_to(ROOT).parts)  # whatever the folders above are called


class ProofCheckpoint:
    """Rows that were decided (holds or refuted) by the same code; others are run again.

    Raises: InputError if the file is there and no such file.
    """

    def __init__(self, file: str):
        self.file, self._digest = Path(file), code_digest()
        self.rows: dict[tuple[str, ...], ProofRow] = {}
        self.of_other_code = False
        if not self.file.exists():
            return
        try:
            data = json.loads(self.file.read_text(encoding="utf-8"))
            rows = [ProofRow(**row) for row in data["rows"]]
            self.of_other_code = data["code"] != self._digest
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{file}: not a file of proofs that were stopped") from None
        if not self.of_other_code:
            self.rows = {row[:4]: row for row in rows if row.verdict in (HOLDS, REFUTED)}

    def run(self, proofs: Iterable[Proof]) -> Iterator[ProofRow]:
        """As ``proving.run``, but for the rows that are there; each new row is in the file before it is given out."""
        for proof in proofs:
            known = self.rows.get(proof[:4])
            if known is None:
                (known,) = run([proof])
                self.rows[known[:4]] = known
                rows = [row._asdict() for row in self.rows.values()]
                write_atomically(self.file, json.dumps({"code": self._digest, "rows": rows}, indent=1) + "\n")
            yield known
