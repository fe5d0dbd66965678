"""The open model with drafts that are looked up in the text, without probabilities: as many accepted by block as by
token verification, of every block.

    python benchmarks/lookup_drafts.py      (smollm2 as make smollm2 installs it)
"""

import argparse
from dataclasses import replace

from draftproof.models.libraries import torch_threads
from draftproof.models.pairs.prompts import EMBEDDED
from draftproof_paper.distilling.lookup_model import LookupModel
from draftproof_paper.tables.measure import Bench, SameBlocks, run_seed
from draftproof_paper.tables.plan import Column, MeasurementCell, TablesPlan
from draftproof_paper.tables.subjects import load_pairs, preset_models, prompt_groups


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gamma", type=int, default=8)
    parser.add_argument("--new-tokens", type=int, default=32)
    parser.add_argument("--batch", type=int, default=12)
    asked = parser.parse_args()
    target, _, template = preset_models("smollm2")
    plan = TablesPlan(
        target, (target,), template, data=(EMBEDDED,), prompts=12, new_tokens=asked.new_tokens, gammas=(asked.gamma,),
        batch=asked.batch,
    )  # fmt: skip
    pair = load_pairs(plan)[0]
    pair = replace(pair, draft=LookupModel(pair.target.config.vocab_size).eval())
    groups = prompt_groups(plan, pair)
    bench, column = Bench(plan, [pair], groups), Column(0, "block", asked.gamma)
    with torch_threads(1):
        for temperature in (1.0, 0.6, 0.0):
            blocks, tokens, calls = SameBlocks([asked.gamma]), 0, 0
            for at, group in enumerate(groups):
                cell = MeasurementCell(0, at, temperature)
                run = bench.run(column, group, temperature, run_seed(cell, column), asked.new_tokens, blocks.rule())
                tokens += sum(map(len, run.tokens))
                calls += sum(len(each.rows) for each in run.iterations)
            found = blocks.as_json()[0]
            apart = max(abs(a - b) for a, b in zip(found["token"], found["block"]))
            n, speed = len(found["block"]), f"T = {temperature:g}: {tokens / calls:.2f} tokens a call"
            print(
                f"{speed}; E[tau] {sum(found['token']) / n:.3f} by token and "
                f"{sum(found['block']) / n:.3f} by block verification, at most {apart:.1e} apart on {n} blocks",
                flush=True,
            )


if __name__ == "__main__":
    main()
