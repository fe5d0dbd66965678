"""Clean sources stay quiet for years, planted deviations are found within days, and an audit ends when it can."""

import math

import numpy as np
import pytest

from draftproof.models.errors import InputError
from draftproof.stattests.anytime import sequential_test
from draftproof.stattests.bounds import total_variation_bound
from draftproof.stattests.eprocess import cohort_alpha, holm, log_evidence, unspent
from draftproof.tests.stattests.simulated_nights import (
    DRAWS,
    clean_peaks,
    clean_sequential_tests,
    draws_to_refute,
    fixed_sample_optimum,
    nights_to_alarm,
    spread,
    uniform,
)

ALPHA_400 = cohort_alpha(1e-3, 1) / 400
"""What one of 400 checks has of the default lifetime budget, as the first to be refuted."""


def test_looking_at_a_fixed_sample_test_every_night_would_have_raised_false_alarms():
    """Clean audits as below, judged by a chi-square test at each look: the simulation can see false alarms."""
    from scipy.stats import chi2

    from draftproof.stattests.anytime import looks

    rng, law = np.random.default_rng(5), uniform(16)
    counts, before, hit = np.zeros((1000, 16), dtype=np.int64), 0, np.zeros(1000, dtype=bool)
    for at in looks(50_000):
        counts += rng.multinomial(at - before, law, size=1000)
        before = at
        hit |= ((counts - at / 16) ** 2).sum(axis=1) * 16 / at > chi2.isf(1e-3, 15)
    assert hit.sum() > 3


def test_a_late_deviation_is_found_within_3_nights_and_without_restarts_it_is_not():
    law, rng = uniform(16), np.random.default_rng(7)
    broken = law.copy()
    broken[:2] += [0.02, -0.02]
    threshold = -math.log(ALPHA_400)
    with_restarts = nights_to_alarm(law, broken, threshold, runs=20, rng=rng)
    assert with_restarts.max() <= 3
    without = nights_to_alarm(law, spread(law, 0.02), threshold, runs=20, rng=rng, restarts=False, most=4)
    hardest = nights_to_alarm(law, spread(law, 0.02), threshold, runs=20, rng=rng, most=10)
    assert np.median(hardest) <= 3
    assert np.isinf(without).mean() > 0.5


def test_the_draws_that_refute_are_fewer_than_3_times_the_fixed_sample_optimum():
    law, rng = uniform(16), np.random.default_rng(8)
    ends = draws_to_refute(law, spread(law, 0.01), runs=15, rng=rng)
    assert np.median(ends) < 3 * fixed_sample_optimum(0.01, 16)


def test_an_audit_ends_as_soon_as_it_can():
    law, rng = uniform(8), np.random.default_rng(9)
    clean = sequential_test(lambda n: rng.multinomial(n, law), law, bound=0.02, max_draws=10**6)
    assert not clean.refuted
    assert clean.upper <= 0.02
    assert clean.draws < 10**6
    broken = sequential_test(lambda n: rng.multinomial(n, spread(law, 0.2)), law, bound=0.02)
    assert broken.refuted
    assert broken.draws <= 5000
    out = sequential_test(lambda n: rng.multinomial(n, law), law, bound=0.001, max_draws=5000)
    assert (out.refuted, out.draws) == (False, 5000)
    assert out.upper > 0.001


def test_an_audit_that_meets_the_impossible_ends_there_and_names_it():
    found = sequential_test(lambda n: np.array([n - 3, 0, 3]), [0.5, 0.5, 0.0])
    assert found.refuted
    assert found.impossible == (2, 3)
    assert found.draws == 1000


def test_the_bound_of_an_audit_covers_a_deviation_that_it_did_not_refute():
    law, rng = uniform(16), np.random.default_rng(10)
    for _ in range(30):
        found = sequential_test(lambda n: rng.multinomial(n, spread(law, 0.01)), law, max_draws=20_000)
        assert found.refuted or found.upper >= 0.01


