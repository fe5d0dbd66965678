"""Two verifiers pair by pair: equals are not told apart however one stops, planted orders are found."""

import re
from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.tests.refusals import one_line
from draftproof_paper.tables.paired import MOST_LOST, PAIRED_STAKES, PairedOrder

ALPHA = 0.05


def told_apart(draw, runs, alpha=ALPHA):
    """How often each verdict stands at the end; a verdict stays, so that is how often it was ever reached."""
    verdicts = [PairedOrder(1.0, alpha).observe(draw()).verdict for _ in range(runs)]
    return verdicts.count("greater"), verdicts.count("less")


def dependent(rng, n=250):
    """Differences of conditional mean 0 whose size and skewness depend on the one before."""
    differences, last = np.empty(n), 0.0
    for t, u in enumerate(rng.random(n)):
        last = (0.9 if u < 0.1 else -0.1) if last > 0 else (0.2 if u < 0.5 else -0.2)
        differences[t] = last
    return differences


@pytest.mark.parametrize(
    "draw",
    [
        dependent,
        *(
            pytest.param(law, marks=pytest.mark.simulation)
            for law in (
                lambda rng: rng.choice([-1.0, 0.0, 1.0], size=250),
                lambda rng: rng.choice([-1.0, 1 / 9], p=[0.1, 0.9], size=250),
                lambda rng: rng.choice([-1 / 19, 1.0], p=[0.95, 0.05], size=250),
            )
        ),
    ],
)
def test_equals_are_told_apart_no_more_often_than_stated_whenever_one_stops(draw):
    """10,000 runs, 2,500 of each law."""
    rng = np.random.default_rng(21)
    greater, less = told_apart(lambda: draw(rng), 2500)
    assert greater <= binom.isf(1e-6, 2500, ALPHA / 2)
    assert less <= binom.isf(1e-6, 2500, ALPHA / 2)


@pytest.mark.parametrize(("sign", "verdict"), [(1, "greater"), (-1, "less")])
def test_a_planted_order_is_found_at_the_stated_rate(sign, verdict):
    rng, n, beta, variance, shift = np.random.default_rng(23), 400, 0.02, 0.1, 0.12
    # Of all laws of that mean and variance the one that is hardest to find, and an easy one.
    other = shift + variance / (1 + shift)
    worst = (np.array([-1.0, other]), (shift + 1) / (other + 1))
    calm = (np.array([shift - variance**0.5, shift + variance**0.5]), 0.5)
    for points, high in (worst, calm):
        assert points @ [1 - high, high] == pytest.approx(shift)
        found = [
            PairedOrder(1.0, ALPHA).observe(sign * points[(rng.random(n) < high).astype(int)]).verdict
            for _ in range(400)
        ]
        assert 400 - found.count(verdict) <= binom.isf(1e-6, 400, beta + ALPHA / 2)


def test_evidence_and_interval_are_what_the_equations_say():
    """One pair at a time, as the docstring has it."""
    differences = np.random.default_rng(24).normal(0.3, 1.0, size=60).clip(-2, 2)
    bound, alpha = 2.0, 0.1
    found = PairedOrder(bound, alpha).observe(differences)
    fortunes, best = np.ones((2, len(PAIRED_STAKES))), np.ones(2)
    for d in differences / bound:
        fortunes *= 1 + np.array([[1], [-1]]) * PAIRED_STAKES * d
        best = np.maximum(best, fortunes.mean(axis=1))
    assert [exp(found.log_e_greater), exp(found.log_e_less)] == pytest.approx(best.tolist())
    assert found.mean == pytest.approx(differences.mean())
    for end, sign in ((found.lower, 1), (found.upper, -1)):
        fortune = np.ones(len(PAIRED_STAKES))
        for t, d in enumerate(sign * differences / bound):
            guess = np.minimum(sign * differences[:t].sum() / bound / (t + 1), MOST_LOST / PAIRED_STAKES - 1)
            fortune *= (1 + PAIRED_STAKES * (d - guess)) * np.exp(PAIRED_STAKES * (guess - sign * end / bound))
        assert fortune.mean() == pytest.approx(2 / alpha)


