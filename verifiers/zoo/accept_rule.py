"""Mutants of the acceptance test: the residual and the rows are right."""

import numpy as np

from .building_blocks import Floats, Generator, Tokens, answer, draw, ratio, token_by_token


def accept_everything(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Counts every draft token as a match."""
    return answer(tokens, draw(rng, target[-1], target[-1]))


def uniform_stuck_at_zero(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Tests 0 * q < p: rejects nothing but what the target excludes."""
    return token_by_token(target, draft, tokens, rng, accepts=lambda i, x: 0.0 * draft[i][x] < target[i][x])


def ratio_upside_down(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Accepts with probability q / p, the inverse of the likelihood ratio."""
    return token_by_token(target, draft, tokens, rng, lambda i, x: rng.random() < ratio(draft[i][x], target[i][x]))


def uniform_in_hundredths(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Compares the ratio with a whole number of hundredths, 0 and 1 included."""
    return token_by_token(
        target, draft, tokens, rng, lambda i, x: np.floor(101 * rng.random()) <= 100 * ratio(target[i][x], draft[i][x])
    )


def measured_against_own_sample(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Accepts with q(x) / p(y), y being the target's own sample, which it emits where it rejects."""
    for i, x in enumerate(tokens):
        y = draw(rng, target[i], target[i])
        if not rng.random() < ratio(draft[i][x], target[i][y]):
            return answer(tokens[:i], y)
    return answer(tokens, draw(rng, target[-1], target[-1]))


def accept_if_sampled_too(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """A second way in: a token that the target's own sample hits is accepted without the test."""

    def accepts(i, x):
        return draw(rng, target[i], target[i]) == x or rng.random() < ratio(target[i][x], draft[i][x])

    return token_by_token(target, draft, tokens, rng, accepts)


def measured_against_mode(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Accepts with p(x) / max p: the draft's probability does not enter."""
    return token_by_token(target, draft, tokens, rng, lambda i, x: rng.random() < target[i][x] / target[i].max())


def argmax_instead_of_test(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Accepts what equals the target's argmax and emits the argmax otherwise; only the bonus token is sampled."""
    best = target.argmax(axis=-1)
    return token_by_token(target, draft, tokens, rng, lambda i, x: best[i] == x, lambda i, x: best[i])


def coin_of_zero_passes(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Tests u <= p / q: a token that the target excludes passes where the uniform is exactly 0."""
    return token_by_token(target, draft, tokens, rng, lambda i, x: rng.random() <= ratio(target[i][x], draft[i][x]))
