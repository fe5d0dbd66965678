"""Mutants of the residual: acceptance is right, the token that replaces a rejected one is not."""

import numpy as np

from .building_blocks import Floats, Generator, Tokens, draw, drawable, excess, token_by_token, without


def _replacing(target, draft, tokens, rng, weights):
    """Token verification whose replacement is drawn from weights(p, q, x)."""
    return token_by_token(
        target, draft, tokens, rng, recovers=lambda i, x: draw(rng, weights(target[i], draft[i], x), target[i])
    )


def softmax_of_residual(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Normalises the residual by a softmax, which gives mass to every token."""
    return _replacing(target, draft, tokens, rng, lambda p, q, x: np.exp(excess(p, q)))


def replacement_from_target(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Draws the replacement from the target itself."""
    return _replacing(target, draft, tokens, rng, lambda p, q, x: p)


def only_rejected_token_removed(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Subtracts the draft's row at the rejected token alone: the target without that token."""
    return _replacing(target, draft, tokens, rng, lambda p, q, x: without(p, x))


def mode_of_residual(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Takes the likeliest token of the residual instead of a draw from it."""
    return token_by_token(target, draft, tokens, rng, recovers=lambda i, x: np.argmax(excess(target[i], draft[i])))


def nan_wins_argmax(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Takes log p + log(1 - q / p) + Gumbel noise: NaN where both rows are 0, and argmax returns the first NaN."""

    def recovers(i, x):
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.log(target[i]) + np.log1p(-np.minimum(draft[i] / target[i], 1.0))
        return np.argmax(scores + rng.gumbel(size=len(scores)))

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def paired_by_place_in_list(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Subtracts row from row by place in two lists, of which the draft's is sorted by probability."""
    return _replacing(target, draft, tokens, rng, lambda p, q, x: excess(p, np.sort(q)[::-1]))


def stale_buffer_subtracted(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Treats the draft as a point mass, right so far, but subtracts what an uninitialised row still holds."""

    def accepts(i, x):
        return rng.random() < target[i][x]

    def recovers(i, x):
        rest = without(target[i], x)
        return draw(rng, excess(rest, draft[i]), drawable(rest, target[i]))

    return token_by_token(target, draft, tokens, rng, accepts, recovers)


def coin_of_one_falls_off(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Looks the replacement up with a coin that can be exactly 1: then no edge lies above it, and the last token is taken."""

    def recovers(i, x):
        edges = np.cumsum(drawable(excess(target[i], draft[i]), target[i]))
        return min(np.searchsorted(edges, (1 - rng.random()) * edges[-1], side="right"), len(edges) - 1)

    return token_by_token(target, draft, tokens, rng, recovers=recovers)
