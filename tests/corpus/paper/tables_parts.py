"""Cells of a table that were never measured, with a gain that is planted; and a small pair on disk to measure."""

import hashlib
import json
from pathlib import Path

import numpy as np

from draftproof_paper.tables.plan import PLAIN, TablesPlan

CALLS = 20


def planted_plan(**changes) -> TablesPlan:
    given = {"prompts": 40, "seeds": 2, "temperatures": (0.0, 0.5, 1.0), "gammas": (4, 8), **changes}
    return TablesPlan("target", ("draft", "small-draft"), **given)


def planted(plan: TablesPlan, gain: float = 0.1, seed: int = 0, data=("one", "two")) -> dict:
    """Cells of a plan. gain: what block verification accepts more of each draft token than token verification, where
    the two differ; the same for the expectations on the same blocks, and for the speed."""
    rng = np.random.default_rng(seed)
    return {cell: _cell(plan, cell, gain, rng, data) for cell in plan.cells(plan.prompts)}


def _cell(plan, cell, gain, rng, data):
    apart = gain if cell.temperature > 0 else 0.0
    columns = []
    for column in plan.order(cell):
        drafter, verifier, gamma = column
        key = json.dumps([cell, drafter, gamma if cell.temperature else 0])
        of = {"texts": hashlib.sha256(key.encode()).hexdigest()[:16], "accepted": []}
        if verifier == PLAIN:
            tokens, calls, seconds = 64, 64, 0.3 * rng.uniform(0.9, 1.1)
        else:
            rate = 0.5 - 0.1 * drafter + (apart * (verifier == "block") if gamma > 1 else 0)
            if gamma > 1 and apart:
                taus = np.minimum(rng.geometric(1 - rate, CALLS) - 1, gamma)
                of["texts"] += verifier
            else:
                taus = np.full(CALLS, min(gamma, 2))
            tokens, calls = int((taus + 1).sum()), CALLS
            seconds, of["accepted"] = 0.1 * rng.uniform(0.9, 1.1), [taus.tolist()]
        counted = {"tokens": tokens, "calls": calls, "seconds": seconds, "processor_seconds": seconds}
        columns.append({**column._asdict(), **counted, **of})
    same_blocks = []
    for drafter in plan.drafters():
        first = rng.uniform(0.3, 0.6, CALLS)
        for gamma in sorted({1, *plan.gammas}):
            token = first * gamma
            more = apart * (gamma - 1) * rng.uniform(0, 1, CALLS)
            same_blocks.append(
                {"drafter": drafter, "gamma": gamma, "token": token.tolist(), "block": (token + more).tolist()}
            )
    return {"data": data[cell.group % len(data)], "columns": columns, "same_blocks": same_blocks}


PROMPTS = ("def f(x):", "for line in file:", "the quick brown", "print(line)")


def small_pair(folder: Path) -> Path:
    """folder/target, folder/draft, folder/small-draft: random Llamas; and prompts of two sources."""
    from draftproof.tests.models.pairs_parts import save

    for seed, name in enumerate(("target", "draft", "small-draft")):
        save(folder / name, seed=seed, context=64)
    lines = [{"prompt": prompt, "source": source} for source in ("a.py", "b.py") for prompt in PROMPTS]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


QUICKLY = ("--gamma", "2,3", "--temperature", "0,1", "--seeds", "2", "--prompts", "3", "--new-tokens", "8")


def arguments(pair: Path, out: Path, *more: str) -> list[str]:
    named = ["--target", pair / "target", "--draft", pair / "draft", "--draft", pair / "small-draft", "--out", out]
    return [*map(str, named), *QUICKLY, *more]
