"""Code that takes rows as they are, whose sums are not 1: what it is off by stays within what is excused."""

import itertools
from collections import Counter

import numpy as np
import pytest

from draftproof.models.law import Table
from draftproof.models.problem import Problem
from draftproof.proofs.field import rational
from draftproof.proofs.rounding.rounding_allowed import rows_as_they_are

pytestmark = pytest.mark.exact
LARGEST = 2.0**-7


class Rows:
    """Random rows of both models, and what their sums are: of the target on every prefix, of the draft on shorter ones.

    taken: rows as code takes them, each as it is or normalised.
    """

    def __init__(self, draw):
        self.vocabulary, self.gamma = int(draw.integers(2, 4)), int(draw.integers(1, 4))
        prefixes = [x for n in range(self.gamma + 1) for x in itertools.product(range(self.vocabulary), repeat=n)]
        self.target = {x: self.row(draw, 1.0) for x in prefixes}
        shorter = [x for x in prefixes if len(x) < self.gamma]
        self.draft = {x: self.row(draw, 0.3) for x in shorter}
        opposed = draw.random() < 0.5
        self.over = [
            {x: LARGEST * (side if opposed else draw.choice([-1, 1])) for x in rows}
            for side, rows in ((1, self.target), (-1, self.draft))
        ]

    def row(self, draw, evenness):
        row = np.maximum(draw.dirichlet([evenness] * self.vocabulary), 1e-6)
        return row / row.sum()

    def taken(self, draw, often):
        return [
            {x: row * (1 + over[x] * (draw.random() < often)) for x, row in rows.items()}
            for rows, over in zip((self.target, self.draft), self.over)
        ]

    def excused(self):
        target, draft = (
            Table({x: tuple(map(rational, map(str, row))) for x, row in rows.items()}, name)
            for name, rows in (("target", self.target), ("draft", self.draft))
        )
        problem = Problem(vocabulary=self.vocabulary, gamma=self.gamma, target=target, draft=draft, name="rows")
        return rows_as_they_are(problem, *self.over)


def law_of(rows, rule, ratios, weights):
    """What is emitted, continued by the target. ratios, weights: the rows that each is computed from."""
    law = Counter()

    def continued(text, mass):
        if len(text) > rows.gamma:
            law[text] += mass
            return
        for token, p in enumerate(rows.target[text]):
            continued((*text, token), mass * p)

    for block in itertools.product(range(rows.vocabulary), repeat=rows.gamma):
        prefixes = [block[:i] for i in range(rows.gamma)]
        mass, survivals = float(np.prod([rows.draft[x][t] for x, t in zip(prefixes, block)])), [1.0]
        for x, token in zip(prefixes, block):
            kept = survivals[-1] if rule == "block" else 1.0
            survivals.append(min(kept * ratios[0][x][token] / ratios[1][x][token], 1.0))
        kept = survivals if rule == "block" else [1.0] * (rows.gamma + 1)
        rest = [np.maximum(kept[i] * weights[0][x] - weights[1][x], 0) for i, x in enumerate(prefixes)]
        ends = np.minimum(np.cumsum(weights[0][block]), 1.0)
        ends[-1] = 1.0
        replacements = [row / row.sum() if row.sum() else rows.target[x] for row, x in zip(rest, prefixes)]
        replacements.append(np.diff(ends, prepend=0.0))  # looked up as it is
        if rule == "token":
            reached = np.cumprod(survivals)
            stops = reached * [*(1 - np.array(survivals[1:])), 1.0]
        else:
            left = [row.sum() + 1 - p for row, p in zip(rest, survivals)]
            coins = [1.0, *(rest[i].sum() / left[i] if left[i] > 0 else 1.0 for i in range(1, rows.gamma))]
            coins.append(survivals[-1])
            stops = [h * np.prod([1 - g for g in coins[i + 1 :]]) for i, h in enumerate(coins)]
        for i, row in enumerate(replacements):
            for token, p in enumerate(row):
                continued((*block[:i], token), mass * stops[i] * p)
    return law


def moved(rows, rule, ratios, weights):
    plain = rows.target, rows.draft
    laws = law_of(rows, rule, ratios, weights), law_of(rows, rule, plain, plain)
    return sum(abs(laws[0][text] - laws[1][text]) for text in laws[0] | laws[1]) / 2


def test_rows_taken_as_they_are_move_a_law_by_no_more_and_hardly_less_than_is_excused():
    draw, shares = np.random.default_rng(7), []
    for k in range(150):
        rows = Rows(draw)
        ratios, weights = rows.taken(draw, (1.0, 0.5)[k % 3 == 0]), rows.taken(draw, (1.0, 0.5)[k % 3 == 0])
        for rule in ("token", "block"):
            shares.append(moved(rows, rule, ratios, weights) / rows.excused())
    assert 0.6 < max(shares) < 1


def test_code_that_also_accepts_too_often_is_beyond():
    rows = Rows(np.random.default_rng(1))
    willing = {x: row * 1.1 for x, row in rows.target.items()}, rows.draft
    assert moved(rows, "token", willing, (rows.target, rows.draft)) > rows.excused()
