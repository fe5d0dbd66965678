"""Functions that verify many blocks a call, right and wrong: arrays [B, ...] in, tokens padded with -1 out."""

import numpy as np


def token(target_probs, draft_probs, draft_tokens, rng):
    accepted = _coins(rng, draft_tokens.shape) < _ratios(target_probs, draft_probs, draft_tokens)
    tau = accepted.cumprod(axis=1).sum(axis=1)
    rest = np.concatenate([np.maximum(target_probs[:, :-1] - draft_probs, 0), target_probs[:, -1:]], axis=1)
    return _emitted(draft_tokens, tau, rest, rng)


def block(target_probs, draft_probs, draft_tokens, rng):
    size, gamma = draft_tokens.shape
    kept = np.ones((size, gamma + 1))
    for i, ratio in enumerate(_ratios(target_probs, draft_probs, draft_tokens).T):
        kept[:, i + 1] = np.minimum(kept[:, i] * ratio, 1)
    residuals = np.maximum(kept[:, :-1, None] * target_probs[:, :-1] - draft_probs, 0)
    rest = np.concatenate([residuals, target_probs[:, -1:]], axis=1)
    surplus = rest[:, :-1].sum(axis=2)
    left = surplus + 1 - kept[:, :-1]
    accepted = np.ones((size, gamma + 1), bool)
    accepted[:, 1:gamma] = _coins(rng, (size, gamma))[:, 1:] * left[:, 1:] < surplus[:, 1:] + (left[:, 1:] == 0)
    accepted[:, gamma] = _coins(rng, size) < kept[:, gamma]
    tau = gamma - accepted[:, ::-1].argmax(axis=1)
    return _emitted(draft_tokens, tau, rest, rng)


def one_in_twenty_is_zero(target_probs, draft_probs, draft_tokens, rng):
    emitted = block(target_probs, draft_probs, draft_tokens, rng)
    emitted[_coins(rng, len(emitted)) < 0.05, 0] = 0
    return emitted


def lists(target_probs, draft_probs, draft_tokens, rng):
    return [[t for t in row if t >= 0] for row in block(target_probs, draft_probs, draft_tokens, rng).tolist()]


def counts_its_calls(target_probs, draft_probs, draft_tokens, rng):
    CALLS.append(1)
    if len(CALLS) % 10 == 0:
        raise RuntimeError(f"call number {len(CALLS)}")
    return block(target_probs, draft_probs, draft_tokens, rng)


def fails(target_probs, draft_probs, draft_tokens, rng):
    raise ValueError("out of [red]luck[/]")


def one_row(target_probs, draft_probs, draft_tokens, rng):
    return [[0]]


CALLS: list[int] = []


def _coins(rng, shape):
    return rng.random(shape)


def _ratios(target, draft, tokens):
    blocks, steps = np.arange(len(tokens))[:, None], np.arange(tokens.shape[1])
    return target[blocks, steps, tokens] / draft[blocks, steps, tokens]


def _emitted(tokens, tau, rest, rng):
    blocks, gamma = np.arange(len(tokens)), tokens.shape[1]
    edges = rest[blocks, tau].cumsum(axis=1)
    emitted = np.full((len(tokens), gamma + 1), -1)
    kept = np.arange(gamma) < tau[:, None]
    emitted[:, :gamma][kept] = tokens[kept]
    emitted[blocks, tau] = (_coins(rng, len(tokens))[:, None] * edges[:, -1:] >= edges).sum(axis=1)
    return emitted
