"""Mutants of the residual: acceptance is right, the token that replaces a rejected one is not."""

import numpy as np

from .building_blocks import Floats, Generator, Verifier, draw, drawable, drawn_from, excess, with_parts, without

softmax_of_residual = with_parts(recovers=drawn_from(lambda p, q, x: np.exp(excess(p, q))))
"""Normalises the residual by a softmax, which gives mass to every token."""

replacement_from_target = with_parts(recovers=drawn_from(lambda p, q, x: p))
"""Draws the replacement from the target itself."""

only_rejected_token_removed = with_parts(recovers=drawn_from(lambda p, q, x: without(p, x)))
"""Subtracts the draft's row at the rejected token alone: the target without that token."""

mode_of_residual = with_parts(recovers=lambda rng, p, q, x: np.argmax(excess(p, q)))
"""Takes the likeliest token of the residual instead of a draw from it."""


def _race_with_nan(rng: Generator, p: Floats, q: Floats, x: int) -> np.intp:
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.log(p) + np.log1p(-np.minimum(q / p, 1.0))
    return np.argmax(scores + rng.gumbel(size=len(scores)))


nan_wins_argmax = with_parts(recovers=_race_with_nan)
"""Takes log p + log(1 - q / p) + Gumbel noise: NaN where both rows are 0, and argmax returns the first NaN."""

paired_by_place_in_list = with_parts(recovers=drawn_from(lambda p, q, x: excess(p, np.sort(q)[::-1])))
"""Subtracts row from row by place in two lists, of which the draft's is sorted by probability."""

stale_buffer_subtracted = with_parts(
    lambda rng, p, q, x: rng.random() < p[x],
    lambda rng, p, q, x: draw(rng, excess(without(p, x), q), drawable(without(p, x), p)),
)
"""Treats the draft as a point mass, right so far, but subtracts what an uninitialised row still holds."""


def _coin_up_to_one(rng: Generator, p: Floats, q: Floats, x: int) -> int | np.integer:
    edges = np.cumsum(drawable(excess(p, q), p))
    return min(np.searchsorted(edges, (1 - rng.random()) * edges[-1], side="right"), len(edges) - 1)


coin_of_one_falls_off = with_parts(recovers=_coin_up_to_one)
"""Looks the replacement up with a coin that can be exactly 1: no edge lies above it, and the last token is taken."""


def smoothed(way: np.ufunc, epsilon: float) -> Verifier:
    """Adds an epsilon to every entry of the residual, or makes it the least that an entry can be (np.maximum)."""
    return with_parts(recovers=drawn_from(lambda p, q, x: way(excess(p, q), epsilon)))


residual_smoothed = smoothed(np.add, 1e-3)
"""Gives every token a thousandth of weight in the residual, so that it can be divided by its sum."""


def __getattr__(name: str) -> Verifier:
    """Return the same with the epsilons that code has: plus_1e-8, floor_1e-8."""
    way, _, epsilon = name.partition("_")
    if way not in ("plus", "floor") or not epsilon.startswith("1e-"):
        raise AttributeError(name)
    return smoothed(np.add if way == "plus" else np.maximum, float(epsilon))
