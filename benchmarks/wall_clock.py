"""Wall clock on the trained pair: block verification against token verification, both against plain decoding.

Limits: block verification at least as fast as token verification, both faster than plain decoding; for every drafter
and gamma asked for, in one run, by intervals over prompts. All columns of a prompt follow each other in an order of its
own, so that a slow minute hits all alike; processor time is printed beside, which other programs disturb less.
Interrupted, or after --seconds, it reports the cells that it has.
The pair: --pair DIR as draftproof train-pair wrote it; by default the one that was trained last.
"""

import argparse
import time
from pathlib import Path

import torch

from draftproof.models.libraries import torch_threads
from draftproof.models.pairs.presets import TRAINED
from draftproof_paper.tables.measure import Bench
from draftproof_paper.tables.orderings import Totals, improvement, speedup
from draftproof_paper.tables.plan import Column, TablesPlan
from draftproof_paper.tables.subjects import (
    default_data,
    load_pairs,
    one_thread_is_faster,
    preset_models,
    prompt_groups,
    run_settings,
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pair", type=Path)
    parser.add_argument("--gamma", type=int, nargs="+", default=[4])
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--prompts", type=int, default=36)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no cell is begun")
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    if asked.pair:
        target, drafts = str(asked.pair / "target"), tuple(str(asked.pair / n) for n in ("draft", "small-draft"))
    else:
        target, drafts, _ = preset_models(TRAINED)
    plan = TablesPlan(
        target, drafts, device=asked.device, data=default_data(TRAINED, target), prompts=asked.prompts,
        new_tokens=asked.new_tokens, gammas=tuple(asked.gamma), temperatures=(asked.temperature,), seeds=asked.seeds,
        verifiers=("token", "block"),
    )  # fmt: skip
    pairs = load_pairs(plan)
    groups = prompt_groups(plan, pairs[0])
    bench, cells = Bench(plan, pairs, groups), {}
    with torch_threads(1 if one_thread_is_faster(pairs[0]) else None):
        print(
            f"wall clock on {run_settings(plan, pairs, groups)['machine']}, {torch.get_num_threads()} threads, torch "
            f"{torch.__version__}; T = {asked.temperature:g}, {asked.prompts} prompts, {asked.seeds} seeds, "
            f"{asked.new_tokens} new tokens\n"
        )
        bench.warm_up()
        asked_for, began = list(plan.cells(len(groups))), time.monotonic()
        try:
            for cell in asked_for:
                if time.monotonic() - began > asked.seconds:
                    break
                cells[cell] = bench.cell(cell)
        except KeyboardInterrupt:
            pass
    print(f"{len(cells)} of {len(asked_for)} cells, each a group of prompts with a seed\n")
    if len({cell.group for cell in cells}) < 2:
        parser.exit(3, "an interval needs two groups of prompts: --seconds gives them more time\n")
    report(plan, Totals(cells))


def report(plan, totals):
    def estimated(powers):
        estimate = totals.estimate(powers)
        return estimate, f"{estimate.value:.2f} [{estimate.lower:.2f}, {estimate.upper:.2f}]"

    print(f"{'':26}{'token / plain':>20}{'block / plain':>20}{'block / token':>20}   (times as fast, 95 % intervals)")
    for drafter in plan.drafters():
        for gamma in plan.gammas:
            lower = {}
            for clock, label in (("seconds", "wall clock"), ("processor_seconds", "processor time")):
                columns = {
                    "token / plain": speedup(Column(drafter, "token", gamma), clock),
                    "block / plain": speedup(Column(drafter, "block", gamma), clock),
                    "block / token": improvement(drafter, gamma, lambda column, c=clock: speedup(column, c)),
                }
                lines = {name: estimated(powers) for name, powers in columns.items()}
                if clock == "seconds":
                    print(f"drafter {drafter + 1}, gamma {gamma}")
                    lower = {name: estimate for name, (estimate, _) in lines.items()}
                print(f"  {label:24}" + "".join(f"{text:>20}" for _, text in lines.values()))
            print("  limits: " + ", ".join(f"{name} {verdict(estimate)}" for name, estimate in lower.items()))


def verdict(estimate):
    """Whether the interval lies at or above 1, below it, or on both sides."""
    return "met" if estimate.lower >= 1 else "missed" if estimate.upper < 1 else "open (1 is within the interval)"


if __name__ == "__main__":
    main()
