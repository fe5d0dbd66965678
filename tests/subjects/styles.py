"""Verifiers in ordinary styles: each right one beside a wrong sibling."""

import random
from fractions import Fraction

import numpy as np

from draftproof.tests.subjects.wide import raced
from draftproof.verifiers.zoo.building_blocks import answer, draw, excess, ratio


def _verify(target, draft, tokens, rng, uniform):
    for i, x in enumerate(tokens):
        if not uniform() < ratio(target[i][x], draft[i][x]):
            return answer(tokens[:i], draw(rng, excess(target[i], draft[i]), target[i]))
    return answer(tokens, draw(rng, target[-1], target[-1]))


def levels_as_floats(target, draft, tokens, rng):
    """A uniform of 256 levels, as a plain float: right where ratios are whole 256ths."""
    return _verify(target, draft, tokens, rng, lambda: float(np.floor(rng.random() * 256) / 256))


def levels_off_by_one(target, draft, tokens, rng):
    return _verify(target, draft, tokens, rng, lambda: float(np.ceil(rng.random() * 256) / 256))


def one_level_accepted(target, draft, tokens, rng):
    """One of the 256 levels accepts whatever the ratio is."""

    def uniform():
        u = float(np.floor(rng.random() * 256) / 256)
        return 0.0 if u == 201 / 256 else u

    return _verify(target, draft, tokens, rng, uniform)


def levels_without_number(target, draft, tokens, rng):
    """Too many values for a plain float."""
    return _verify(target, draft, tokens, rng, lambda: float(rng.random()))


def _fractions(target, draft, tokens, rng, lenient):
    p, q = ([[Fraction(float(x)) for x in row] for row in rows] for rows in (target, draft))

    def drawn(weights):
        u, total = Fraction(rng.random()) * sum(weights), Fraction(0)
        for k, weight in enumerate(weights):
            total += weight
            if u < total:
                return k
        return max(k for k, weight in enumerate(weights) if weight)

    for i, x in enumerate(tokens):
        if not Fraction(rng.random()) * q[i][x] < p[i][x] * lenient:
            rest = [max(a - b, Fraction(0)) for a, b in zip(p[i], q[i])]
            return answer(tokens[:i], drawn(rest if sum(rest) else p[i]))
    return answer(tokens, drawn(p[-1]))


def fractions(target, draft, tokens, rng):
    return _fractions(target, draft, tokens, rng, 1)


def lenient_fractions(target, draft, tokens, rng):
    return _fractions(target, draft, tokens, rng, Fraction(1001, 1000))


def _softmax(target, draft, tokens, hard, tau=1.0):
    import torch

    def drawn(weights):
        return int(torch.nn.functional.gumbel_softmax(weights.log(), tau=tau, hard=hard).argmax())

    for i, x in enumerate(tokens):
        if not torch.rand((), dtype=target.dtype) * draft[i, x] < target[i, x]:
            rest = (target[i] - draft[i]).clamp(min=0)
            return [*tokens[:i].tolist(), drawn(rest if rest.sum() > 0 else target[i])]
    return [*tokens.tolist(), drawn(target[-1])]


def gumbel_softmax(target_probs, draft_probs, draft_tokens):
    return _softmax(target_probs, draft_probs, draft_tokens, hard=False)


def hard_gumbel_softmax(target_probs, draft_probs, draft_tokens):
    return _softmax(target_probs, draft_probs, draft_tokens, hard=True)


def sharpened_gumbel_softmax(target_probs, draft_probs, draft_tokens):
    return _softmax(target_probs**1.1, draft_probs, draft_tokens, hard=True)


def on_lists(target_probs, draft_probs, draft_tokens, chosen=random.choices):
    """Token verification on plain lists, without NumPy. chosen: as of ``random.choices``."""
    for i, (x, p, q) in enumerate(zip(draft_tokens, target_probs, draft_probs)):
        if random.random() * q[x] >= p[x]:
            return [*draft_tokens[:i], *chosen(range(len(p)), [max(a - b, 0.0) for a, b in zip(p, q)])]
    return [*draft_tokens, *chosen(range(len(target_probs[-1])), target_probs[-1])]


def on_lists_by_a_loop(target_probs, draft_probs, draft_tokens):
    return on_lists(target_probs, draft_probs, draft_tokens, _by_a_loop)


def _by_a_loop(population, weights):
    u, total = random.random() * sum(weights), 0.0
    for token, weight in zip(population, weights):
        total += weight
        if u < total:
            return [token]
    return [len(weights) - 1]


def on_lists_by_a_race(target_probs, draft_probs, draft_tokens, power=1.0):
    drawn = lambda population, weights: [raced(weights, random.random, power)]  # noqa: E731
    return on_lists(target_probs, draft_probs, draft_tokens, drawn)


def on_lists_by_a_race_of_powers(target_probs, draft_probs, draft_tokens):
    return on_lists_by_a_race(target_probs, draft_probs, draft_tokens, 1.01)
