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
