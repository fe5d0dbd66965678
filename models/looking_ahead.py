"""Regions of decisions that look along the drafted path: what is done with a token depends on rows that it leads to.

A cell is covered by a problem if this mistake alone moves the law of token verification by more than rounding: token i
is not verified, and the target draws in its place, where a score of the block is above a threshold. With p, q the rows
after x, a = min(1, p / q), r the residual and A(x) the probability that x is drafted and kept, the law of the token
after x is off by

    A(x) |sum over t of q(t) P(score above | xt) (a(t) [t] + (1 - a(t)) r - p)|_1 / 2 .

A score that is the same behind all tokens t has no such effect: the sum of q(t) (a(t) [t] + (1 - a(t)) r) is p.
Source: Sun et al. 2025, Algorithm 1.
"""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from .law import Prefix
from .problem import Problem
from .rationals import as_float

Cell = tuple[Any, ...]

LENGTHS = range(2, 9)
"""Lengths of blocks of which there are such regions."""

USUAL = (0.1, 0.5, 0.9)
"""Thresholds of the scores, which are between 0 and 1."""

THRESHOLDS = {"largest entry of the draft": (0.3, 0.4, 0.9), "largest entry of the target": (0.3, 0.4, 0.9)}
"""The same of some scores."""

OVER_SEVERAL = (2, 3)
"""Lengths of blocks over three and more tokens, of which the largest entry says something else than the margin."""

SURE = 0.5
"""The margin, of the largest entry over the second, from which on a row is sure of a token."""

AHEAD = "ahead"
"""Beginning of the names of these regions."""

AGGREGATES = ("least", "largest", "mean", "product", "last")
"""How the scores of all positions become one."""

ON_NO_LIKELY_PATH = ("largest", "mean")
"""Aggregates that are small where every token is unlikely to be drafted: left out for scores of the tokens."""

SCORES = ("margin of the draft", "margin of the target", "smaller margin", "overlap", "agreement", "acceptance")
"""Scores of a position by the draft's row, the target's, or both."""

OF_TOKENS = ("confidence of the draft", "confidence of the target")
"""The same by the probability of the token that was drafted."""

WIDTHS_BY = ("margin of the draft", "confidence of the draft", "overlap")
"""Scores by whose product, times the number of tokens, a width is the best."""

MOST_BLOCKS = 300
"""Draft blocks of a problem beyond which no regions are looked for: it would take seconds."""


def cells() -> Iterator[Cell]:
    """Yield the regions in which such a mistake can be visible."""
    for gamma in LENGTHS:
        scores = [*SCORES, *(THRESHOLDS if gamma in OVER_SEVERAL else ())]
        names = [*product(AGGREGATES, scores), *product(set(AGGREGATES).difference(ON_NO_LIKELY_PATH), OF_TOKENS)]
        for aggregate, score in names:
            for threshold in THRESHOLDS.get(score, USUAL):
                yield f"{AHEAD}: {aggregate} of all rows", score, gamma, threshold
        for model, i in product(("draft", "target"), range(1, gamma + 1)):
            yield from ((f"{AHEAD}: one row", model, gamma, i, j) for j in range(i, gamma + (model == "target")))
        for score, i in product(WIDTHS_BY, range(1, gamma + 1)):
            if i < gamma or score in OF_TOKENS:  # whether the last token is verified is known before it is drafted
                yield f"{AHEAD}: best width", score, gamma, i


def looking_ahead(problem: Problem) -> dict[Cell, float]:
    """Return cell -> the largest effect of its mistake on this problem, for those that are not 0."""
    gamma, vocabulary = problem.gamma, problem.vocabulary
    blocks = [*_blocks(problem, (), 1.0)] if gamma in LENGTHS else []
    if len(blocks) > MOST_BLOCKS:
        return {}
    rows = {x: _Rows(problem, x) for x in dict.fromkeys(block[:n] for block, _ in blocks for n in range(gamma + 1))}
    marks = {block: _marks(block, rows) for block, _ in blocks}
    below: dict[Prefix, list[tuple[Prefix, float]]] = {}
    for block, share in blocks:
        for n in range(gamma):
            below.setdefault(block[:n], []).append((block, share))
    found: dict[Cell, float] = {}
    for prefix, some in below.items():
        gaps, kept, i = rows[prefix].gaps(), _kept(prefix, rows), len(prefix)
        if not kept or not any(map(any, gaps)):
            continue
        masses: dict[Cell, list[float]] = {}  # by the token behind the prefix
        for block, share in some:
            for name in marks[block][i]:
                masses.setdefault(name, [0.0] * vocabulary)[block[i]] += share
        scale = kept / sum(share for _, share in some) / 2
        for name, mass in masses.items():
            effect = scale * sum(abs(sum(m * gap[y] for m, gap in zip(mass, gaps))) for y in range(vocabulary))
            if effect > found.get(name, 0.0):
                found[name] = effect
    return found


