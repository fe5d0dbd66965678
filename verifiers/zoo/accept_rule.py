"""Mutants of the acceptance test: the residual and the rows are right."""

import numpy as np

from .building_blocks import Floats, Generator, Tokens, answer, draw, ratio, with_parts


def accept_everything(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Counts every draft token as a match."""
    return answer(tokens, draw(rng, target[-1], target[-1]))


uniform_stuck_at_zero = with_parts(lambda rng, p, q, x: 0.0 * q[x] < p[x])
"""Tests 0 * q < p: rejects nothing but what the target excludes."""

ratio_upside_down = with_parts(lambda rng, p, q, x: rng.random() < ratio(q[x], p[x]))
"""Accepts with probability q / p, the inverse of the likelihood ratio."""

uniform_in_hundredths = with_parts(lambda rng, p, q, x: np.floor(101 * rng.random()) <= 100 * ratio(p[x], q[x]))
"""Compares the ratio with a whole number of hundredths, 0 and 1 included."""


def measured_against_own_sample(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Accepts with q(x) / p(y), y being the target's own sample, which it emits where it rejects."""
    for i, x in enumerate(tokens):
        y = draw(rng, target[i], target[i])
        if not rng.random() < ratio(draft[i][x], target[i][y]):
            return answer(tokens[:i], y)
    return answer(tokens, draw(rng, target[-1], target[-1]))


accept_if_sampled_too = with_parts(lambda rng, p, q, x: draw(rng, p, p) == x or rng.random() < ratio(p[x], q[x]))
"""A second way in: a token that the target's own sample hits is accepted without the test."""

measured_against_mode = with_parts(lambda rng, p, q, x: rng.random() < p[x] / p.max())
"""Accepts with p(x) / max p: the draft's probability does not enter."""

argmax_instead_of_test = with_parts(lambda rng, p, q, x: p.argmax() == x, lambda rng, p, q, x: p.argmax())
"""Accepts what equals the target's argmax and emits the argmax otherwise; only the bonus token is sampled."""

coin_of_zero_passes = with_parts(lambda rng, p, q, x: rng.random() <= ratio(p[x], q[x]))
"""Tests u <= p / q: a token that the target excludes passes where the uniform is exactly 0."""
