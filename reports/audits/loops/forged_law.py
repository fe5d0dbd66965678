"""The law of a forged pair's first tokens under the settings, as a problem."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import log2
from typing import NamedTuple

from torch import Tensor

from ....models.law import Markov
from ....models.problem import Problem
from ..engines.texts import MOST_LOG2
from .forward_passes import full_pass
from .session import LoopSession

MAX_DENOMINATOR = 1000
"""Denominator up to which a row that was read back is taken for the rational row that it was forged from."""

FORGE_ROUNDING = Fraction(1, 10**6)
"""How near the rows read back have to be: what ``models.forge`` guarantees in float32."""

Row = tuple[Fraction, ...]


class ForgedLaw(NamedTuple):
    """The law of a forged pair.

    problem: target and draft as they are sampled, order 1, over rationals.
    source: where the rows are from, in words.
    start: the start token, which is V of the forged problem.
    end: the token that ends texts, if one of them does; then the token V of ``problem`` stands for "the text has
        ended", and follows itself.
    """

    problem: Problem
    source: str
    start: int
    end: int | None

    def countable(self, gamma: int) -> Problem:
        """The problem with the largest gamma up to this one whose gamma + 1 tokens can be counted."""
        most = int(MOST_LOG2 / log2(self.problem.vocabulary)) - 1
        return replace(self.problem, gamma=max(1, min(gamma, most)))

    def text(self, tokens: Sequence[int], length: int) -> tuple[int, ...]:
        """A text as ``problem`` writes it: filled up behind its end; a shorter one that has not ended stays short."""
        shift = 0 if self.end is None else 1
        text = [token + shift if token >= self.start else token for token in tokens]
        fill = self.start if text and text[-1] == self.end else -1
        return tuple(text + [fill] * (length - len(text)))


def forged_law(session: LoopSession, start: int) -> ForgedLaw:
    """The law of a forged pair as it is loaded, from one forward pass over <s>, 0, ..., V-1.

    The rationals that it was forged from, where temperature, top-k and top-p change nothing and all rows are rationals
    of small denominators to 1e-6, as they are in float32; else the float rows as sampled, each divided by its sum.
    """
    settings = session.settings
    logits = [full_pass(m, [start, *range(start)], session.pair.vocabulary) for m in session.models.values()]
    neutral = (settings.temperature, settings.top_k, settings.top_p) == (1, 0, 1)
    rows = _rationals([part.double().softmax(-1)[:, :start] for part in logits]) if neutral else None
    source = "the rationals it was forged from, recovered from its rows"
    if rows is None:
        rows = [_normalized(session.warp(part).double().softmax(-1)[:, :start]) for part in logits]
        source = "its rows as loaded, one forward pass"
    end = next((token for token in sorted(settings.end_tokens) if token < start), None)
    target, draft = (_markov(part, end) for part in rows)
    name = str(session.pair.target.config.forged_from).removeprefix("target of ")
    problem = Problem(start + (end is not None), settings.longest_gamma, target, draft, name)
    return ForgedLaw(problem, source, start, end)


def _rationals(models: Sequence[Tensor]) -> list[list[Row]] | None:
    """The rows as small rationals; None unless all are."""
    rows = [[tuple(Fraction(p).limit_denominator(MAX_DENOMINATOR) for p in row) for row in m.tolist()] for m in models]
    near = all(
        sum(exact) == 1 and all(abs(Fraction(p) - q) <= FORGE_ROUNDING for p, q in zip(row, exact, strict=True))
        for model, rationals in zip(models, rows, strict=True)
        for row, exact in zip(model.tolist(), rationals, strict=True)
    )
    return rows if near else None


def _normalized(rows: Tensor) -> list[Row]:
    return [tuple(Fraction(p) / sum(map(Fraction, row)) for p in row) for row in rows.tolist()]


def _markov(rows: list[Row], end: int | None) -> Markov:
    """Order 1; with an end token, the token V follows it and itself."""
    if end is None:
        return Markov(rows[0], tuple(rows[1:]))
    rows = [(*row, Fraction(0)) for row in rows]
    ended = tuple(Fraction(token == len(rows) - 1) for token in range(len(rows)))
    after = [ended if token == end else row for token, row in enumerate(rows[1:])]
    return Markov(rows[0], (*after, ended))
