"""Two verifiers pair by pair: equals are not told apart however one stops, planted orders are found at the stated rate."""

from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, ttest_1samp

from draftproof.models.errors import InputError
from draftproof.stattests.design import Refuted
from draftproof.stattests.paired import (
    PAIRED_STAKES,
    PairedOrder,
    assert_no_worse,
    min_detectable_difference,
    samples_needed_difference,
)

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
        lambda rng: rng.choice([-1.0, 0.0, 1.0], size=250),
        lambda rng: rng.choice([-1.0, 1 / 9], p=[0.1, 0.9], size=250),
        lambda rng: rng.choice([-1 / 19, 1.0], p=[0.95, 0.05], size=250),
        dependent,
    ],
)
def test_equals_are_told_apart_no_more_often_than_stated_whenever_one_stops(draw):
    """10,000 runs, 2,500 of each law."""
    rng = np.random.default_rng(21)
    greater, less = told_apart(lambda: draw(rng), 2500)
    assert greater <= binom.isf(1e-6, 2500, ALPHA / 2)
    assert less <= binom.isf(1e-6, 2500, ALPHA / 2)


def test_a_t_test_looked_at_after_every_tenth_pair_tells_equals_apart_far_more_often():
    """The runs above could have shown it."""
    draws = np.random.default_rng(22).choice([-1.0, 0.0, 1.0], size=(500, 250))
    ever = np.zeros(500, dtype=bool)
    for n in range(20, 251, 10):
        ever |= ttest_1samp(draws[:, :n], 0.0, axis=1).pvalue <= ALPHA
    assert ever.sum() > binom.isf(1e-6, 500, ALPHA)


@pytest.mark.parametrize(("sign", "verdict"), [(1, "greater"), (-1, "less")])
def test_a_planted_order_is_found_at_the_stated_rate(sign, verdict):
    rng, n, beta = np.random.default_rng(23), 400, 0.02
    variance = 0.1
    shift = min_detectable_difference(n, 1.0, variance, ALPHA, beta)
    # The law that the limit is worst for, and one that it is generous to.
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


@pytest.mark.parametrize("variance", [1.0, 0.3, 0.01])
def test_the_limit_is_no_smaller_than_the_worst_law_needs_and_not_idle(variance):
    """By the exact law of the fortune after n pairs of the law on two points, one of them the lowest."""
    n, alpha, beta = 2000, 1e-6, 1e-3

    def missed(shift):
        kept = min(variance, 1 - shift**2)
        high = shift + kept / (1 + shift)
        x = np.arange(n + 1)
        logs = np.outer(x, np.log1p(PAIRED_STAKES * high)) + np.outer(n - x, np.log1p(-PAIRED_STAKES))
        fortune = np.logaddexp.reduce(logs, axis=1) - log(len(PAIRED_STAKES))
        return binom.pmf(x, n, (1 + shift) / (1 + high))[fortune < log(2 / alpha)].sum()

    limit = min_detectable_difference(n, 1.0, variance, alpha, beta)
    assert missed(limit) <= beta
    assert missed(limit / 2) > beta


def test_the_limit_covers_laws_of_three_points_of_that_mean_and_variance():
    """The rate of a miss is bounded by that of two points: no law on a grid of three has a larger one."""
    from scipy.optimize import linprog

    from draftproof.stattests.paired import _rates
    from draftproof.stattests.power import MISS_POWERS

    grid = np.linspace(-1, 1, 81)
    for shift, variance in ((0.05, 0.2), (0.3, 0.05), (0.1, 0.9)):
        rates = _rates(shift, variance)
        for r, share in ((20, 0), (40, 5), (70, 12)):
            powers = (1 + PAIRED_STAKES[share] * grid) ** -MISS_POWERS[r]
            found = linprog(
                -powers,
                A_ub=[-grid, (grid - shift) ** 2],
                b_ub=[-shift, variance],
                A_eq=[np.ones_like(grid)],
                b_eq=[1.0],
            )
            assert log(-found.fun) <= rates[r, share] + 1e-9
            assert log(-found.fun) >= rates[r, share] - 0.01 * abs(rates[r, share])


@settings(deadline=None, derandomize=True)
@given(
    st.integers(2, 10**7),
    st.sampled_from([0.001, 0.1, 1.0]),
    st.sampled_from([1.0, 8.0]),
    st.sampled_from([1e-6, 0.05]),
)
def test_samples_needed_for_what_n_pairs_detect_are_n(n, share, bound, alpha):
    variance = share * bound**2
    limit = min_detectable_difference(n, bound, variance, alpha)
    assert 0 < limit <= bound
    if limit < bound * (1 - 1e-9):
        assert samples_needed_difference(limit, bound, variance, alpha) == n


