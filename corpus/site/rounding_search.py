"""The largest deviations that a search finds in float32, next to the bounds over all problems of a size.

A sum in order is worst where one large entry comes first and each later one is half a step of the sum, or a little more
or less: then each addition rounds the same way, by all that it can.
"""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

VOCABULARY = 152_000
GAMMA, SIBLINGS = 8, 4
Row = np.ndarray
Add = Callable[[Row], np.float32]
"""Function that adds up the float32 entries of a row in float32."""


def in_order(row: Row) -> np.float32:
    """Return the sum of a row, one entry after the other."""
    return row.cumsum(dtype=np.float32)[-1]


def in_pairs(row: Row) -> np.float32:
    """Return the sum of a row by halves."""
    while len(row) > 1:
        row = np.append(row, np.float32(0)) if len(row) % 2 else row
        row = row[0::2] + row[1::2]
    return row[0]


def half_steps(first: float, up: bool, vocabulary: int = VOCABULARY) -> Row:
    """Return a row whose sum in order is off the most: ``first``, a power of two, and half steps of its sum."""
    step = math.ldexp(first, -23)
    row = np.full(vocabulary, step / 2 * (1 + (1 if up else -1) * 2.0**-11), dtype=np.float32)
    row[0] = first * (1 + 2.0**-22)
    return row


def largest_sum() -> float:
    """Return the largest relative error of a sum in order."""
    rows = [half_steps(1.0, up) for up in (True, False)]
    return max(abs(float(in_order(row)) / math.fsum(row.tolist()) - 1) for row in rows)


def largest_look_up() -> float:
    """Return the largest total variation of a look-up in a running sum, by uniforms that have all bits."""
    found = 0.0
    for row in (half_steps(1.0, True), half_steps(1.0, False), np.full(VOCABULARY, 1.3 / VOCABULARY, np.float32)):
        sums = row.cumsum(dtype=np.float32)
        law = np.diff((sums / sums[-1]).astype(np.float64), prepend=0.0)
        exact = row.astype(np.float64) / math.fsum(row.tolist())
        found = max(found, float(np.abs(law - exact).sum() / 2))
    return found


def kept_lengths(coins: list[float]) -> np.ndarray:
    """Return the law of how many tokens block verification keeps, by its coins: the last that falls decides."""
    law, rest = [], 1.0
    for coin in reversed(coins):
        law.append(rest * coin)
        rest *= 1 - coin
    return np.array([rest, *reversed(law)])


class Path(NamedTuple):
    """A problem whose draft is sure: token 0, always. What is left over after i tokens goes to the other tokens.

    first: probability that the target has for the first drafted token. left: for each later position the power of two
    that the weights of the last token come to, and whether their sum is rounded up.
    """

    first: float
    left: tuple[tuple[int, bool], ...]


def expected(path: Path) -> float:
    """Return what a path's deviation should be if each sum is off by all it can."""
    survival, off = path.first, VOCABULARY * 2.0**-24
    exact, computed = [], []
    for power, up in path.left:
        excess = math.ldexp(1 + off, power)
        if excess > survival:
            return 0.0
        wrong = excess * (1 + (off if up else -off))
        exact.append(excess / (excess + 1 - survival))
        computed.append(wrong / (wrong + 1 - survival))
        survival -= excess
    laws = [kept_lengths([*coins, survival]) for coins in (exact, computed)]
    return float(np.abs(laws[1] - laws[0]).sum() / 2)


def path_rows(path: Path) -> list[Row]:
    """Return the target's rows along the draft; entry 0 is the drafted token's."""
    survival = np.float32(path.first)
    rows: list[Row] = [np.array([path.first, 1 - path.first], np.float32)]
    for power, up in path.left:
        weights = half_steps(math.ldexp(1.0, power), up, VOCABULARY - 1) / survival
        drafted = np.array([1 - weights.sum(dtype=np.float64)], np.float32)
        rows.append(np.concatenate([drafted, weights]))
        survival *= rows[-1][0]
    return rows


def block_deviation(rows: list[Row], add: Add) -> float:
    """Return the total variation by which block verification, computed in float32, is off on such rows."""
    survival, known = np.float32(1), 1.0
    exact, computed = [], []
    for i, row in enumerate(rows):
        if i:
            total = add(survival * row[1:])
            excess = known * float(row[1:].sum(dtype=np.float64))
            exact.append(excess / (excess + 1 - known))
            computed.append(min(float(total / ((total + np.float32(1)) - survival)), 1.0))
        survival, known = survival * row[0], known * float(row[0])
    laws = kept_lengths([*exact, known]), kept_lengths([*computed, float(survival)])
    return float(np.abs(laws[1] - laws[0]).sum() / 2)


def largest_of_block(tries: int = 4000) -> Path:
    """Return the path of gamma tokens whose expected deviation is the largest of those that are drawn."""
    draw = np.random.default_rng(0)

    def paths() -> Path:
        powers, up = draw.integers(-9, 0, GAMMA - 1).tolist(), (draw.random(GAMMA - 1) < draw.random()).tolist()
        return Path(float(draw.uniform(0.05, 1)), tuple(zip(powers, up, strict=True)))

    return max((paths() for _ in range(tries)), key=expected)


def siblings_rows() -> tuple[Row, Row]:
    """Return the target's and the draft's row on which a search of 3,000 rows found multi-round rejection worst."""
    target, draft = half_steps(0.0625, False), np.zeros(VOCABULARY, np.float32)
    target[2], draft[2] = 0.233783, 0.568228
    for row in (target, draft):
        row[1] = 1 - np.delete(row, 1).sum(dtype=np.float64)
    return target, draft


class Level(NamedTuple):
    """What a rule makes of siblings: how often each token is accepted, and emitted after all were rejected."""

    accepted: Row
    rest: Row


def by_rejection(target: Row, draft: Row, siblings: int, add: Add) -> Level:
    """Return what multi-round rejection makes of siblings.

    The rows are computed in float32 as ``verifiers/trees`` does; drafts, coins and the last draw are exact.
    """
    left, reached, accepted = target, 1.0, np.zeros(len(target))
    for _ in range(siblings):
        ratios = np.divide(left, draft, out=np.zeros_like(left), where=draft > 0)
        kept = reached * draft.astype(float) * np.minimum(ratios, np.float32(1))
        accepted, reached = accepted + kept, reached - kept.sum()
        rest = np.maximum(left - draft, np.float32(0))
        if not (total := add(rest)):
            break
        left = rest / total
    return Level(accepted, reached * left / left.sum(dtype=float))


def level_deviation(target: Row, level: Level, levels: int) -> float:
    """Return at least the total variation of so many levels whose rows are all these, completed by the target.

    Tokens count as two: those that come out more often than they should, and the others.
    """
    exact = target / target.sum(dtype=float)
    more = level.accepted + level.rest > exact
    parts = [[float(row[~more].sum()), float(row[more].sum())] for row in (level.accepted, level.rest, exact)]
    off = 0.0
    for text in itertools.product((0, 1), repeat=levels):
        goes_on, ended, right = 1.0, 0.0, 1.0
        for kind in text:
            ended = ended * parts[2][kind] + goes_on * parts[1][kind]
            goes_on, right = goes_on * parts[0][kind], right * parts[2][kind]
        off += abs(goes_on + ended - right)
    return off / 2


def multi_round_deviation(target: Row, draft: Row, add: Add) -> float:
    """Return at least the total variation of ``GAMMA`` levels of multi-round rejection."""
    return level_deviation(target, by_rejection(target, draft, SIBLINGS, add), GAMMA)