@pytest.mark.parametrize(
    ("draw", "options", "message"),
    [
        (lambda n: np.array([n, 0, 0]), {}, "3 counts, expected 2"),
        (lambda n: np.array([n - 1, 0]), {}, "999 draws were counted, expected 1000"),
        (lambda n: np.array([0, 0]), {}, "n = 0"),
        (lambda n: np.array([n, 0]), {"alpha": 0}, "0 < alpha < 1"),
        (lambda n: np.array([n, 0]), {"bound": 2}, "0 < bound < 1"),
        (lambda n: np.array([n, 0]), {"max_draws": 0}, "max_draws >= 1"),
    ],
)
def test_bad_input_of_an_audit_is_said_in_one_line(draw, options, message):
    with pytest.raises(InputError, match=message):
        sequential_test(draw, [0.5, 0.5], **options)


def test_10000_clean_audits_raise_no_false_alarm():
    peaks = clean_sequential_tests(uniform(16), audits=10_000, most=1_000_000, rng=np.random.default_rng(11))
    assert peaks.max() < math.log(1e6)
    # The rate that Ville's inequality states, where a simulation can see it.
    assert np.mean(peaks >= math.log(20)) <= 1 / 20


@pytest.mark.simulation
def test_three_years_of_nights_with_400_checks_raise_no_false_alarm():
    peaks = clean_peaks(uniform(16), checks=400, nights=3 * 365, rng=np.random.default_rng(12))
    assert not holm(peaks, cohort_alpha(1e-3, 1)).alarm.any()


@pytest.mark.parametrize(("size", "nights"), [(0.02, 3), (0.01, 7)])
def test_a_deviation_in_a_few_cells_is_found_within_days(size, nights):
    """Mass moved between two of 16 cells: the least favourable directions take longer (benchmarks/anytime.py)."""
    law = uniform(16)
    broken = law.copy()
    broken[:2] += [size, -size]
    found = nights_to_alarm(law, broken, -math.log(ALPHA_400), runs=100, rng=np.random.default_rng(13))
    assert found.max() <= nights
    assert DRAWS == 20_000


def test_counts_are_taken_by_outcome_in_whatever_order_they_come():
    generator = np.random.default_rng(4)

    def draw(n):
        ones = int(generator.binomial(n, 0.1))
        return {1: ones, 0: n - ones}

    assert not sequential_test(draw, [0.9, 0.1], max_draws=5000).refuted
    assert sequential_test(lambda n: {0: n}, [1.0, 0.0], max_draws=2000).impossible is None
    assert sequential_test(lambda n: {0: n - 1, 1: 1}, [1.0, 0.0], max_draws=2000).impossible == (1, 1)
    with pytest.raises(InputError):
        sequential_test(lambda n: {0: n - 1, 7: 1}, [0.5, 0.5], max_draws=2000)


def test_an_audit_refutes_where_the_evidence_reaches_one_in_alpha_and_not_before():
    law, counts = uniform(4), np.array([290, 230, 240, 240])
    log_e = float(log_evidence(counts, law))
    assert log_e > 0.1
    for alpha, refuted in ((math.exp(-log_e) * 1.001, True), (math.exp(-log_e) * 0.999, False)):
        assert sequential_test(lambda n: counts, law, alpha=alpha, max_draws=1000).refuted == refuted


def test_the_bound_of_an_audit_spends_its_rate_over_the_looks():
    """alpha_j = alpha (unspent(j) - unspent(j + 1)), never all of alpha at one look."""
    law, rng, alpha, seen = uniform(4), np.random.default_rng(15), 1e-3, []

    def draw(n):
        seen.append(rng.multinomial(n, law))
        return seen[-1]

    found = sequential_test(draw, law, alpha=alpha, max_draws=2000)
    assert len(seen) > 5
    shares = [alpha * (unspent(look) - unspent(look + 1)) for look in range(len(seen))]
    assert sum(shares) < alpha
    so_far = np.cumsum(seen, axis=0)
    bounds = [total_variation_bound(row, law, share).upper for row, share in zip(so_far, shares, strict=True)]
    assert found.upper == min(bounds)
    assert found.upper > min(total_variation_bound(row, law, alpha).upper for row in so_far)
