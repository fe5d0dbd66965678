"""What is known of a forged pair: the law of its first tokens under the settings, as a problem."""

from fractions import Fraction
from math import log2
from typing import NamedTuple

import torch

from ....models.law import Markov
from ....models.problem import Problem
from ..engines.texts import MOST_LOG2
from .forward_passes import one_shot
from .session import LoopSession

LARGEST = 1000
"""Denominator up to which a row that was read back is taken for the rational row that it was forged from."""

CLOSE = Fraction(1, 10**6)
"""How near the rows read back have to be: what ``models.forge`` guarantees in float32."""


class Known(NamedTuple):
    """problem: target and draft as they are sampled, order 1, over rationals. source: where the rows are from.
    tokens: V of the forged problem; end: the token that ends texts, if one of them does; then the token V of ``problem``
    stands for "the text has ended", and follows itself.
    """

    problem: Problem
    source: str
    tokens: int
    end: int | None

    def windows(self, gamma: int) -> Problem:
        """The problem with the largest gamma up to this one whose gamma + 1 tokens can be counted."""
        most = int(MOST_LOG2 / log2(self.problem.vocabulary)) - 1
        return Problem(
            self.problem.vocabulary,
            max(1, min(gamma, most)),
            self.problem.target,
            self.problem.draft,
            self.problem.name,
        )

    def text(self, tokens: list[int], length: int) -> tuple[int, ...]:
        """A text as ``problem`` writes it: filled up behind its end; a shorter one that has not ended stays short."""
        beyond = 0 if self.end is None else 1
        found = [token + beyond if token >= self.tokens else token for token in tokens]
        if self.end is not None and found and found[-1] == self.end:
            found += [self.tokens] * (length - len(found))
        return tuple(found + [-1] * (length - len(found)))


def known_law(run: LoopSession) -> Known:
    """The law of a forged pair as it is loaded, from one forward pass over <s>, 0, ..., V-1.

    The rationals that it was forged from, where temperature, top-k and top-p change nothing and all rows are rationals
    of small denominators to 1e-6, as they are in float32; else the float rows as sampled, each divided by its sum.
    """
    gamma = run.settings["gamma"]
    gamma = gamma if isinstance(gamma, int) else gamma.longest
    models = {"target": run.pair.target, "draft": run.pair.draft}
    neutral = all(run.settings[name] == usual for name, usual in (("temperature", 1), ("top_k", 0), ("top_p", 1)))
    rows = {name: _rows(model, run, neutral) for name, model in models.items()}
    exact = all(row is not None for found in rows.values() for row in found)
    if not exact:
        rows = {name: _as_sampled(model, run) for name, model in models.items()}
    eos = run.settings["eos"]
    ends = [eos] if isinstance(eos, int) else list(eos)
    end = next((token for token in ends if token < run.start), None)
    laws = [_markov(found, end) for found in rows.values()]
    size = run.start + (end is not None)
    name = str(run.pair.target.config.forged_from).removeprefix("target of ")
    source = (
        "the rationals it was forged from, recovered from its rows" if exact else "its rows as loaded, one forward pass"
    )
    return Known(Problem(size, gamma, *laws, name), source, run.start, end)


def _rows(model, run: LoopSession, neutral: bool) -> list:
    """Rows as small rationals, start first; None where a row is none."""
    if not neutral:
        return [None]
    rows = one_shot(model, [run.start, *range(run.start)], run.pair.vocabulary).double().softmax(-1)[:, : run.start]
    return [_rational(row) for row in rows.tolist()]


def _rational(row: list[float]) -> tuple[Fraction, ...] | None:
    near = tuple(Fraction(p).limit_denominator(LARGEST) for p in row)
    fits = sum(near) == 1 and all(abs(Fraction(p) - exact) <= CLOSE for p, exact in zip(row, near, strict=True))
    return near if fits else None


def _as_sampled(model, run: LoopSession) -> list[tuple[Fraction, ...]]:
    logits = one_shot(model, [run.start, *range(run.start)], run.pair.vocabulary)
    rows = run.warp(logits).double().softmax(-1)[:, : run.start].to(torch.float64).tolist()
    return [tuple(Fraction(p) / sum(map(Fraction, row)) for p in row) for row in rows]


def _markov(rows: list[tuple[Fraction, ...]], end: int | None) -> Markov:
    """Order 1; with an end token, the token V follows it and itself."""
    if end is None:
        return Markov(rows[0], tuple(rows[1:]))
    rows = [(*row, Fraction(0)) for row in rows]
    ended = tuple(Fraction(token == len(rows) - 1) for token in range(len(rows)))
    after = [ended if token == end else row for token, row in enumerate(rows[1:])]
    return Markov(rows[0], (*after, ended))
