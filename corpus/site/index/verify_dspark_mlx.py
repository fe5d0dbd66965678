"""dspark-mlx: its acceptance above temperature 0, which is NumPy."""

import numpy as np
from wrapping import loaded

accept = loaded("dspark-mlx", "dspark_mlx/verify.py")


def verify(target_probs, draft_probs, draft_tokens, rng):
    rows = np.asarray(draft_probs), np.asarray(target_probs)
    return accept.speculative_sample_accept(np.asarray(draft_tokens), *rows, rng).tokens
