"""The rows of wide problems, made from their specification, and their sums; apart from it: NumPy takes long to load."""

import math
from collections.abc import Callable

import numpy as np

from .law import Prefix

Row = np.ndarray


def _dense(draw: np.random.Generator, size: int) -> Row:
    return np.exp(2.0 * draw.standard_normal(size))


def _tails(draw: np.random.Generator, size: int) -> Row:
    """Draw a few hundred probable tokens. The others have 1e-9, here and there a hundredth of it or a denormal
    number.
    """
    weights = np.full(size, 1e-9)
    weights[draw.integers(0, size, max(2, min(300, size // 3)))] = draw.random()
    weights[draw.integers(0, size, max(1, size // 50))] = 1e-310
    weights[(weights == 1e-9) & (np.arange(size) % 10 == 3)] = 1e-11
    return weights


def _few(draw: np.random.Generator, size: int) -> Row:
    """Draw a row of which three tokens have all."""
    weights = np.zeros(size)
    weights[draw.choice(size, min(size, 3), replace=False)] = draw.integers(1, 10, min(size, 3))
    return weights


def _peaked(draw: np.random.Generator, size: int) -> Row:
    """Draw a row of which one token has all but a millionth."""
    weights = _dense(draw, size)
    weights[draw.integers(0, size)] = 1e6 * weights.sum()
    return weights


KINDS: dict[str, Callable[[np.random.Generator, int], Row]] = {
    "dense": _dense,
    "tails": _tails,
    "zeros": lambda draw, size: _dense(draw, size) * (draw.random(size) < 0.5),  # every other token is excluded
    "ties": lambda draw, size: np.ones(size),
    "peaked": _peaked,
    "few": _few,
    "likely": _few,  # the live tokens have gamma times what the others have: all of a long block is often accepted
    "single": _few,  # the live tokens have a part of what the draft gives them, one other has the rest (``target_row``)
    "ends": _few,  # so too, but the first and the last token of the vocabulary have the rest, and a third one
    "near": _dense,  # the live tokens have nearly what the draft gives them, so that little is left (``target_row``)
}


def _draw(seed: int, prefix: Prefix, which: int) -> np.random.Generator:
    return np.random.default_rng([seed, len(prefix), prefix[-1] + 1 if prefix else 0, which])


def _weights(seed: int, prefix: Prefix, which: int, live: tuple[int, ...]) -> Row:
    return _draw(seed, prefix, which).integers(1, 10, len(live)).astype(float)


def target_row(vocabulary: int, kind: str, seed: int, prefix: Prefix, live: tuple[int, ...], gamma: int = 1) -> Row:
    """Return a row of that kind, in which the live tokens share 1/8 to 3/4; in kind near all but 1/501."""
    if kind in ("single", "ends"):
        return _row_with_few_others(vocabulary, kind, seed, prefix, live)
    draw = _draw(seed, prefix, 0)
    row = KINDS[kind](draw, vocabulary)
    if live:
        weights, odds = _weights(seed, prefix, 1, live), draw.choice([1 / 7, 2 / 3, 3.0])
        if kind == "near":
            weights, odds = _weights(seed, prefix, 2, live) * (1 + 1e-3 * draw.random(len(live))), 500.0
        odds = float(gamma) if kind == "likely" else odds
        row[list(live)] = 0.0
        row[list(live)] = weights / weights.sum() * odds * (row.sum() or 1.0)
    return row / row.sum()


def _row_with_few_others(vocabulary: int, kind: str, seed: int, prefix: Prefix, live: tuple[int, ...]) -> Row:
    """Return a row of kind single or ends: shares of the draft's row for live tokens, the rest on one or three."""
    row, thirds = np.zeros(vocabulary), [vocabulary // 3, vocabulary // 3 + 1]
    others = np.setdiff1d(thirds, live)[:1]
    if kind == "ends":
        others = np.setdiff1d([0, *thirds[:1], vocabulary - 1], live)
    if live:
        ratios = np.resize(RATIOS, len(live))
        ratios[LIKELIER : LIKELIER + 1] = 1.2
        ratios = np.array([SURE]) if kind == "ends" and len(live) == 1 else ratios
        row[list(live)] = ratios * draft_row(vocabulary, kind, seed, prefix, live)[list(live)]
    row[others] = (1.0 - row.sum()) * (np.array(SHARES) if len(others) == len(SHARES) else 1.0 / len(others))
    return row


RATIOS = (0.47, 0.053, 0.93, 0.23, 0.77, 0.39)
"""Kind single: the target's share of what the draft gives each live token, in turn. None is a multiple of a power of
two, so that coarse uniforms show."""

LIKELIER = 4
"""Kind single: the live token that the target gives more than the draft, so that two are left after a rejection."""

SHARES = (0.25, 0.375, 0.375)
"""Kind ends: the shares that the first token, another and the last have of what the live tokens leave."""

SURE = 0.97
"""Kind ends: the target's share of what the draft gives a live token that is alone."""

DRAFT_SHARES = (0.55, 0.2, 0.13, 0.07, 0.042, 0.008)
"""Kind ends: the draft's shares of several live tokens."""

STRIDES = {16: 2 * 3 * 5 * 7 * 11 * 13, 36: 2 * 3 * 5 * 7 * 11 * 13 * 17 * 19 * 23 * 29 * 31}
"""An index without a common divisor with it is no multiple of any number up to that."""

SMALL_ROW = 1000
"""Entries below which a row is exchanged at multiples of small numbers alone."""

KEPT_LARGEST = 64
"""Most of a row's largest entries that are not exchanged."""

SUMS_TRIED = 50
"""Ways of exchanging that are tried to keep a row's sum."""


def exchanged(row: Row, live: tuple[int, ...]) -> Row:
    """Exchange entries of tokens that are not live, two by two; of equal ones, half of one goes to the other.

    As they were: the first and the last quarter of the row; every s-th entry from the first on, for all s up to 36 (of
    rows below 1,000 up to 16) and their multiples; every 8 k-th from the last on; the last of every eight; its largest
    entries, 64 or one in 32; and where it can be its sum, as NumPy adds in float64 and in float32.
    """
    size = len(row)
    index = np.arange(size // 4, size - size // 4)
    index = index[np.gcd(index, STRIDES[16 if size < SMALL_ROW else 36]) == 1]
    index = index[(index % 8 != 7) & ((size - 1 - index) % 8 != 0)]
    largest = np.argsort(-row, kind="stable")[: min(KEPT_LARGEST, size // 32)]
    index = np.setdiff1d(index, [*live, *largest])
    draw, pairs = np.random.default_rng(size), index[: len(index) // 2 * 2].reshape(-1, 2)
    changed, sums = row.copy(), _sums(row)
    for share in (1.0, *[0.9] * SUMS_TRIED):
        changed = row.copy()
        one, other = pairs[draw.random(len(pairs)) < share].T
        changed[one], changed[other] = row[other], row[one]
        equal = row[one] == row[other]
        changed[one[equal]], changed[other[equal]] = 1.5 * row[one[equal]], 0.5 * row[other[equal]]
        if _sums(changed) == sums:
            break
    return changed


def _sums(row: Row) -> tuple[float, float]:
    return float(row.sum()), float(row.astype(np.float32).sum())


def departing_rows(vocabulary: int, gamma: int, seed: int, position: int, live: tuple[int, ...]) -> tuple[Row, Row]:
    """Return the rows (target, draft) of a position at which a draft may depart, with the second of two live tokens.

    The draft gives that token 1 / gamma, the target a part of it. The first one and a third token share the rest.
    """
    draw = np.random.default_rng([seed, position, 3])
    third = draw.choice(np.setdiff1d(np.arange(vocabulary), live)) if vocabulary > 2 else live[0]
    target, draft = np.zeros(vocabulary), np.zeros(vocabulary)
    draft[list(live)] = 1 - 1 / gamma, 1 / gamma
    kept, given = draw.choice([0.25, 0.5, 0.75]) / gamma, draw.choice([0.25, 0.5, 0.75])
    target[list(live)] = 1 - 1 / gamma, kept
    target[live[0]] += given * (1 / gamma - kept)
    target[third] += (1 - given) * (1 / gamma - kept)
    return target, draft


def draft_row(vocabulary: int, kind: str, seed: int, prefix: Prefix, live: tuple[int, ...]) -> Row:
    """Return a row that is 0 but for the live tokens."""
    row = np.zeros(vocabulary)
    weights = np.resize(DRAFT_SHARES, len(live)) if kind == "ends" else _weights(seed, prefix, 2, live)
    row[list(live)] = weights if len(live) > 1 else 1.0
    return row / row.sum()


def one_token(vocabulary: int, token: int) -> Row:
    """Return the row of which one token has all."""
    row = np.zeros(vocabulary)
    row[token] = 1.0
    return row


def in_256ths(row: Row) -> Row:
    """Return the nearest row of multiples of 1/256, at least one for a positive entry; all but one of them odd.

    bfloat16 has these numbers, and they sum to 1: rows that do not are off by so much in each decision of a block.
    """
    parts = np.floor(256 * row) + ((row > 0) & (row < 1 / 256))
    while left := int(256 - parts.sum()):
        parts[np.argmax(256 * row - parts if left > 0 else parts)] += 1 if left > 0 else -1
    even = [*np.flatnonzero((parts > 0) & (parts % 2 == 0))]
    for one, other in zip(even[::2], even[1::2], strict=False):
        least, most = sorted((one, other), key=lambda i: parts[i])
        parts[least] += 1
        parts[most] -= 1
    return parts / 256


FEW = 256
"""Entries up to which ``math.fsum`` is as fast."""


def row_sum(row: Row) -> float:
    """Sum a row of floats, halves added to halves, and what each addition lost added at the end.

    It is rounded about once, in a hundredth of the time of ``math.fsum``.

    Guarantee: off by u |sum| + (log2 V)^2 u^2 sum |row|, u = 2^-53.
    Source: Knuth, The Art of Computer Programming 2, section 4.2.2 (TwoSum).
    """
    if len(row) <= FEW:
        return math.fsum(row.tolist())
    lost, row = 0.0, row[row != 0].astype("float64")
    while len(row) > FEW:
        half = len(row) // 2
        one, other, odd = row[:half], row[half : 2 * half], row[2 * half :]
        both = one + other
        back = both - one
        lost += float(((one - (both - back)) + (other - back)).sum()) + float(odd.sum())
        row = both
    return math.fsum((*row.tolist(), lost))
