"""Token verification (Leviathan et al. 2023), right: draftproof audit examples/right.py:verify"""

import numpy as np


def verify(target_probs, draft_probs, draft_tokens, rng):
    """Accept each draft token x with probability min(1, p(x) / q(x)); replace the first one rejected."""
    for i, x in enumerate(draft_tokens):
        if rng.random() * draft_probs[i][x] >= target_probs[i][x]:
            residual = np.maximum(target_probs[i] - draft_probs[i], 0)
            return [*draft_tokens[:i], rng.choice(len(residual), p=residual / residual.sum())]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]
