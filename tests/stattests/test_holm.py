"""Holm's procedure over checks whose evidence may be looked at at any time."""

import math

import numpy as np
import pytest

from draftproof.stattests.eprocess import cohort_alpha, holm


def test_holm_refutes_as_its_definition_says():
    alpha = 0.06
    peaks = np.log(np.array([3 / alpha, 1 / alpha - 1, 2 / alpha]))
    judged = holm(peaks, alpha)
    assert judged.alarm.tolist() == [True, False, True]
    assert np.exp(judged.threshold) == pytest.approx([3 / alpha, 1 / alpha, 2 / alpha])
    assert holm(np.log([3 / alpha - 1, 2 / alpha, 1 / alpha]), alpha).alarm.tolist() == [False, False, False]
    assert holm([math.inf, 0.0], alpha).alarm.tolist() == [True, False]


def test_a_check_once_refuted_stays_refuted_as_evidence_grows():
    rng = np.random.default_rng(3)
    peaks = np.zeros(20)
    before = np.zeros(20, dtype=bool)
    for _ in range(300):
        peaks = np.maximum(peaks, peaks + rng.normal(0, 1, 20))
        now = holm(peaks, 1e-3).alarm
        assert (now >= before).all()
        before = now
    assert before.any()


@pytest.mark.parametrize("alpha", [0, 1, -1, math.nan])
def test_an_error_rate_outside_of_0_and_1_is_refused(alpha):
    with pytest.raises(ValueError, match="a rate between 0 and 1"):
        holm([1.0], alpha)


def test_holm_keeps_the_error_rate_and_testing_without_it_does_not():
    """At a rate that a simulation can see: 20 fair bets a cohort, half of the checks broken for good."""
    rng = np.random.default_rng(4)
    alpha, cohorts = 0.2, 3000
    clean = -np.log(rng.random((cohorts, 10)))  # Pr(peak >= log 1/a) = a exactly: the worst an e-process can do
    peaks = np.concatenate([clean, np.full((cohorts, 10), 50.0)], axis=1)
    wrong = np.mean([holm(row, alpha).alarm[:10].any() for row in peaks])
    assert wrong == pytest.approx(1 - (1 - alpha / 10) ** 10, abs=0.03)
    assert np.mean((clean >= -math.log(alpha)).any(axis=1)) > 0.8


def test_the_shares_of_all_cohorts_together_stay_below_the_lifetime_budget():
    shares = [cohort_alpha(1e-3, n) for n in range(1, 5000)]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) < 1e-3
    with pytest.raises(ValueError, match="counted from 1"):
        cohort_alpha(1e-3, 0)
