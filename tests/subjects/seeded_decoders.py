"""Decoders of one token each, for what is made of their seed and their memory."""

import hashlib
import os
import random
import threading
from types import SimpleNamespace

import numpy as np


def _each(text):
    """Make a decoder whose text for a seed is text(seed)."""

    def decode(target, draft, start, tokens, gamma, seeds):
        for seed in seeds:
            yield text(seed)

    return decode


def _coin(seed, chance=0.25):
    return int(np.random.default_rng(seed).random() < chance)


@_each
def one_generator(seed):
    rng = np.random.default_rng(seed)
    return [int(rng.random() < 0.25), int(rng.random() < 0.25)]


@_each
def global_generator(seed):
    random.seed(seed)
    return [int(random.random() < 0.25)]


@_each
def two_alike(seed):
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    return [int(one.random() < 0.25), int(other.random() < 0.25)]


reseeds = _each(lambda seed: [_coin(seed % 7)])
drops_the_last_bit = _each(lambda seed: [_coin(seed & ~1)])
keeps_the_last_bit = _each(lambda seed: [_coin(seed | 1)])
minds_its_seed = _each(lambda seed: [_coin(seed, 0.25 if seed % 2 else 0.5)])
of_one_seed = _each(lambda seed: [_coin(seed) if seed != 7 else 2])
floats = _each(lambda seed: [0.7 + (np.random.default_rng(seed).random() < 0.25)])
text = _each(lambda seed: str(_coin(seed)))


def hashed(target, draft, start, tokens, gamma, seeds, salt=0, likely=192):
    """A right decoder whose uniforms are hashes of its seed, which nobody follows."""
    for seed in seeds:
        yield [int(byte >= likely) for byte in hashlib.sha256(f"{salt}/{seed}".encode()).digest()[:tokens]]


def hashed_behind_the_first(target, draft, start, tokens, gamma, seeds):
    """One whose hashes are all below the first token's probability where a text has one token."""
    yield from [[0] for _ in seeds] if tokens == 1 else hashed(target, draft, start, tokens, gamma, seeds)


@_each
def unwritten(seed):
    rng, row = np.random.default_rng(seed), np.empty(2)
    row[0] = rng.random()
    return [int(row[0] < 0.25), int(row[1] < 0.5)]


COUNT = [0]


@_each
def counts(seed):
    COUNT[0] += 1
    return [COUNT[0] % 2]


CALLS = [0]


@_each
def wrong_after_many_calls(seed):
    CALLS[0] += 1
    return [_coin(seed, 0.25 if CALLS[0] < 100_000 else 0.5)]


ENGINE = SimpleNamespace(lock=threading.Lock(), calls=0)


@_each
def counts_next_to_a_lock(seed):
    with ENGINE.lock:
        ENGINE.calls += 1
    return [_coin(seed, 0.25 if ENGINE.calls < 100_000 else 0.5)]


def no_logprobs(target, draft, start, tokens, gamma, seeds, logprobs=False):
    for text in one_generator(target, draft, start, tokens, gamma, seeds):
        yield (text, None) if logprobs else text


def one_of_two(target, draft, start, tokens, gamma, seeds, n=1):
    yield from one_generator(target, draft, start, tokens, gamma, seeds)


def by_temperature(target, draft, start, tokens, gamma, seeds, temperature=1.0):
    """One that fails at some temperatures, each in its way, and is right at none of them."""
    for _ in seeds:
        if temperature == 0.1:
            while True:
                pass
        if temperature == 0.2:
            import subprocess

            subprocess.run(["true"], check=True)
        if temperature == 0.3:
            raise ValueError("no such temperature")
        if temperature == 0.4:
            os._exit(3)
        yield [0] if temperature == 0.6 else [0] * tokens
