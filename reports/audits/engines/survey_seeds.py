"""Audits of the engines with fresh seeds: those that are known to be wrong are refuted each time, the others never.

Seed 0 is the page's; of each further one only what depends on it: the problems that an audit draws for itself, the texts of
an engine. Each row is appended to a file when it is done; rows of other code or another version of the engine do not count.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ....proofs.proof_checkpoint import code_digest
from ..kept_rows import KeptRows, rows_of_file
from .survey import SURVEYED, examined

SEEDS = "seeds.jsonl"
"""The file of the rows, in the folder of the page."""

KNOWN_WRONG = frozenset({"vllm-ascend-block", "vllm-ascend-v2", "hsd", "openvino-genai-from-outside"})
"""The engines whose emitted text is known not to follow the target."""


def seed_rows(names: Iterable[str], seeds: int, file: Path, workers: int = 1) -> Iterator[dict[str, Any]]:
    """One row for each engine and seed from 1 to seeds - 1: those in the file, then the others as they become known."""
    names, kept = [*names], KeptRows(file, ("name", "seed"), code_digest())
    wanted = [(name, seed) for seed in range(1, seeds) for name in names]
    yield from [kept.rows[name] for name in wanted if name in kept.rows]
    yield from kept.made(wanted, _examined, workers)


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


def seed_counts(folder: Path) -> list[str]:
    """What the rows in the folder say, a line for each engine and state of the code."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows_of_file(folder / SEEDS):
        groups.setdefault((row["name"], row["code"][:12]), []).append(row)
    return [
        f"{name}: refuted with {sum(row['verdict'] == 'refuted' for row in rows)} of {len(rows)} fresh seeds, "
        f"{sum(unexpected(row) for row in rows)} otherwise than known (code {code})"
        for (name, code), rows in groups.items()
    ]
