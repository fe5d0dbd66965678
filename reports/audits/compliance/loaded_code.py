"""The digests that audits state of the code they had loaded, and those of the code that is here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....models.errors import InputError, RunFailed
from ....proofs.sandbox import Sandbox
from ....verifiers.registry import REFERENCES
from ..functions.session import probe_problems
from .collecting import Collected, audited_spec

OF_CODE = ("audit", "engine", "campaign")
"""Kinds of parts whose reports state a digest of loaded code."""


def stated(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of a document whose reports state a digest of loaded third-party code."""
    parts = [part for part in data["parts"] if part["kind"] in OF_CODE and "report" in part]
    return [part for part in parts if part["options"].get("subject") not in REFERENCES]


def against_loaded(data: Mapping[str, Any], code: Path) -> tuple[list[str], int]:
    """Audits whose digest is not that of the code in a folder, and how many were compared.

    It loads that code in a child process and calls it a few times, as the audits did.
    """
    wrong, compared = [], 0
    for part in stated(data):
        if part["kind"] != "audit":
            continue
        here, said = _digest(part, code), part["report"]["subject"]["digest"]
        compared += 1
        if here != said:
            wrong.append(f"part {part['id']} says that the digest of the loaded code is {said}; here it is {here}")
    return wrong, compared


def _digest(part: Mapping[str, Any], code: Path) -> str:
    spec = audited_spec(Collected.from_json(dict(part)).part, code)
    try:
        with Sandbox(
            spec.target, spec.array, spec.dtypes[0], torch=spec.torch, folders=spec.folders, program=spec.program
        ) as sandbox:
            return str(sandbox.start(probe_problems([]))["digest"])
    except (InputError, RunFailed) as failure:
        return f"not to be had: {failure}"
