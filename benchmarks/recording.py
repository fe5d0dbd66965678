"""What recording one step of 20 costs vLLM on a CPU: tokens a second with and without, in turns of one run.

SmolLM2 and its rounded drafter, which ``make smollm2`` installs, in vLLM, which ``make decoders`` installs:

    PYTHONPATH=.venv-smollm2 python benchmarks/recording.py

At most 2 %. By processor time, in which the recorder's thread counts, and by the clock, which needs an idle machine.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import t

from draftproof.models.pairs.packaged_pair import packaged_pair
from draftproof_engines.decoders.vllm_decoder import REPAIR
from draftproof_engines.recorders.vllm_recordings import run_vllm, smollm2_prompts

LIMIT, ONE_OF = 0.02, 20


def main(pairs=6, at_once=4):
    prompts = smollm2_prompts(at_once)
    with tempfile.TemporaryDirectory() as folder:
        found = run_vllm(
            packaged_pair()[0], Path(folder), edit=REPAIR, settings={"temperature": 1.0}, steps=Path(folder) / "steps",
            one_of=ONE_OF, prompts=prompts, tokens=24, at_once=at_once, longest=256, turns=2 * pairs + 2,
        )  # fmt: skip
    turns = found["turns"][2:]  # the first two compile
    print(
        f"SmolLM2-135M, vLLM on a CPU, {at_once} texts at once, one step of {ONE_OF} recorded, {pairs} pairs of turns"
    )
    for name, what in (("processor", "a second of processor time"), ("seconds", "a second by the clock")):
        with_, without = (
            [turn["tokens"] / turn[name] for turn in turns if turn["recorded"] is so] for so in (True, False)
        )
        logs = np.log(np.divide(without, with_))
        half = t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / len(logs) ** 0.5
        mean, low, high = np.expm1([logs.mean(), logs.mean() - half, logs.mean() + half])
        held = "held" if high <= LIMIT else "missed" if low > LIMIT else "undecided"
        print(f"tokens {what}: {np.mean(without):.1f} without; recording costs {mean:.2%} [{low:.2%}, {high:.2%}], "
              f"limit {LIMIT:.0%}: {held}")  # fmt: skip
    recorded = [turn for turn in turns if turn["recorded"]]
    shares = [
        (turn["hook"] + turn["thread"]) / (turn["processor"] - turn["hook"] - turn["thread"]) for turn in recorded
    ]
    hook, thread = (sum(turn[name] for turn in recorded) / len(recorded) for name in ("hook", "thread"))
    print(f"the recorder itself: {np.mean(shares):.2%} of the rest ({min(shares):.2%} to {max(shares):.2%} a turn); "
          f"{hook:.3f} s a turn in the engine's thread, {thread:.3f} s in its own")  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
