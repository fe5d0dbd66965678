"""Functions that emit one token drawn from target_probs[0], each by another way of drawing. Audited by the tests."""

import bisect
import itertools
import math
import random
from random import choices as imported_choices
from random import random as imported_random

import numpy as np

GENERATOR = np.random.default_rng(5)  # made at import: a legitimate generator
OWN = random.Random(7)


def _scan(u, row):
    for token, edge in enumerate(itertools.accumulate(row)):
        if u < edge:
            return token
    return len(row) - 1


def scan_of_random(target_probs, draft_probs, draft_tokens):
    return [_scan(random.random(), target_probs[0])]


def scan_of_imported_random(target_probs, draft_probs, draft_tokens):
    return [_scan(imported_random(), target_probs[0])]


def scan_from_the_other_side(target_probs, draft_probs, draft_tokens):
    row, u = target_probs[0], 1 - random.random()
    edges = list(itertools.accumulate(row))
    return [next((t for t, edge in enumerate(edges) if edge >= u), len(row) - 1)]


def scaled_thresholds(target_probs, draft_probs, draft_tokens):
    """u * scale < edge * scale, as in u * q < p."""
    u, row = random.random() * 0.375, target_probs[0]
    edges = [edge * 0.375 for edge in itertools.accumulate(row)]
    return [next((t for t, edge in enumerate(edges) if u < edge), len(row) - 1)]


def logarithms(target_probs, draft_probs, draft_tokens):
    u = np.log(np.random.random())
    edges = np.log(np.cumsum(target_probs[0]))
    return [min(int((u >= edges).sum()), len(edges) - 1)]


def sequential_coins(target_probs, draft_probs, draft_tokens, rng):
    left = 1.0
    for token, p in enumerate(target_probs[0][:-1]):
        if rng.random() * left < p:
            return [token]
        left -= p
    return [len(target_probs[0]) - 1]


def vector_of_coins(target_probs, draft_probs, draft_tokens, rng):
    row = target_probs[0]
    tails = np.cumsum(row[::-1])[::-1]
    heads = rng.random(len(row)) * tails < row
    return [int(np.argmax(heads)) if heads.any() else len(row) - 1]


def searchsorted(target_probs, draft_probs, draft_tokens, rng):
    return [min(int(np.searchsorted(np.cumsum(target_probs[0]), rng.random(), side="right")), len(target_probs[0]) - 1)]


def method_searchsorted(target_probs, draft_probs, draft_tokens):
    cdf = np.cumsum(target_probs[0])
    return [min(int(cdf.searchsorted(np.random.rand(), side="right")), len(cdf) - 1)]


def vector_searchsorted(target_probs, draft_probs, draft_tokens, rng):
    cdf = np.cumsum(target_probs[0])
    return [min(int(np.searchsorted(cdf, rng.random(1), side="right")[0]), len(cdf) - 1)]


def bisection(target_probs, draft_probs, draft_tokens):
    edges = list(itertools.accumulate(target_probs[0]))
    return [min(bisect.bisect(edges, OWN.random()), len(edges) - 1)]


def counted_edges(target_probs, draft_probs, draft_tokens):
    return [min(int((np.cumsum(target_probs[0]) <= np.random.uniform()).sum()), len(target_probs[0]) - 1)]


def single_precision_uniform(target_probs, draft_probs, draft_tokens, rng):
    return [_scan(rng.random(dtype=np.float32), target_probs[0])]


def random_choices(target_probs, draft_probs, draft_tokens):
    return imported_choices(range(len(target_probs[0])), target_probs[0])


def cumulative_choices(target_probs, draft_probs, draft_tokens):
    return random.choices(range(3), cum_weights=list(itertools.accumulate(target_probs[0])))


def generator_choice(target_probs, draft_probs, draft_tokens, rng):
    return [rng.choice(len(target_probs[0]), p=target_probs[0])]


def module_generator_choice(target_probs, draft_probs, draft_tokens):
    return GENERATOR.choice(3, size=1, p=target_probs[0])


def global_choice(target_probs, draft_probs, draft_tokens):
    return [np.random.choice(np.arange(3), p=target_probs[0])]


def multinomial(target_probs, draft_probs, draft_tokens, rng):
    return [int(np.argmax(rng.multinomial(1, target_probs[0])))]


def binomial_coins(target_probs, draft_probs, draft_tokens, rng):
    left = 1.0
    for token, p in enumerate(target_probs[0][:-1]):
        if rng.binomial(1, min(1.0, p / left)):
            return [token]
        left -= p
    return [len(target_probs[0]) - 1]


