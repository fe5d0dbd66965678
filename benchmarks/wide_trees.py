"""E[tau] of rules on draft trees of 16 to 72 nodes over 32,000 tokens, beside a bound on that of any valid rule.

``python -m draftproof.benchmarks.wide_trees``; seconds are of the processor.
"""

import time

import numpy as np

from ..proofs.papers.wide_tree_bound import RULES, shares

V = 32_000
TREES = ((16,), (16, 1, 1, 1), (8, 4, 1), (4, 2, 2, 2), (2, 2, 2, 2, 2))
PAIRS = {"near": 0.5, "apart": 1.0, "far": 1.5}
"""The spread of the draft's logits around the target's, whose own is that of Zipf's law."""


def rows(spread: float) -> tuple[np.ndarray, np.ndarray]:
    """A target of Zipf's law and a draft with normal noise on its logits."""
    noise = np.random.default_rng(7).normal(size=V)
    target = 1 / (np.arange(V) + 1.0)
    draft = target * np.exp(spread * noise)
    return target / target.sum(), draft / draft.sum()


def main() -> None:
    print(f"| pair | TV | tree | any valid rule | {' | '.join(RULES)} | seconds |")
    print("|---" * (5 + len(RULES)) + "|")
    for name, spread in PAIRS.items():
        p, q = rows(spread)
        for children in TREES:
            begun = time.process_time()
            found = shares(p, q, children)
            taken = time.process_time() - begun
            each = " | ".join(f"{found[r]:.2f} ({100 * found[r] / found['bound']:.0f} %)" for r in RULES)
            shape = "x".join(map(str, children))
            interval = f"{found['reached']:.2f} to {found['bound']:.2f}"
            print(f"| {name} | {abs(p - q).sum() / 2:.2f} | {shape} | {interval} | {each} | {taken:.1f} |", flush=True)


if __name__ == "__main__":
    main()
