"""Functions that emit one token of target_probs[0] by a race of noise: right ones, and some whose noise is not
whole."""

import numpy as np


def _race(score):
    """Make a function that emits the argmax of score(row, rng)."""

    def verify(target_probs, draft_probs, draft_tokens, rng):
        with np.errstate(all="ignore"):
            return [int(np.argmax(score(target_probs[0], rng)))]

    return verify


def _exponential(row, rng):
    return rng.exponential(size=len(row))


def _gumbel(row, rng, change=lambda uniforms: uniforms, epsilon=0.0):
    return -np.log(-np.log(change(rng.random(len(row))) + epsilon) + epsilon)


capped = _race(lambda row, rng: row / np.minimum(_exponential(row, rng), 2.1))  # TV 1.2 % on (.6, .4)
capped_at_four = _race(lambda row, rng: row / np.minimum(_exponential(row, rng), 4))
capped_beyond_doubles = _race(lambda row, rng: row / np.minimum(_exponential(row, rng), 40))
floored = _race(lambda row, rng: np.log(row) + _gumbel(row, rng, lambda u: np.maximum(u, 0.02)))
clipped = _race(lambda row, rng: np.log(row) + _gumbel(row, rng, lambda u: np.clip(u, 1e-3, 1 - 1e-3)))
with_epsilon = _race(lambda row, rng: np.log(row) + _gumbel(row, rng, epsilon=1e-20))
with_too_large_an_epsilon = _race(lambda row, rng: np.log(row + 1e-10) + _gumbel(row, rng, epsilon=1e-10))
of_uniforms = _race(lambda row, rng: row * rng.random(len(row)))  # no race of exponentials, but it has a law
of_powers = _race(lambda row, rng: rng.random(len(row)) ** (1 / row))
nan_where_a_uniform_is_zero = _race(lambda row, rng: row / -np.log1p(-rng.random(len(row))))
in_single_precision = _race(
    lambda row, rng: row.astype(np.float32) / rng.standard_exponential(size=len(row), dtype=np.float32)
)
against_a_constant = _race(lambda row, rng: row / np.array([*rng.exponential(size=len(row) - 1), 1.0]))
