"""Token verification on plain lists, without NumPy."""

import random


def on_lists(target_probs, draft_probs, draft_tokens):
    for i, (x, p, q) in enumerate(zip(draft_tokens, target_probs, draft_probs)):
        if random.random() * q[x] >= p[x]:
            return [*draft_tokens[:i], *random.choices(range(len(p)), [max(a - b, 0.0) for a, b in zip(p, q)])]
    return [*draft_tokens, *random.choices(range(len(target_probs[-1])), target_probs[-1])]