def _blocks(problem: Problem, prefix: Prefix, share: float) -> Iterator[tuple[Prefix, float]]:
    """Yield the draft blocks that begin so, and their probabilities."""
    if len(prefix) == problem.gamma:
        yield prefix, share
        return
    for token, q in enumerate(problem.draft.row(prefix)):
        if q:
            yield from _blocks(problem, (*prefix, token), share * as_float(q))


class _Rows:
    """The rows after a prefix, as floats. p: the target's. q: the draft's, empty after a whole block.

    margins: of the draft's row, if there is one, and of the target's.
    """

    def __init__(self, problem: Problem, prefix: Prefix):
        self.p = [*map(as_float, problem.target.row(prefix))]
        self.q = [*map(as_float, problem.draft.row(prefix))] if len(prefix) < problem.gamma else []
        self.margins = [_margin(row) for row in (self.q, self.p) if row]

    def gaps(self) -> list[list[float]]:
        """Return for each token the law of what is emitted if it is drafted, less the target's row."""
        rest = [max(p - q, 0.0) for p, q in zip(self.p, self.q)]
        left = sum(rest) or 1.0
        found = []
        for token, (p, q) in enumerate(zip(self.p, self.q)):
            kept = min(p / q, 1.0) if q else 1.0
            gap = [(1 - kept) * r / left - other for r, other in zip(rest, self.p)]
            gap[token] += kept
            found.append(gap)
        return found

    def scores(self, token: int) -> dict[str, float]:
        """Return the scores of a position at which the token was drafted."""
        p, q = self.p, self.q
        agreement = float(p.index(max(p)) == q.index(max(q)))
        of_both = [min(self.margins), sum(map(min, p, q)), agreement, min(p[token] / q[token], 1.0)]
        values = [*self.margins, *of_both, q[token], p[token], max(q), max(p)]
        return dict(zip((*SCORES, *OF_TOKENS, *THRESHOLDS), values, strict=True))


def _margin(row: list[float]) -> float:
    *_, second, first = sorted(row)
    return first - second


def _marks(block: Prefix, rows: dict[Prefix, _Rows]) -> list[list[Cell]]:
    """Return for each position the regions of which the mistake is made there with this block."""
    gamma = len(block)
    each = [rows[block[:n]].scores(token) for n, token in enumerate(block)]
    everywhere: list[Cell] = []
    for score in (*SCORES, *OF_TOKENS, *(THRESHOLDS if gamma in OVER_SEVERAL else ())):
        values = [scores[score] for scores in each]
        every = min(values), max(values), sum(values) / gamma, math.prod(values), values[-1]
        limits = THRESHOLDS.get(score, USUAL)
        for aggregate, value in zip(AGGREGATES, every, strict=True):
            if score not in OF_TOKENS or aggregate not in ON_NO_LIKELY_PATH:
                name = f"{AHEAD}: {aggregate} of all rows"
                everywhere += [(name, score, gamma, limit) for limit in limits if value > limit]
    widths = {score: _best_width([scores[score] for scores in each]) for score in WIDTHS_BY}
    found = []
    for i in range(1, gamma + 1):
        here = [
            *everywhere,
            *((f"{AHEAD}: best width", score, gamma, i) for score, width in widths.items() if width < i),
        ]
        for j in range(i, gamma + 1):
            sure = [margin > SURE for margin in rows[block[:j]].margins]
            models = ("draft", "target")[-len(sure) :]
            here += [(f"{AHEAD}: one row", model, gamma, i, j) for model, one in zip(models, sure) if one]
        found.append(here)
    return found


def _best_width(scores: list[float]) -> int:
    """Return the width with the largest product of scores times the number of tokens; 0 where that is below 1/2."""
    gains = [0.5, *(n * math.prod(scores[:n]) for n in range(1, len(scores) + 1))]
    return gains.index(max(gains))


def _kept(prefix: Prefix, rows: dict[Prefix, _Rows]) -> float:
    """Return the probability that the prefix is drafted and token verification keeps it."""
    return math.prod(min(rows[prefix[:n]].p[token], rows[prefix[:n]].q[token]) for n, token in enumerate(prefix))
