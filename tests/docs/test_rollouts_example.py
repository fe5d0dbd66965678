"""The example on rollouts: its exact gradient is one, and its estimate has no bias without a lossy rule."""

import importlib.util

import numpy as np
import pytest

from draftproof.tests.docs.running import ROOT

PATH = ROOT / "examples" / "rollouts.py"
pytestmark = pytest.mark.skipif(not PATH.exists(), reason="the examples are not in the wheel")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("rollouts_example", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected_reward(example, policy):
    values = np.zeros((example.V, example.V))
    for _ in range(example.LENGTH):
        values = (policy * (example.REWARD + values[None])).sum(-1)
    return values[0, 0]


def test_the_exact_gradient_is_that_of_the_expected_reward(example):
    policy, _ = example.trained()
    gradient = example.exact_gradient(policy)
    along = gradient / (gradient**2).sum() ** 0.5

    def moved(by):
        weights = policy * np.exp(by * along)
        return expected_reward(example, weights / weights.sum(-1, keepdims=True))

    assert (moved(1e-4) - moved(-1e-4)) / 2e-4 == pytest.approx((gradient**2).sum() ** 0.5, rel=1e-5)


@pytest.mark.parametrize("rule, right", [("token", True), ("lenient", False), ("typical", False)])
def test_only_the_lossless_rule_gives_the_policys_reward_and_gradient(rule, right, example):
    policy, draft = example.trained()
    gradient, rng = example.exact_gradient(policy), np.random.default_rng(0)
    size = (gradient**2).sum() ** 0.5
    seen = np.array([
        example.estimates(policy, example.rollouts(rule, policy, draft, example.BATCH, rng), gradient / size)
        for _ in range(8)
    ])  # fmt: skip
    errors = np.abs(seen.mean(0) - [expected_reward(example, policy), size]) / (seen.std(0, ddof=1) / 8**0.5)
    assert (errors < 5.5).all() == right
