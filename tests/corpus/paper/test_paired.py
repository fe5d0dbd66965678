"""Two verifiers pair by pair: equals are not told apart however one stops, planted orders are found."""

from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.models.errors import InputError
from draftproof_paper.tables.paired import PAIRED_STAKES, PairedOrder

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
    fortunes, best, spread = np.ones((2, len(PAIRED_STAKES))), np.ones(2), 0.0
    for t, d in enumerate(differences / bound):
        fortunes *= 1 + np.array([[1], [-1]]) * PAIRED_STAKES * d
        best = np.maximum(best, fortunes.mean(axis=1))
        spread += (d - differences[:t].sum() / bound / (t + 1)) ** 2
    assert [exp(found.log_e_greater), exp(found.log_e_less)] == pytest.approx(best.tolist())
    assert found.mean == pytest.approx(differences.mean())
    for end, sign in ((found.lower, 1), (found.upper, -1)):
        apart = sign * (differences.sum() - 60 * end) / bound
        cost = (-np.log1p(-PAIRED_STAKES) - PAIRED_STAKES) * spread / 4
        assert np.exp(PAIRED_STAKES * apart / 2 - cost).mean() == pytest.approx(2 / alpha)


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
    with pytest.raises(InputError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


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
