"""Audits of the engines with fresh seeds: those that are known to be wrong are refuted each time, the others never.

Seed 0 is the page's; of each further one only what depends on it: the problems that an audit draws for itself, the texts of
an engine. Each row is appended to a file when it is done; rows of other code or another version of the engine do not count.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ....proofs.proof_checkpoint import code_digest
from ..kept_rows import KeptRows
from .survey import SURVEYED, examined

KNOWN_WRONG = frozenset({"vllm-ascend-block", "vllm-ascend-v2", "openvino-genai-from-outside"})
"""The engines whose emitted text is known not to follow the target."""


def seed_rows(names: Iterable[str], seeds: int, file: Path) -> Iterator[dict[str, Any]]:
    """One row for each engine and seed from 1 to seeds - 1, from the file if it is there; seed after seed."""
    names, kept = [*names], KeptRows(file, ("name", "seed"), code_digest())
    for seed in range(1, seeds):
        for name in names:
            yield kept.row(name, seed, make=_examined)


def _examined(name: str, seed: int) -> dict[str, Any]:
    report = examined(SURVEYED[name], seed)
    laws = [e for e in report.evidence if e.claim == "lossless"]
    return {
        "verdict": report.verdict, "problems": len({e.problem for e in laws}),
        "refuted": [f"{e.claim} on {e.problem}" for e in report.evidence if e.refuted and e.claim in report.claims],
        "failure": report.failure and report.failure["message"],
    }  # fmt: skip


def unexpected(row: Mapping[str, Any]) -> bool:
    """Whether an engine that is known to be wrong was not refuted, or another one was."""
    return (row["verdict"] == "refuted") != (row["name"] in KNOWN_WRONG)
