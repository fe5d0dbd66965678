"""The two-sample test that the benchmark compares betting with: its estimate by hand, its rate of false alarms, its
power against a planted change."""

import numpy as np
import pytest

from draftproof.benchmarks import hamming_mmd
from draftproof.benchmarks.hamming_mmd import hamming_kernel, mmd, permutation_p_value

pytestmark = pytest.mark.exact

PROMPTS = [0, 0, 1, 1]
TEXTS = np.array([[1, 2], [1, 3], [1, 2], [4, 4]])


def test_the_kernel_is_the_share_of_equal_places_behind_one_prompt():
    expected = [[1, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert hamming_kernel(PROMPTS, TEXTS).tolist() == expected


def test_the_estimate_is_that_of_its_formula_by_hand():
    kernel = hamming_kernel(PROMPTS, TEXTS)
    assert mmd(kernel, np.array([[1.0, 0, 1, 0], [1.0, 1, 0, 0]])) == pytest.approx([-2 * 0.5 / 4, 0.5])


def drawn(rng, law, prompts=4, each=6, length=5):
    return rng.choice(len(law), size=(prompts * each, length), p=law), np.repeat(range(prompts), each)


@pytest.fixture
def p_values(monkeypatch):
    monkeypatch.setattr(hamming_mmd, "PERMUTATIONS", 99)

    def values(law, other):
        found = []
        for seed in range(120):
            rng = np.random.default_rng(seed)
            (one, prompts), (two, _) = drawn(rng, law), drawn(rng, other)
            labels = np.repeat([1.0, 0.0], len(one))
            found.append(permutation_p_value(np.tile(prompts, 2), np.concatenate([one, two]), labels, seed))
        return np.array(found)

    return values


def test_two_samples_of_one_law_have_p_values_that_are_uniform_and_a_planted_change_is_seen(p_values):
    law, other = [0.6, 0.2, 0.1, 0.1], [0.2, 0.6, 0.1, 0.1]
    same, changed = p_values(law, law), p_values(law, other)
    # Of 120 values at most 0.1 with probability 0.1 each: more than 25 with probability 1e-4.
    assert (same <= 0.1).sum() <= 25 and (same > 0.5).sum() >= 36
    assert (changed <= 0.05).mean() > 0.9
