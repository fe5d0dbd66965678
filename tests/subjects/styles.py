"""Verifiers in ordinary styles: each right one beside a wrong sibling."""

import math
import random


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


def _raced(weights, power):
    """Compare the best score so far with the next one, which may be minus infinity."""
    best, at = -math.inf, 0
    for token, p in enumerate(weights):
        score = power * math.log(p) - math.log(-math.log(random.random())) if p > 0 else -math.inf
        best, at = (score, token) if score > best else (best, at)
    return at


def on_lists_by_a_race(target_probs, draft_probs, draft_tokens, power=1.0):
    drawn = lambda population, weights: [_raced(weights, power)]  # noqa: E731
    return on_lists(target_probs, draft_probs, draft_tokens, drawn)


def on_lists_by_a_race_of_powers(target_probs, draft_probs, draft_tokens):
    return on_lists_by_a_race(target_probs, draft_probs, draft_tokens, 1.01)
