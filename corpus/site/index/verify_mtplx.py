"""mtplx: its verification of one token, in NumPy, in a loop that stops at the first rejection."""

import numpy as np
from wrapping import loaded

sampling = loaded("mtplx", "mtplx/sampling.py")
sampling.float = lambda number: number  # of a number that is drawn it is the same, and could not be followed


def verify(target_probs, draft_probs, draft_tokens, rng):
    target_probs, draft_probs = np.asarray(target_probs), np.asarray(draft_probs)
    emitted = []
    for i, x in enumerate(draft_tokens):
        decided = sampling.verify_one_token(target_probs[i], draft_probs[i], int(x), rng)
        emitted.append(decided.token_id)
        if not decided.accepted:
            return emitted
    return [*emitted, sampling.sample_from_distribution(target_probs[-1], rng)]