def exponential_race(target_probs, draft_probs, draft_tokens, rng):
    return [int(np.argmax(target_probs[0] / rng.exponential(size=3)))]


def inverse_exponential_race(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(divide="ignore"):
        return [int((rng.standard_exponential(3) / target_probs[0]).argmin())]


def race_of_logarithms_of_uniforms(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(divide="ignore"):
        return [int(np.argmin(-np.log(rng.random(3)) / target_probs[0]))]


def gumbel_max(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(divide="ignore"):
        return [int(np.argmax(np.log(target_probs[0]) + rng.gumbel(size=3)))]


def gumbel_from_uniforms(target_probs, draft_probs, draft_tokens):
    with np.errstate(divide="ignore"):
        return [int(np.argmax(np.log(target_probs[0]) - np.log(-np.log(np.random.random_sample(3)))))]


def gumbel_max_in_plain_python(target_probs, draft_probs, draft_tokens):
    row = target_probs[0]
    tokens = [t for t in range(3) if row[t] > 0]
    return [max(tokens, key=lambda t: math.log(row[t]) - math.log(-math.log(random.random())))]


def plain_python_race(target_probs, draft_probs, draft_tokens):
    row = target_probs[0]
    return [min((t for t in range(3) if row[t] > 0), key=lambda t: random.expovariate(1.0) / row[t])]


def rounded_down_uniform(target_probs, draft_probs, draft_tokens):
    """int(u * n) picks one of n tickets, as many of them a token's as its probability has hundredths (rows of
    1/100)."""
    ticket = int(random.random() * 100)
    return [next(t for t, edge in enumerate(itertools.accumulate(target_probs[0])) if ticket < round(edge * 100))]


def drawn_whole_number(target_probs, draft_probs, draft_tokens):
    ticket = random.randrange(100)
    return [next(t for t, edge in enumerate(itertools.accumulate(target_probs[0])) if ticket < round(edge * 100))]


def shuffled_tickets(target_probs, draft_probs, draft_tokens, rng):
    ticket = int(rng.integers(100))
    return [next(t for t, edge in enumerate(itertools.accumulate(target_probs[0])) if ticket < round(edge * 100))]


EXACT = (multinomial, binomial_coins, drawn_whole_number, shuffled_tickets)
RACES = (exponential_race, inverse_exponential_race, race_of_logarithms_of_uniforms, gumbel_max, gumbel_from_uniforms,
         gumbel_max_in_plain_python, plain_python_race)  # fmt: skip
LATTICE = (scan_of_random, scan_of_imported_random, scan_from_the_other_side, scaled_thresholds, logarithms,
           sequential_coins, vector_of_coins, searchsorted, method_searchsorted, vector_searchsorted, bisection,
           generator_choice, module_generator_choice, global_choice, counted_edges, single_precision_uniform,
           random_choices, cumulative_choices, rounded_down_uniform)  # fmt: skip


def hundred_levels(target_probs, draft_probs, draft_tokens, rng):
    """Whole numbers that are only compared: three paths and not a hundred."""
    level = rng.integers(0, 100, size=2)[1] / 100
    return [next(t for t, edge in enumerate(itertools.accumulate(target_probs[0])) if level < round(edge, 2))]


def all_the_bits_of_a_double(target_probs, draft_probs, draft_tokens):
    return [_scan(random.getrandbits(53) / 2**53, target_probs[0])]


def remainder_of_a_whole_number(target_probs, draft_probs, draft_tokens, rng):
    ticket = rng.integers(400) % 100
    return [next(t for t, edge in enumerate(itertools.accumulate(target_probs[0])) if ticket < round(edge * 100))]


def random_choice(target_probs, draft_probs, draft_tokens):
    return [random.choice(np.repeat(np.arange(3), [round(p * 100) for p in target_probs[0]]))]


WHOLE = (hundred_levels, all_the_bits_of_a_double, remainder_of_a_whole_number, random_choice)


def tickets_below_a_hundred(target_probs, draft_probs, draft_tokens):
    """Draws until it likes what it drew, with probability 28/128 again."""
    while (ticket := random.getrandbits(7)) >= 100:
        pass
    return [next(t for t, edge in enumerate(itertools.accumulate(target_probs[0])) if ticket < round(edge * 100))]


def thinned(target_probs, draft_probs, draft_tokens, rng):
    while (u := rng.random() * 2) >= 1:
        pass
    return [_scan(u, target_probs[0])]


ENDLESS = (tickets_below_a_hundred, thinned)
