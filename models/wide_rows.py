"""The rows of wide problems, made from their specification; apart from it, since NumPy takes long to import."""

from collections.abc import Callable

import numpy as np

from .law import Prefix

Row = np.ndarray


def _dense(draw: np.random.Generator, size: int) -> Row:
    return np.exp(2.0 * draw.standard_normal(size))


def _tails(draw: np.random.Generator, size: int) -> Row:
    """A few hundred probable tokens; 1e-9 each of the others, here and there a hundredth of it or a denormal number."""
    weights = np.full(size, 1e-9)
    weights[draw.integers(0, size, max(2, min(300, size // 3)))] = draw.random()
    weights[draw.integers(0, size, max(1, size // 50))] = 1e-310
    weights[(weights == 1e-9) & (np.arange(size) % 10 == 3)] = 1e-11
    return weights


def _peaked(draw: np.random.Generator, size: int) -> Row:
    """One token has all but a millionth."""
    weights = _dense(draw, size)
    weights[draw.integers(0, size)] = 1e6 * weights.sum()
    return weights


KINDS: dict[str, Callable[[np.random.Generator, int], Row]] = {
    "dense": _dense,
    "tails": _tails,
    "zeros": lambda draw, size: _dense(draw, size) * (draw.random(size) < 0.5),  # every other token is excluded
    "ties": lambda draw, size: np.ones(size),
    "peaked": _peaked,
    "near": _dense,  # the live tokens have nearly what the draft gives them, so that little is left (``target_row``)
}


def _draw(seed: int, prefix: Prefix, which: int) -> np.random.Generator:
    return np.random.default_rng([seed, len(prefix), prefix[-1] + 1 if prefix else 0, which])


def _weights(seed: int, prefix: Prefix, which: int, live: tuple[int, ...]) -> Row:
    return _draw(seed, prefix, which).integers(1, 10, len(live)).astype(float)


def target_row(vocabulary: int, kind: str, seed: int, prefix: Prefix, live: tuple[int, ...]) -> Row:
    """A row of that kind, in which the live tokens, if there are any, share 1/8 to 3/4; of kind near all but 1/501."""
    draw = _draw(seed, prefix, 0)
    row = KINDS[kind](draw, vocabulary)
    if live:
        weights, odds = _weights(seed, prefix, 1, live), draw.choice([1 / 7, 2 / 3, 3.0])
        if kind == "near":
            weights, odds = _weights(seed, prefix, 2, live) * (1 + 1e-3 * draw.random(len(live))), 500.0
        row[list(live)] = 0.0
        row[list(live)] = weights / weights.sum() * odds * (row.sum() or 1.0)
    return row / row.sum()


def exchanged(row: Row, live: tuple[int, ...]) -> Row:
    """The row with its largest and its smallest entry of tokens that are not live in each other's place."""
    others = np.setdiff1d(np.arange(len(row)), live)
    ends = [others[row[others].argmax()], others[row[others].argmin()]]
    row = row.copy()
    row[ends] = row[ends[::-1]]
    return row


def draft_row(vocabulary: int, seed: int, prefix: Prefix, live: tuple[int, ...]) -> Row:
    """A row that is 0 but for the live tokens."""
    row = np.zeros(vocabulary)
    row[list(live)] = _weights(seed, prefix, 2, live)
    return row / row.sum()
