"""Functions with faults that an audit must notice, and forms that it must say it cannot follow."""

import ctypes
import itertools
import os
import random
import resource
import sys
import time

import numpy as np

from draftproof.verifiers.zoo.building_blocks import token_by_token

CALLS = []


def _token(u, row):
    return next((t for t, edge in enumerate(itertools.accumulate(row)) if u < edge), len(row) - 1)


def reseeds_random(target_probs, draft_probs, draft_tokens):
    random.seed(1)
    return [_token(random.random(), target_probs[0])]


def reseeds_numpy(target_probs, draft_probs, draft_tokens):
    np.random.seed(1)
    return [_token(np.random.random(), target_probs[0])]


def seeded_generator_in_the_call(target_probs, draft_probs, draft_tokens):
    return [_token(np.random.default_rng(3).random(), target_probs[0])]


def counts_its_calls(target_probs, draft_probs, draft_tokens):
    CALLS.append(1)
    return [_token(random.random() * (1.0 if len(CALLS) % 3 else 0.5), target_probs[0])]


def reads_the_system_entropy(target_probs, draft_probs, draft_tokens):
    return [os.urandom(1)[0] % len(target_probs[0])]


def writes_to_the_target(target_probs, draft_probs, draft_tokens, rng):
    token = rng.choice(len(target_probs[0]), p=target_probs[0])
    target_probs[0][token] = 0
    return [token]


def decides_twice_with_one_uniform(target_probs, draft_probs, draft_tokens):
    u = random.random()
    if u < target_probs[0][0]:
        return [0]
    if u < 0.5:
        return [1]
    return [len(target_probs[0]) - 1]


def two_races_with_one_noise(target_probs, draft_probs, draft_tokens, rng):
    noise = rng.exponential(size=len(target_probs[0]))
    first = int(np.argmax(target_probs[0] / noise))
    return [first, int(np.argmax(target_probs[0] ** 2 / noise))]


def outside_the_vocabulary(target_probs, draft_probs, draft_tokens, rng):
    return [len(target_probs[0]) if rng.random() < 0.25 else rng.choice(len(target_probs[0]), p=target_probs[0])]


def too_many_tokens(target_probs, draft_probs, draft_tokens):
    return [*draft_tokens, 0, 0]


def compares_with_nan(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(all="ignore"):
        ratio = (target_probs[0][0] - target_probs[0][0]) / (draft_probs[0][0] - draft_probs[0][0])
    return [0 if rng.random() < ratio else rng.choice(len(target_probs[0]), p=target_probs[0])]


def raises_when_rows_are_equal(target_probs, draft_probs, draft_tokens, rng):
    if (target_probs[0] == draft_probs[0]).all():
        raise ZeroDivisionError("residual is empty")
    return [rng.choice(len(target_probs[0]), p=target_probs[0])]


def raises_always(target_probs, draft_probs, draft_tokens):
    raise RuntimeError("no\nkernel")


def returns_text(target_probs, draft_probs, draft_tokens):
    return "the next token"


def returns_nothing(target_probs, draft_probs, draft_tokens):
    return None


def returns_no_tokens(target_probs, draft_probs, draft_tokens):
    return []


def never_returns(target_probs, draft_probs, draft_tokens):
    while True:
        pass


def never_returns_and_swallows(target_probs, draft_probs, draft_tokens):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


def sleeps(target_probs, draft_probs, draft_tokens):
    time.sleep(600)


def never_returns_when_rows_are_equal(target_probs, draft_probs, draft_tokens, rng):
    while (target_probs[0] == draft_probs[0]).all():
        time.sleep(0.01)
    return [rng.choice(len(target_probs[0]), p=target_probs[0])]


def crashes(target_probs, draft_probs, draft_tokens):
    ctypes.string_at(0)


def crashes_when_rows_are_equal(target_probs, draft_probs, draft_tokens, rng):
    if (target_probs[0] == draft_probs[0]).all():
        ctypes.string_at(0)
    return [rng.choice(len(target_probs[0]), p=target_probs[0])]


def leaves(target_probs, draft_probs, draft_tokens):
    sys.exit(7)


def leaves_at_once(target_probs, draft_probs, draft_tokens):
    os._exit(0)


def fills_the_memory(target_probs, draft_probs, draft_tokens):
    kept = [np.empty(1 << 28, np.uint8) for _ in range(16)]  # 4 GiB of addresses, no page of which is touched
    return [len(kept) * 0]


def takes_four(target_probs, draft_probs, draft_tokens, temperature):
    return [0]


def takes_two(target_probs, draft_probs):
    return [0]


def prints(target_probs, draft_probs, draft_tokens, rng):
    print('{"done": true}')
    os.write(1, b'{"block": []}\n')
    return [rng.choice(len(target_probs[0]), p=target_probs[0])]


def by_name_in_another_order(draft_tokens, draft_probs, target_probs, *, rng):
    return [rng.choice(len(target_probs[0]), p=target_probs[0])]


def nested_results(target_probs, draft_probs, draft_tokens, rng):
    return [[[np.array([rng.choice(len(target_probs[0]), p=target_probs[0])])]]]


NOT_A_FUNCTION = 3

# Forms that cannot be followed, each with a word of the reason.


def turned_into_a_float(target_probs, draft_probs, draft_tokens):
    return [_token(float(random.random()), target_probs[0])]


def product_of_uniforms(target_probs, draft_probs, draft_tokens, rng):
    u = np.cumprod(rng.random(2))
    return [_token(u[0], target_probs[0])]


def normal_noise(target_probs, draft_probs, draft_tokens, rng):
    return [0 if rng.normal() < 0 else 1]


def asks_for_the_type(target_probs, draft_probs, draft_tokens):
    u = random.random()
    return [_token(u, target_probs[0]) if isinstance(u, float) else 0]


def draws_until_it_likes(target_probs, draft_probs, draft_tokens):
    while random.random() < 0.999:
        pass
    return [_token(random.random(), target_probs[0])]


def not_monotone(target_probs, draft_probs, draft_tokens):
    return [0 if abs(random.random() - 0.5) < 0.25 else 1]


def _works():
    """For a thirtieth of a second of processor time, however fast the processor is."""
    until = _used() + 0.03
    while _used() < until:
        sum(range(10_000))


def _used():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def slow(target_probs, draft_probs, draft_tokens, rng):
    _works()
    return token_by_token(target_probs, draft_probs, draft_tokens, rng)


def slow_when_rows_are_equal(target_probs, draft_probs, draft_tokens, rng):
    if (target_probs[0] == draft_probs[0]).all():
        _works()
    return token_by_token(target_probs, draft_probs, draft_tokens, rng)


def endless_when_rows_are_equal(target_probs, draft_probs, draft_tokens, rng):
    while (target_probs[0] == draft_probs[0]).all():
        pass
    return token_by_token(target_probs, draft_probs, draft_tokens, rng)


def draws_when_rows_are_equal(target_probs, draft_probs, draft_tokens, rng):
    while (target_probs[0] == draft_probs[0]).all():
        rng.random()
    return token_by_token(target_probs, draft_probs, draft_tokens, rng)