def test_less_variance_needs_fewer_pairs_and_no_variance_given_is_the_most_there_can_be():
    assert (
        samples_needed_difference(0.1, 2.0, 0.1)
        < samples_needed_difference(0.1, 2.0, 1.0)
        < samples_needed_difference(0.1, 2.0)
    )
    assert samples_needed_difference(0.1, 2.0) == samples_needed_difference(0.1, 2.0, 4.0)


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


def test_it_does_not_matter_how_the_pairs_are_dealt_out():
    differences = np.random.default_rng(25).uniform(-1, 1, size=25_000)
    one, many = PairedOrder(1.0), PairedOrder(1.0)
    whole = one.observe(differences)
    for part in np.array_split(differences, 13):
        found = many.observe(part)
    assert found == many.standing
    assert found[:-1] == pytest.approx(whole[:-1])


def test_a_verdict_stays_and_two_orders_one_after_the_other_are_none():
    order = PairedOrder(1.0)
    assert order.observe([0.5] * 200).verdict == "greater"
    assert order.observe([0.0] * 200).verdict == "greater"
    assert order.observe([-0.5] * 2000).verdict == "undecided"


@pytest.mark.simulation
def test_the_interval_holds_the_mean_of_drifting_conditional_means_at_all_times():
    rng, alpha, ever = np.random.default_rng(26), 0.1, 0
    for _ in range(400):
        means = np.repeat(rng.uniform(-0.5, 0.5, size=8), 40)
        differences = np.where(rng.random(320) < (1 + means) / 2, 1.0, -1.0)
        order, missed = PairedOrder(1.0, alpha), False
        for t in range(0, 320, 20):
            found = order.observe(differences[t : t + 20])
            missed |= not found.lower <= means[: t + 20].mean() <= found.upper
        ever += missed
    assert ever <= binom.isf(1e-6, 400, alpha)


def test_the_interval_closes_around_the_difference_and_follows_the_spread():
    rng = np.random.default_rng(27)
    calm = PairedOrder(4.0).observe(0.2 + rng.uniform(-0.1, 0.1, size=20_000))
    wild = PairedOrder(4.0).observe(rng.choice([-3.8, 4.0], size=20_000, p=[0.5, 0.5]))
    assert calm.lower < 0.2 < calm.upper
    assert wild.lower < 0.1 < wild.upper
    assert calm.upper - calm.lower < 0.1 * (wild.upper - wild.lower)
    assert -4 <= PairedOrder(4.0).observe([4.0]).lower < PairedOrder(4.0).observe([4.0]).upper == 4


def test_a_worse_verifier_is_refuted_with_its_interval_and_a_better_one_is_not():
    assert assert_no_worse([0.3, -0.1] * 400, 1.0).verdict == "greater"
    assert assert_no_worse([0.1, -0.1] * 400, 1.0).verdict == "undecided"
    with pytest.raises(Refuted, match=r"A is worse than B: -0\.1 in the mean of 800 pairs"):
        assert_no_worse([-0.3, 0.1] * 400, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PairedOrder(0.0), "bound is 0.0"),
        (lambda: PairedOrder(inf), "bound is inf"),
        (lambda: PairedOrder(1.0, 1.0), "alpha is 1.0"),
        (lambda: PairedOrder(2.0).observe([1.0, 2.5]), "difference 1 is 2.5, expected a number within -2 and 2"),
        (lambda: PairedOrder(2.0).observe([float("nan")]), "difference 0 is nan"),
        (lambda: PairedOrder(2.0).observe([]), "one difference or more"),
        (lambda: PairedOrder(2.0).observe([[1.0]]), "expected one axis"),
        (lambda: PairedOrder(2.0).standing, "no differences were observed"),
        (lambda: min_detectable_difference(0, 1.0), "n is 0"),
        (lambda: min_detectable_difference(10, 1.0, 2.0), "variance is 2.0"),
        (lambda: samples_needed_difference(2.0, 1.0), "difference is 2.0"),
    ],
)
def test_wrong_use_is_an_error(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PairedOrder(1).observe("abc"), "differences are 'abc', expected numbers"),
        (lambda: PairedOrder(1).observe([0.5, None, "x"]), "differences are .0.5, None, 'x'., expected numbers"),
        (lambda: PairedOrder(1).observe([[0.5], [0.5, 0.1]]), "expected numbers"),
        (lambda: PairedOrder("a"), "bound is 'a', expected a positive number"),
        (lambda: min_detectable_difference(5, "a"), "bound is 'a', expected a positive number"),
        (lambda: min_detectable_difference("5", 1.0), "n is '5', expected a number"),
        (lambda: min_detectable_difference(5, 1.0, "a"), "variance is 'a', expected a number"),
        (lambda: min_detectable_difference(5, 1.0, alpha="a"), "alpha is 'a', expected a rate"),
        (lambda: samples_needed_difference("a", 1.0), "difference is 'a', expected a number"),
    ],
)
def test_what_is_no_number_is_an_error_of_one_line(call, message):
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
