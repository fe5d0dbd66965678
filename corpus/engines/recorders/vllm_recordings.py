"""Recordings of vLLM on a CPU: the kept examples, and 20,000 steps of each method that may raise no alarm.

    python -m draftproof_engines.recorders.vllm_recordings kept examples/recorded
    python -m draftproof_engines.recorders.vllm_recordings long out/vllm-steps

The second goes on where it was interrupted: a method that ``figures.jsonl`` has is not run again.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import draftproof
import draftproof_engines
from draftproof.models.errors import InputError
from draftproof.models.pairs.packaged_pair import packaged_pair
from draftproof.models.pairs.presets import CHAT
from draftproof.models.pairs.prompts import EMBEDDED, prompts
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.verifiers.adapters.registry import decoder_python
from draftproof.verifiers.details import BettingDetail
from draftproof_engines.decoders.vllm_decoder import REPAIR
from draftproof_engines.recorders.in_process import FOLDER, ONE_OF
from draftproof_engines.recorders.small_pair import GAMMA, V, forged_pair

SAMPLED, GREEDY_DRAFTS, NGRAM = "draft_model, sampled", "draft_model", "ngram"

SETTINGS = {"temperature": 0.7, "top_k": 9, "top_p": 0.93}

ENOUGH = 20_000
"""Least number of steps in each of the long recordings."""

LONG: dict[str, tuple[str, Any, int]] = {
    "draft model, sampled": (SAMPLED, {}, 500),
    "draft model, greedy": (GREEDY_DRAFTS, {}, 300),
    "n-grams": (NGRAM, {}, 300),
    "draft model, sampled; temperature, top-k, top-p": (SAMPLED, SETTINGS, 500),
    "draft model, greedy; temperature, top-k, top-p": (GREEDY_DRAFTS, SETTINGS, 400),
    "n-grams; temperature, top-k, top-p": (NGRAM, SETTINGS, 300),
    "draft model, sampled; greedy and sampled requests together": (SAMPLED, [{"temperature": 0}, SETTINGS, {}], 700),
}
"""What the long recordings are of -> vLLM's method, the settings of its requests in turn, and texts of 100 tokens.

They are as many texts as give ENOUGH steps.
"""


def importable(folder: Path) -> str:
    """Return the folder, from which another interpreter then imports this project and nothing else of this one."""
    for package in (draftproof, draftproof_engines):
        link = folder / package.__name__
        if not link.exists():
            link.symlink_to(Path(package.__file__).parent)
    return str(folder)


def smollm2_prompts(count: int) -> list[list[int]]:
    """Return so many of the built-in prompts as SmolLM2's chat, in its tokens."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(packaged_pair()[0] / "target")
    return [tokenizer.encode(CHAT.format(prompt=prompt)) for prompt in prompts(EMBEDDED)[:count]]


def run_vllm(
    pair: Path, work: Path, method: str = SAMPLED, texts: int = 60, tokens: int = 32, edit: str = "",
    settings: Any = None, steps: Path | None = None, one_of: int = 1, runner: str = "vllm_run", **asked: Any,
) -> dict[str, Any]:  # fmt: skip
    """Decode with vLLM in its own environment, and return what ``vllm_run`` says.

    pair: folder with target and draft. work: folder for links. steps: where to record; None: not at all.
    settings: of all requests, or a list for requests in turn. edit: Python run before the engine is made.
    runner: vllm_run, or vllm_v2_run for model runner V2. asked: further words of ``vllm_run``.
    Raises: InputError with the end of its errors.
    """
    given = {
        "target": str(pair / "target"), "draft": str(pair / "draft"), "gamma": GAMMA, "method": method,
        "tokens": tokens, "prompts": [[k % V] for k in range(texts)], "edit": edit, "settings": settings or {},
    } | asked  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": importable(work)}
    if steps is not None:
        environment |= {FOLDER: str(steps), ONE_OF: str(one_of)}
    module = ["-m", f"draftproof_engines.recorders.{runner}", json.dumps(given)]
    done = subprocess.run([str(decoder_python("vllm")), *module], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise InputError(f"vLLM ended with status {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def keep(folder: Path) -> None:
    """Record the examples: vLLM as published, and repaired."""
    with TemporaryDirectory() as made:
        pair = forged_pair(Path(made) / "pair")
        for name, edit, texts in (("vllm-as-published", "", 7), ("vllm-repaired", REPAIR, 25)):
            run_vllm(pair, Path(made), edit=edit, texts=texts, steps=folder / name)


def figures_of(what: str, report: Report) -> dict[str, Any]:
    """Return a line of the long recordings: what was judged, and what was refuted."""
    assert report.steps is not None
    least = {e.claim: e.detail.p_value for e in report.evidence if isinstance(e.detail, BettingDetail)}
    return {
        "what": what, "engine": report.subject["source"], "recorded": report.steps["counts"]["recorded"],
        "judged": report.steps["judged"], "p_values": least,
        "refuted": sorted({e.claim for e in report.evidence if e.refuted}),
    }  # fmt: skip


def long(out: Path, names: Sequence[str] = tuple(LONG)) -> None:
    """Record ENOUGH steps of each method from vLLM repaired, and write what they show to ``figures.jsonl``."""
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "figures.jsonl"
    done = {json.loads(line)["what"] for line in kept.read_text().splitlines()} if kept.exists() else set()
    pair = forged_pair(out / "pair")
    for name in names:
        if name in done:
            continue
        method, settings, texts = LONG[name]
        with TemporaryDirectory(dir=out) as folder:
            run_vllm(pair, out, method, texts, 100, REPAIR, settings, Path(folder), longest=128, at_once=32)
            report = audit_steps(folder)
        with kept.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(figures_of(name, report)) + "\n")


def main(words: Sequence[str]) -> None:
    """Do what the command line says."""
    what = {"kept": keep, "long": long}.get(words[0] if words else "")
    if what is None or len(words) != 2:
        raise SystemExit("expected: kept FOLDER, or long FOLDER")
    what(Path(words[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