def moving_means(rng, n):
    """Return differences and their conditional means, which follow what came before and reach both ends."""
    differences, means, last = np.empty(n), np.empty(n), 0.0
    for t, u in enumerate(rng.random(n)):
        means[t] = 0.9 if last > 0.5 else -0.6 if last < 0 else 0.1
        last = 1.0 if u < (1 + means[t]) / 2 else -1.0
        if means[t] == 0.1:
            last = rng.uniform(-0.1, 0.3)
        differences[t] = last
    return differences, means


def outside(order_of, runs, alpha):
    """Return how often the interval missed the mean of the conditional means at the end, on either side."""
    rng, missed = np.random.default_rng(25), [0, 0]
    for _ in range(runs):
        differences, means = moving_means(rng, 120)
        found = order_of(alpha).observe(differences)
        missed[0] += found.lower > means.mean()
        missed[1] += found.upper < means.mean()
    return missed


class WithoutPrice(PairedOrder):
    """An interval whose guesses look at the difference that they are about."""

    def _settle(self, shares):
        super()._settle(shares)
        self._guessed[:] = PAIRED_STAKES * np.array([[self._sum], [-self._sum]])


def test_the_interval_holds_the_mean_of_means_that_move_at_the_stated_rate():
    alpha, runs = 0.2, 400
    assert max(outside(lambda rate: PairedOrder(1.0, rate), runs, alpha)) <= binom.isf(1e-6, runs, alpha / 2)
    assert max(outside(lambda rate: WithoutPrice(1.0, rate), runs, alpha)) > binom.isf(1e-6, runs, alpha / 2)


@pytest.mark.parametrize("deviation", [0.1, 0.2, 0.5])
def test_the_interval_of_2000_differences_is_at_most_4_standard_errors_wide(deviation):
    """Ville's inequality allows 3.0 at this rate, and the normal distribution 2.3."""
    differences = np.random.default_rng(26).normal(0, deviation, size=2000).clip(-1, 1)
    found, error = PairedOrder(1.0, 0.02).observe(differences), deviation / 2000**0.5
    assert found.upper - found.mean < 4 * error and found.mean - found.lower < 4 * error


def test_the_verdict_comes_when_the_fortune_reaches_twice_one_over_alpha_and_not_before():
    alpha = 0.01
    needed = next(n for n in range(1, 100) if ((1 + PAIRED_STAKES) ** n).mean() >= 2 / alpha)
    assert ((1 + PAIRED_STAKES) ** needed).mean() > 1.1 / alpha, "at 1 / alpha it would come earlier"
    order = PairedOrder(1.0, alpha)
    assert order.observe(np.ones(needed - 1)).verdict == "undecided"
    assert order.observe(1.0).verdict == "greater"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PairedOrder(0.0), "bound is 0.0"),
        (lambda: PairedOrder(2.0).observe([1.0, 2.5]), "difference 1 is 2.5, expected a number within -2 and 2"),
        (lambda: PairedOrder(2.0).observe([float("nan")]), "difference 0 is nan"),
        (lambda: PairedOrder(2.0).observe([]), "one difference or more"),
        (lambda: PairedOrder(2.0).standing, "no differences were observed"),
        (lambda: PairedOrder(1).observe("abc"), "differences are 'abc', expected numbers"),
    ],
)
def test_wrong_use_is_an_error_of_one_line(call, message):
    assert re.search(message, one_line(call))


def test_the_number_of_pairs_that_is_said_to_be_needed_decides_and_a_tenth_fewer_do_not():
    observed = np.tile([-0.4, 0.5], 200)
    order = PairedOrder(1.0, 1e-3)
    assert order.observe(observed).lower < 0
    needed = order.pairs_needed()

    def tiled(n):
        return PairedOrder(1.0, 1e-3).observe(np.resize(observed, n))

    assert needed > 400 and tiled(int(needed * 1.05)).lower > 0 > tiled(int(needed * 0.9)).lower
    order = PairedOrder(1.0, 1e-3)
    order.observe([0.5, -0.5])
    assert order.pairs_needed() is None
    order.observe([0.9] * 200)
    assert order.pairs_needed() == 202
