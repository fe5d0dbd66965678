"""Decoders of one token each, for what is made of their seed and their memory."""

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
