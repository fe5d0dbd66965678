"""Bets on importance weights: fair under rounding, won where tokens are cut, logprobs are off or a request is stale."""

from math import log

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.reports.audits.steps.importance import LIKELY, MEAN_OFF, ImportanceWeights
from draftproof.reports.audits.steps.trainer import DEVIATIONS, TRAINER_OFF
from draftproof.tests.stattests.test_fair_bets import MOST, ROWS, law_of, rounded

from .recordings import softmax

V, REQUESTS, ROLLOUTS = 50, 20, 200
DTYPES = ("float64", "float32", "float16", "bfloat16")


def weights_of(dtype, requests=1):
    allowed = TRAINER_OFF[dtype]
    return ImportanceWeights(allowed, allowed / DEVIATIONS, MEAN_OFF[dtype], range(requests))


def one_token(dtype, difference, probability=1.0, rounding=0.0):
    """Return the weights of one sampled token."""
    weights = weights_of(dtype)
    weights.add(*(np.array([value]) for value in (difference, probability, True, rounding, 0)))
    return weights.fortunes


def means(dtype, q, p, rounding=0.0):
    """Return the mean fortune after one token drawn from q, of each bet."""
    fortunes = []
    for own, difference in zip(q[q > 0], np.log(p[q > 0] / q[q > 0])):
        found = one_token(dtype, difference, own, rounding)
        fortunes.append(np.exp([found.below, found.above]))
    return q[q > 0] @ np.array(fortunes)


@pytest.mark.exact
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ROWS)
def test_no_bet_gains_on_average_while_tokens_follow_the_rows_and_the_trainers_are_whole(kind, dtype):
    rng, allowed, off = np.random.default_rng(7), TRAINER_OFF[dtype], MEAN_OFF[dtype]
    most = MOST + 1e-15 / allowed  # a probability that is off in its last digit
    for q in map(law_of, ROWS[kind][::8]):
        p = q * np.exp((rng.random(len(q)) - 0.5) * 0.4 * allowed)
        for likely, unlikely in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)):
            for rounding in (0.0, off):
                shifts = ((q >= LIKELY, likely), (q < LIKELY, unlikely))
                moved = sum(
                    with_mass(p * chosen, (q * chosen).sum() + shift * (off + rounding)) for chosen, shift in shifts
                )
                if (np.abs(np.log(moved[q > 0] / q[q > 0])) <= allowed).all():
                    assert max(means(dtype, q, moved, rounding)) <= most


def with_mass(part, mass):
    """Return some entries of a row, scaled to a sum; those of no mass get none."""
    return part * (mass / part.sum()) if part.sum() > 0 else part


@pytest.mark.exact
def test_no_bet_on_a_request_gains_while_its_mean_square_is_that_of_rounding():
    for share, size in ((1.0, 0.1), (0.25, 0.2), (0.01, 1.0), (0.5, 0.1)):
        fortunes = []
        for difference in (size, 0.0):
            fortunes.append(np.exp(one_token("bfloat16", difference).requests[0]))
        assert fortunes @ np.array([share, 1 - share]) <= MOST


@pytest.mark.exact
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_difference_of_just_what_is_allowed_leaves_every_fortune_a_number(dtype):
    allowed = TRAINER_OFF[dtype]
    for difference in (allowed, -allowed, np.nextafter(allowed, 0), -np.nextafter(allowed, 0)):
        found = one_token(dtype, difference)
        assert not np.isnan([found.below, found.above, *found.requests]).any()


@pytest.mark.exact
def test_a_bet_that_gains_on_average_is_found_out():
    q = law_of(ROWS["float32"][0])
    cut = np.where(q > 0.01, q, 0.0)
    for engine, trainer, winner in ((q, q * 0.99, 0), (q, q * 1.01, 1), (cut / cut.sum(), q, 0)):
        fortunes = means("bfloat16", engine, trainer)
        assert fortunes[winner] > 1.0001 > 1 > fortunes[1 - winner]


def noisy(dtype, rng, logits):
    """Return the logits of another run: off by half of what the type may be off, and rounded."""
    moved = logits + rng.normal(size=logits.shape) * TRAINER_OFF[dtype] / DEVIATIONS / 2
    return rounded(moved, 8) if dtype == "bfloat16" else moved.astype(np.float32).astype(float)


def rolled_out(dtype, seed, fault=None):
    """Return the weights of rollouts whose requests differ in length and entropy. fault: of the trainer's logprobs."""
    rng, weights = np.random.default_rng(seed), weights_of(dtype, REQUESTS)
    for request in range(REQUESTS):
        count, spread = 40 + int(rng.geometric(1 / 40)), rng.uniform(0.5, 5)
        logits = rng.normal(size=(count, V)) * spread
        q, p = softmax(logits), softmax(noisy(dtype, rng, logits))
        if fault == "cut":
            q = np.where(q >= 0.02, q, 0.0)
            q /= q.sum(-1, keepdims=True)
        drawn = (rng.random((count, 1)) * q.sum(-1, keepdims=True) >= np.cumsum(q, -1)).sum(-1)
        differences = np.log(p[np.arange(count), drawn] / q[np.arange(count), drawn])
        differences = fault(rng, request, differences) if callable(fault) else differences
        probability = q[np.arange(count), drawn]
        weights.add(differences, probability, np.ones(count, bool), np.zeros(count), np.full(count, request))
    return weights


def highest(weights):
    """Log of the largest fortune, of requests with its share of the rate."""
    below, above, requests = weights.fortunes
    return max(below, above, requests.max() - log(REQUESTS)) - log(3)


def at_the_limit(sign):
    """Return a fault that the null hypothesis just includes: noise of the largest root mean square, and all off."""

    def change(rng, request, differences):
        noise = rng.normal(size=len(differences)) * (0.01 - 0.005**2) ** 0.5
        return noise - 0.005 + np.log1p(sign * 0.005)

    return change


RIGHT = {
    "bfloat16": ("bfloat16", None),
    "float32": ("float32", None),
    "at the limit, above": ("bfloat16", at_the_limit(1)),
    "at the limit, below": ("bfloat16", at_the_limit(-1)),
}


@pytest.mark.simulation
@pytest.mark.parametrize("dtype, fault", RIGHT.values(), ids=RIGHT)
def test_right_rollouts_are_refuted_no_more_often_than_the_level_allows(dtype, fault):
    fortunes = np.array([highest(rolled_out(dtype, seed, fault)) for seed in range(ROLLOUTS)])
    for alpha in (0.01, 0.05, 0.2):
        assert int((fortunes >= log(1 / alpha)).sum()) <= binom.ppf(0.999, ROLLOUTS, alpha)


WRONG = {
    "tokens below 0.02 cut": ("bfloat16", "cut"),
    "off by 0.09": ("bfloat16", lambda rng, request, d: d + 0.09),
    "off by -0.06": ("bfloat16", lambda rng, request, d: d - 0.06),
    "one of other weights": ("bfloat16", lambda rng, request, d: d + rng.normal(size=len(d)) * 0.4 * (request == 3)),
    "off by 0.0015": ("float32", lambda rng, request, d: d + 0.0015),
    "one off by 0.0015": ("float32", lambda rng, request, d: d + 0.0015 * (request == 3)),
}


@pytest.mark.simulation
@pytest.mark.parametrize("dtype, fault", WRONG.values(), ids=WRONG)
def test_wrong_rollouts_are_refuted(dtype, fault):
    found = [rolled_out(dtype, seed, fault) for seed in range(10)]
    assert all(weights.moved or weights.odd_request for weights in found)
