"""Functions that emit one token drawn from target_probs[0], each by another way of drawing. Audited by the tests."""

import bisect
import itertools
import random
from random import choices as imported_choices
from random import random as imported_random

import numpy as np

GENERATOR = np.random.default_rng(5)  # made at import: a legitimate generator
OWN = random.Random(7)


def _of(draw):
    """Make a function that emits draw(row), by a generator of a module."""
    return lambda target_probs, draft_probs, draft_tokens: [draw(target_probs[0])]


def _by(draw):
    """Make a function that emits draw(row, rng)."""
    return lambda target_probs, draft_probs, draft_tokens, rng: [draw(target_probs[0], rng)]


def _scan(u, row, scale=1.0):
    """Compare u < edge * scale, as in u * q < p."""
    return next((t for t, edge in enumerate(itertools.accumulate(row)) if u < edge * scale), len(row) - 1)


def _ticket(number, row):
    """Return the token of one of a hundred tickets, as many of them a token's as its probability has hundredths."""
    return next(t for t, edge in enumerate(itertools.accumulate(row)) if number < round(edge * 100))


scan_of_random = _of(lambda row: _scan(random.random(), row))
scan_of_imported_random = _of(lambda row: _scan(imported_random(), row))
scaled_thresholds = _of(lambda row: _scan(random.random() * 0.375, row, 0.375))
single_precision_uniform = _by(lambda row, rng: _scan(rng.random(dtype=np.float32), row))
counted_edges = _of(lambda row: min(int((np.cumsum(row) <= np.random.uniform()).sum()), len(row) - 1))
searchsorted = _by(lambda row, rng: min(int(np.searchsorted(np.cumsum(row), rng.random(), side="right")), len(row) - 1))
method_searchsorted = _of(lambda row: min(int(np.cumsum(row).searchsorted(np.random.rand(), "right")), len(row) - 1))
vector_searchsorted = _by(
    lambda row, rng: min(int(np.searchsorted(np.cumsum(row), rng.random(1), side="right")[0]), len(row) - 1)
)
bisection = _of(lambda row: min(bisect.bisect([*itertools.accumulate(row)], OWN.random()), len(row) - 1))
random_choices = _of(lambda row: imported_choices(range(len(row)), row))
cumulative_choices = _of(lambda row: random.choices(range(3), cum_weights=[*itertools.accumulate(row)]))
generator_choice = _by(lambda row, rng: rng.choice(len(row), p=row))
module_generator_choice = _of(lambda row: GENERATOR.choice(3, size=1, p=row))
global_choice = _of(lambda row: np.random.choice(np.arange(3), p=row))
multinomial = _by(lambda row, rng: int(np.argmax(rng.multinomial(1, row))))
rounded_down_uniform = _of(lambda row: _ticket(int(random.random() * 100), row))
drawn_whole_number = _of(lambda row: _ticket(random.randrange(100), row))
shuffled_tickets = _by(lambda row, rng: _ticket(int(rng.integers(100)), row))


@_of
def scan_from_the_other_side(row):
    u, edges = 1 - random.random(), itertools.accumulate(row)
    return next((t for t, edge in enumerate(edges) if edge >= u), len(row) - 1)


@_of
def logarithms(row):
    u, edges = np.log(np.random.random()), np.log(np.cumsum(row))
    return min(int((u >= edges).sum()), len(edges) - 1)


def _sequentially(falls):
    """Make a function that tosses falls(p, left, rng) for each token but the last."""

    @_by
    def verify(row, rng):
        left = 1.0
        for token, p in enumerate(row[:-1]):
            if falls(p, left, rng):
                return token
            left -= p
        return len(row) - 1

    return verify


sequential_coins = _sequentially(lambda p, left, rng: rng.random() * left < p)
binomial_coins = _sequentially(lambda p, left, rng: rng.binomial(1, min(1.0, p / left)))


@_by
def vector_of_coins(row, rng):
    heads = rng.random(len(row)) * np.cumsum(row[::-1])[::-1] < row
    return int(np.argmax(heads)) if heads.any() else len(row) - 1


def _quietly(draw):
    with np.errstate(divide="ignore"):
        return int(draw())


exponential_race = _by(lambda row, rng: int(np.argmax(row / rng.exponential(size=3))))
inverse_exponential_race = _by(lambda row, rng: _quietly(lambda: (rng.standard_exponential(3) / row).argmin()))
race_of_logarithms_of_uniforms = _by(lambda row, rng: _quietly(lambda: np.argmin(-np.log(rng.random(3)) / row)))
gumbel_max = _by(lambda row, rng: _quietly(lambda: np.argmax(np.log(row) + rng.gumbel(size=3))))
gumbel_from_uniforms = _of(
    lambda row: _quietly(lambda: np.argmax(np.log(row) - np.log(-np.log(np.random.random_sample(3)))))
)

EXACT = (multinomial, binomial_coins, drawn_whole_number, shuffled_tickets)
RACES = (exponential_race, inverse_exponential_race, race_of_logarithms_of_uniforms, gumbel_max, gumbel_from_uniforms)
LATTICE = (scan_of_random, scan_of_imported_random, scan_from_the_other_side, scaled_thresholds, logarithms,
           sequential_coins, vector_of_coins, searchsorted, method_searchsorted, vector_searchsorted, bisection,
           generator_choice, module_generator_choice, global_choice, counted_edges, single_precision_uniform,
           random_choices, cumulative_choices, rounded_down_uniform)  # fmt: skip


@_by
def hundred_levels(row, rng):
    level = rng.integers(0, 100, size=1)[0] / 100
    return next(t for t, edge in enumerate(itertools.accumulate(row)) if level < round(edge, 2))


remainder_of_a_whole_number = _by(lambda row, rng: _ticket(rng.integers(400) % 100, row))
random_choice = _of(lambda row: random.choice(np.repeat(np.arange(3), [round(p * 100) for p in row])))

WHOLE = (hundred_levels, remainder_of_a_whole_number, random_choice)


@_by
def thinned(row, rng):
    while (u := rng.random() * 2) >= 1:
        pass
    return _scan(u, row)


ENDLESS = (thinned,)
