"""The text of a right verifier, for files that the tests write."""

TOKEN = """
import numpy as np
def token(target_probs, draft_probs, draft_tokens, rng):
    for i, x in enumerate(draft_tokens):
        if not rng.random() < min(1.0, target_probs[i][x] / draft_probs[i][x]):
            left = np.maximum(target_probs[i] - draft_probs[i], 0)
            return [*draft_tokens[:i], rng.choice(len(left), p=left / left.sum())]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]
"""
