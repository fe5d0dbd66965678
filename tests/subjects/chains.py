"""Decisions on random numbers after operations that are monotone by name, or look alike: what a tracer could
mistake."""

import numpy as np


def _last(row, accepted):
    return [0 if accepted else 1]


def wraps_around(target_probs, draft_probs, draft_tokens, rng):
    """A product in eight bits: 5 k modulo 256 for k below 200. The truth: below 100 for 80 of 200."""
    level = rng.integers(0, 200, dtype=np.uint8) * np.uint8(5)
    return _last(target_probs[0], level < 100)


def thresholds_that_print_alike(target_probs, draft_probs, draft_tokens, rng):
    """Two thresholds in arrays without dimension, which print as 0.25: 1e-9 apart."""
    u, v = rng.random(2)
    first = u < np.array(0.25)
    second = v < np.array(0.25 + 1e-9)
    return [int(first) + int(second) if first or second else 0]


def logarithms_of_two_libraries(target_probs, draft_probs, draft_tokens, rng):
    import math

    u = rng.random()
    return _last(target_probs[0], math.log(u) < math.log(target_probs[0][0]))
