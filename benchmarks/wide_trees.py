"""E[tau] of rules on draft trees of 16 to 72 nodes over 32,000 tokens, beside a bound on that of any valid rule.

``python -m draftproof.benchmarks.wide_trees``; seconds are of the processor.
"""

import time

import numpy as np

from draftproof.corpus.literature.wide_tree_bound import RULES, shares
from draftproof.corpus.literature.wide_tree_rules import greedy_multi_path, scaled_transport, traversal

V = 32_000
TREES = ((16,), (4, 1, 1, 1), (16, 1, 1, 1), (8, 4, 1), (4, 2, 2, 2), (2, 2, 2, 2, 2))
PAIRS = {"near": 0.5, "apart": 1.0, "far": 1.5}
"""The spread of the draft's logits around the target's, whose own is that of Zipf's law."""


def rows(spread: float) -> tuple[np.ndarray, np.ndarray]:
    """A target of Zipf's law and a draft with normal noise on its logits."""
    noise = np.random.default_rng(7).normal(size=V)
    target = 1 / (np.arange(V) + 1.0)
    draft = target * np.exp(spread * noise)
    return target / target.sum(), draft / draft.sum()


COLUMNS = (*RULES, "traversal", "scaled-transport", "greedy-multi-path")


def cells(p: np.ndarray, q: np.ndarray, children: tuple[int, ...]) -> list[str]:
    """The interval, and E[tau] of each rule with its share of the bound; scaled transport's within bounds, greedy
    multi-path's with two standard errors."""
    found = shares(p, q, children)
    found["traversal"] = traversal(p, q, children)
    bound, reached = found["bound"], max(found["reached"], found["traversal"])
    shown = [f"{reached:.2f} to {bound:.2f}"]
    shown += [f"{found[rule]:.2f} ({100 * found[rule] / bound:.0f} %)" for rule in COLUMNS[:-2]]
    low, high = scaled_transport(p, q, children)
    shown.append(f"{low:.2f} to {high:.2f} ({100 * low / bound:.0f} to {100 * high / bound:.0f} %)")
    if set(children[1:]) <= {1}:
        mean, error = greedy_multi_path(p, q, children[0], len(children))
        return [*shown, f"{mean:.2f} ± {2 * error:.2f} ({100 * mean / bound:.0f} %)"]
    return [*shown, ""]


def main() -> None:
    print(f"| pair | TV | tree | any valid rule | {' | '.join(COLUMNS)} | seconds |")
    print("|---" * (5 + len(COLUMNS)) + "|")
    for name, spread in PAIRS.items():
        p, q = rows(spread)
        for children in TREES:
            begun = time.process_time()
            shown = cells(p, q, children)
            taken = time.process_time() - begun
            pair = f"{name} | {abs(p - q).sum() / 2:.2f} | {'x'.join(map(str, children))}"
            print(f"| {pair} | {' | '.join(shown)} | {taken:.1f} |", flush=True)


if __name__ == "__main__":
    main()
