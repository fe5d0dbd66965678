"""Decoders of one token each, for what is made of their seed and their memory."""

import os
import random

import numpy as np


def one_generator(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        yield [int(rng.random() < 0.25), int(rng.random() < 0.25)]


def global_generator(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        random.seed(seed)
        yield [int(random.random() < 0.25)]


def two_alike(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        yield [int(one.random() < 0.25), int(other.random() < 0.25)]


def reseeds(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed % 7)
        yield [int(rng.random() < 0.25)]


def drops_the_last_bit(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed & ~1)
        yield [int(rng.random() < 0.25)]


def keeps_the_last_bit(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed | 1)
        yield [int(rng.random() < 0.25)]


def minds_its_seed(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        yield [int(rng.random() < (0.25 if seed % 2 else 0.5))]


def unwritten(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        rng, row = np.random.default_rng(seed), np.empty(2)
        row[0] = rng.random()
        yield [int(row[0] < 0.25), int(row[1] < 0.5)]


COUNT = [0]


def counts(target, draft, start, tokens, gamma, seeds):
    for _seed in seeds:
        COUNT[0] += 1
        yield [COUNT[0] % 2]


CALLS = [0]


def wrong_after_many_calls(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        CALLS[0] += 1
        rng = np.random.default_rng(seed)
        yield [int(rng.random() < (0.25 if CALLS[0] < 100_000 else 0.5))]


def floats(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        yield [0.7 + (np.random.default_rng(seed).random() < 0.25)]


def text(target, draft, start, tokens, gamma, seeds):
    for seed in seeds:
        yield str(int(np.random.default_rng(seed).random() < 0.25))


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
