"""Functions with faults that an audit must notice, and forms that it must say it cannot follow."""

import ctypes
import itertools
import os
import random
import resource
import time

import numpy as np

from draftproof.verifiers.zoo.building_blocks import token_by_token

CALLS = []


def _token(u, row):
    return next((t for t, edge in enumerate(itertools.accumulate(row)) if u < edge), len(row) - 1)


def _right(target, draft, tokens, rng):
    return [rng.choice(len(target[0]), p=target[0])]


def _of(emitted):
    """Make a function that emits emitted(row), by a generator of a module."""
    return lambda target_probs, draft_probs, draft_tokens: emitted(target_probs[0])


def _by(emitted):
    """Make a function that emits emitted(row, rng)."""
    return lambda target_probs, draft_probs, draft_tokens, rng: emitted(target_probs[0], rng)


def _where_equal(what, verify=_right):
    """Make a verifier that does what(rng) first where the first row of both models is the same."""

    def verifier(target_probs, draft_probs, draft_tokens, rng):
        if (target_probs[0] == draft_probs[0]).all():
            what(rng)
        return verify(target_probs, draft_probs, draft_tokens, rng)

    return verifier


@_of
def reseeds_random(row):
    random.seed(1)
    return [_token(random.random(), row)]


@_of
def reseeds_numpy(row):
    np.random.seed(1)
    return [_token(np.random.random(), row)]


seeded_generator_in_the_call = _of(lambda row: [_token(np.random.default_rng(3).random(), row)])
reads_the_system_entropy = _of(lambda row: [os.urandom(1)[0] % len(row)])


@_of
def counts_its_calls(row):
    CALLS.append(1)
    return [_token(random.random() * (1.0 if len(CALLS) % 3 else 0.5), row)]


@_by
def writes_to_the_target(row, rng):
    token = rng.choice(len(row), p=row)
    row[token] = 0
    return [token]


@_of
def decides_twice_with_one_uniform(row):
    u = random.random()
    return [0 if u < row[0] else 1 if u < 0.5 else len(row) - 1]


@_by
def two_races_with_one_noise(row, rng):
    noise = rng.exponential(size=len(row))
    return [int(np.argmax(row / noise)), int(np.argmax(row**2 / noise))]


outside_the_vocabulary = _by(lambda row, rng: [len(row) if rng.random() < 0.25 else rng.choice(len(row), p=row)])
nested_results = _by(lambda row, rng: [[[np.array([rng.choice(len(row), p=row)])]]])


def too_many_tokens(target_probs, draft_probs, draft_tokens):
    return [*draft_tokens, 0, 0]


def compares_with_nan(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(all="ignore"):
        ratio = (target_probs[0][0] - target_probs[0][0]) / (draft_probs[0][0] - draft_probs[0][0])
    return [0 if rng.random() < ratio else rng.choice(len(target_probs[0]), p=target_probs[0])]


def _raise(error):
    raise error


def _endless(*_):
    while True:
        pass


raises_when_rows_are_equal = _where_equal(lambda rng: _raise(ZeroDivisionError("residual is empty")))
raises_always = _of(lambda row: _raise(RuntimeError("no\nkernel")))
returns_no_tokens = _of(lambda row: [])
never_returns = _of(_endless)
sleeps = _of(lambda row: time.sleep(600))
crashes = _of(lambda row: ctypes.string_at(0))


@_of
def fills_the_memory(row):
    kept = [np.empty(1 << 28, np.uint8) for _ in range(16)]  # 4 GiB of addresses, no page of which is touched
    return [len(kept) * 0]


def takes_four(target_probs, draft_probs, draft_tokens, temperature):
    return [0]


def takes_two(target_probs, draft_probs):
    return [0]


@_by
def prints(row, rng):
    print('{"done": true}')
    os.write(1, b'{"block": []}\n')
    return [rng.choice(len(row), p=row)]


NOT_A_FUNCTION = 3

# Forms that cannot be followed, each with a word of the reason.

turned_into_a_float = _of(lambda row: [_token(float(random.random()), row)])
product_of_uniforms = _by(lambda row, rng: [_token(np.cumprod(rng.random(2))[0], row)])
normal_noise = _by(lambda row, rng: [0 if rng.normal() < 0 else 1])
asks_for_the_type = _of(lambda row: [_token(u, row) if isinstance(u := random.random(), float) else 0])
not_monotone = _of(lambda row: [0 if abs(random.random() - 0.5) < 0.25 else 1])


@_of
def draws_until_it_likes(row):
    while random.random() < 0.999:
        pass
    return [_token(random.random(), row)]


def _works(*_):
    """For a thirtieth of a second of processor time, however fast the processor is."""
    until = _used() + 0.03
    while _used() < until:
        sum(range(10_000))


def _used():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _draws(rng):
    while True:
        rng.random()


def slow(target_probs, draft_probs, draft_tokens, rng):
    _works()
    return token_by_token(target_probs, draft_probs, draft_tokens, rng)


slow_when_rows_are_equal = _where_equal(_works, token_by_token)
endless_when_rows_are_equal = _where_equal(_endless, token_by_token)
draws_when_rows_are_equal = _where_equal(_draws, token_by_token)
