"""Right and wrong functions at which an interception could be fooled: each is either followed rightly or refused.

``TRUE`` tells what really comes out: the probability of token 1. All take the plain convention and ignore it.
"""

import copy
import math
import pickle
import random
import secrets
import threading

import numpy as np

RNG = np.random.default_rng(5)
PLAIN = random.Random(7)


def _one(*given):
    """Make a function that emits 1 where emits(*given) is true; with "rng" it is given a generator."""

    def make(emits):
        if "rng" in given:
            return lambda target_probs, draft_probs, draft_tokens, rng: [int(emits(rng))]
        return lambda target_probs, draft_probs, draft_tokens: [int(emits())]

    return make


def below(cut, change):
    """Return a function that emits 1 if change(uniforms) is below the cut."""
    return lambda target_probs, draft_probs, draft_tokens: [int(change(RNG.random(2))[0] < cut)]


def _bump(x):
    """Return x, but 0.9 between 0.4 and 0.41: between any points at which it is looked at."""
    return 0.9 if 0.4 < x < 0.41 else x


def _alike(one, other):
    return (one.random() < 0.5) == (other.random() < 0.5)


plain = _one()
given = _one("rng")
even_power = plain(lambda: (0.9 - random.random()) ** 2 > 0.01)
numpy_even_power = plain(lambda: np.power(0.9 - RNG.random(), 2) > 0.01)
absolute_value_of_math = plain(lambda: math.fabs(random.random() - 0.9) > 0.1)
copied_generator = plain(lambda: _alike(copy.deepcopy(RNG), RNG))
pickled_generator = plain(lambda: _alike(pickle.loads(pickle.dumps(RNG)), RNG))
copied_plain_random = plain(lambda: _alike(copy.copy(PLAIN), PLAIN))
bit_generator_seeded_in_the_call = plain(lambda: np.random.Generator(np.random.PCG64(42)).random() < 0.5)
one_uniform_for_each_bound = given(lambda rng: all(u < 0.5 for u in rng.uniform(np.zeros(2), 1.0)))
bounds_in_lists = given(lambda rng: all(u < 0.5 for u in rng.uniform([0, 0], [1, 1])))
whole_numbers_between_lists = given(lambda rng: rng.integers(0, [2, 4])[1] == 0)
operating_system_for_a_rare_event = plain(lambda: random.random() < 0.5 or secrets.randbelow(1000) == 0)
single_precision_bound = given(lambda rng: rng.uniform(0, np.float32(0.3)) < np.float32(0.3))
clipped = given(lambda rng: np.clip(rng.random(3), 0.2, 0.8)[1] <= 0.2)
asks_for_the_type_in_half_of_the_cases = plain(lambda: isinstance(u := random.random(), float) and u > 0.6)


@given
def rewound_generator(rng):
    state = rng.bit_generator.state
    first = rng.random() < 0.5
    rng.bit_generator.state = state
    return first == (rng.random() < 0.5)


@plain
def another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(np.random.mtrand._rand.random_sample() < 0.5))
    thread.start()
    thread.join()
    return found[0]


bump_as_a_ufunc = below(0.7, np.frompyfunc(_bump, 1, 1))
bump_as_a_table = below(0.7, lambda u: np.interp(u, [0, 0.4, 0.405, 0.41, 1], [0, 0.4, 0.9, 0.41, 1]))
sine = below(0.0, lambda u: np.sin(20 * u))
remainder_near_the_end = below(1e-5, lambda u: np.fmod(u, 0.9999))
distance = below(0.1, lambda u: np.abs(u - 0.3))
reciprocal_around_zero = below(4.0, lambda u: np.reciprocal(u - 0.5))
hyperbolic = below(0.4621171572600098, np.tanh)
cube_root = below(0.5, np.cbrt)
no_less_than = below(0.5, lambda u: np.maximum(u, 0.25))

TRUE = {
    "even_power": 0.8, "numpy_even_power": 0.8, "absolute_value_of_math": 0.8, "copied_generator": 1.0,
    "pickled_generator": 1.0, "rewound_generator": 1.0, "copied_plain_random": 1.0,
    "bit_generator_seeded_in_the_call": 0.0, "one_uniform_for_each_bound": 0.25, "bounds_in_lists": 0.25,
    "whole_numbers_between_lists": 0.25, "operating_system_for_a_rare_event": 0.5005, "another_thread": 0.5,
    "asks_for_the_type_in_half_of_the_cases": 0.4, "single_precision_bound": 1.0, "clipped": 0.2,
    "bump_as_a_ufunc": 0.69, "bump_as_a_table": 0.695, "sine": 0.47123889803846897, "remainder_near_the_end": 2e-5,
    "distance": 0.2, "reciprocal_around_zero": 0.75, "hyperbolic": 0.5, "cube_root": 0.125, "no_less_than": 0.5,
}  # fmt: skip
FOLLOWED = ("one_uniform_for_each_bound", "bounds_in_lists", "single_precision_bound", "clipped",
            "hyperbolic", "cube_root", "no_less_than")  # fmt: skip
