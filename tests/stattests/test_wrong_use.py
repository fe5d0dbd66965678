"""What no test can answer, a rate, a size or counts that cannot be, is an error of one line that names it."""

import re

import numpy as np
import pytest

from draftproof.stattests.anytime import min_detectable_anytime, min_detectable_sequential, sequential_test
from draftproof.stattests.betting import Bets, SetBetting, bets_on, bets_on_sets
from draftproof.stattests.bounds import mcdiarmid_radius, one_law_radius, tokens_per_call, total_variation_bound
from draftproof.stattests.design import (
    assert_equivalence,
    assert_goodness,
    min_detectable_goodness,
    min_detectable_homogeneity,
)
from draftproof.stattests.eprocess import EProcess, cohort_alpha, holm
from draftproof.stattests.goodness import goodness_of_fit, min_detectable_by_law_free
from draftproof.stattests.mean import mean_interval, min_detectable_mean
from draftproof.stattests.power import samples_needed
from draftproof.stattests.rounding import deviation
from draftproof.stattests.sequence_design import detectable_shift, min_detectable_betting
from draftproof.stattests.tilts import TILTS, TiltBetting, allowance, placed
from draftproof.stattests.two_sample import homogeneity
from draftproof.tests.refusals import one_line

LAW, ROWS, HALF = {"a": 0.5, "b": 0.3, "c": 0.2}, np.full((3, 2), 0.5), [0.5, 0.5]

WRONG = [
    # counts and laws
    (lambda: goodness_of_fit({}, LAW), "n = 0"),
    (lambda: goodness_of_fit({"a": 0}, LAW), "n = 0"),
    (lambda: goodness_of_fit({"a": 1}, {"a": 0.5}), "sums to 0.5, expected 1"),
    (lambda: goodness_of_fit({"a": 1}, {"a": 1.5, "b": -0.5}), "probability of 'b' is -0.5"),
    (lambda: goodness_of_fit({"a": 1}, {"a": float("nan"), "b": 1.0}), "probability of 'a' is nan"),
    (lambda: goodness_of_fit({"a": 1}, {"a": "much"}), "probability of 'a' is 'much', expected a number"),
    (lambda: goodness_of_fit({"a": -1, "b": 5}, LAW), "'a' was seen -1 times"),
    (lambda: goodness_of_fit({"a": 1.5}, LAW), "'a' was seen 1.5 times, expected a whole number"),
    (lambda: goodness_of_fit({(0, 1): 3}, LAW), r"\(0, 1\) is a sequence of 2 tokens, expected of type str"),
    (lambda: goodness_of_fit({(0, 1): 3}, {(0, 1, 1): 1.0}), "a sequence of 2 tokens, expected a sequence of 3 tokens"),
    (lambda: goodness_of_fit([1, 2, 3], HALF), "3 counts, expected 2"),
    (lambda: goodness_of_fit([[1, 2], [3, 4]], HALF), r"shape \(2, 2\), expected one axis"),
    (lambda: homogeneity([1, 2], [0, 0]), "the other counts: no samples"),
    (lambda: EProcess(HALF).add([1, 1, 1]), r"expected \(2,\)"),
    (lambda: mean_interval({3: 5}, 2), "a draw of 3, expected a value between 0 and 2"),
    (lambda: tokens_per_call([1, 1], 2, 1.5, 1.2), "0 <= optimum <= cap <= gamma"),
    # a sequential test, and the draws that it gets
    (lambda: sequential_test(lambda n: [n, 0, 0], HALF), "3 counts, expected 2"),
    (lambda: sequential_test(lambda n: [n - 1, 0], HALF), "999 draws were counted, expected 1000"),
    (lambda: sequential_test(lambda n: {0: n - 1, 7: 1}, HALF), "counts of 7, which the distribution does not list"),
    (lambda: sequential_test(lambda n: [n, 0], HALF, alpha=0), "0 < alpha < 1"),
    (lambda: sequential_test(lambda n: [n, 0], HALF, bound=2), "0 < bound < 1"),
    (lambda: sequential_test(lambda n: [n, 0], HALF, max_draws=0), "max_draws >= 1"),
    # rates
    (lambda: assert_goodness([1, 1], HALF, 0), "alpha is 0"),
    (lambda: one_law_radius(10, 2.0), "alpha is 2.0"),
    (lambda: min_detectable_sequential(10, 4, beta=0.0), "beta is 0.0"),
    (lambda: holm([1.0], float("nan")), "a rate between 0 and 1"),
    (lambda: deviation([5, 5], HALF, 0.0, 0.0), "alpha is 0.0"),
    (lambda: TiltBetting(2.0), "alpha is 2.0"),
    # sizes and distances
    (lambda: min_detectable_goodness(0, 4), "n is 0, expected at least 1"),
    (lambda: min_detectable_homogeneity(10, 4, 0), "other is 0"),
    (lambda: min_detectable_by_law_free(10, 1), "cells is 1, expected at least 2"),
    (lambda: mcdiarmid_radius(10, 0), "cells is 0"),
    (lambda: min_detectable_anytime(10, 0), "cells is 0"),
    (lambda: min_detectable_anytime(10, [0.5, 0.6]), "the distribution sums to 1.1"),
    (lambda: min_detectable_anytime(10, 4, 0), "nights is 0"),
    (lambda: min_detectable_anytime(10, 4, checks=0), "checks is 0"),
    (lambda: min_detectable_anytime(10, 4, begins=0), "begins is 0"),
    (lambda: cohort_alpha(1e-3, 0), "counted from 1"),
    (lambda: total_variation_bound([0, 0], HALF), "n = 0"),
    (lambda: assert_equivalence([1, 1], HALF, 0.0), "delta is 0.0"),
    (lambda: deviation([5, 5], HALF, -0.1), "slack is -0.1"),
    (lambda: min_detectable_mean(10, 1.5), "not within 0 and top"),
    (lambda: samples_needed(min_detectable_goodness, 0.0, 4), "distance is 0.0, expected more than 0"),
    (lambda: samples_needed(min_detectable_goodness, float("inf"), 4), "distance is inf"),
    (lambda: samples_needed(min_detectable_goodness, "a", 4), "distance is 'a', expected a number"),
    (lambda: samples_needed(min_detectable_betting, 0.015, 0.5, slack=0.02), "would not be enough"),
    # bets
    (lambda: bets_on(ROWS[0], [0]), r"target: got the shape \(2,\), expected \[steps, vocabulary\]"),
    (lambda: bets_on(ROWS * 0.9, [0, 0, 0]), "target: row 0 sums to 0.9"),
    (lambda: bets_on([[1.5, -0.5]], [0]), "least entry -0.5"),
    (lambda: bets_on(ROWS, [0, 1]), "tokens: got int64 of shape"),
    (lambda: bets_on(ROWS, [0, 0.5, 1]), "tokens: got float64"),
    (lambda: bets_on(ROWS, [0, 2, 1]), r"tokens: 2 at step 1, expected a token in 0\.\.1"),
    (lambda: bets_on(ROWS, [0, 1, 1], np.full((3, 4), 0.25)), "draft: got the shape"),
    (lambda: bets_on(ROWS, [0, 1, 1], proposed=[-2, 0, 0]), "proposed: -2 at step 0"),
    (lambda: bets_on(ROWS, [0, 1, 1], bonus=[True]), "bonus: got the shape"),
    (lambda: bets_on_sets(ROWS, [0, 1, 1], ROWS[:2] > 0), "sets: got the shape"),
    (lambda: SetBetting([]), "expected one or more different names"),
    (lambda: SetBetting(["a"], slack=0.7), "slack is 0.7"),
    (lambda: SetBetting(["a"]).observe({"b": Bets([0.5], [True])}), r"bets on \['b'\], expected \['a'\]"),
    (lambda: SetBetting(["a"]).observe({"a": Bets([0.5], [])}), "expected one a step"),
    (lambda: SetBetting(["a"]).observe({"a": Bets([1.5], [True])}), "has the probability 1.5"),
    (
        lambda: SetBetting(["a", "b"]).observe({"a": Bets([0.5], [True]), "b": Bets([0.5] * 2, [True] * 2)}),
        "bets of different lengths",
    ),
    (lambda: min_detectable_betting(10, 1.0), "probability is 1.0"),
    (lambda: min_detectable_betting(10, 0.5, 0), "families is 0"),
    (lambda: detectable_shift(np.array([0.5, 1.5])), "entries in 0..1"),
    (lambda: detectable_shift(np.full((2, 2), 0.5)), r"the shape \(2, 2\)"),
    (lambda: placed(np.array([0.5, 0.4]), [0]), "sums to 0.9, expected 1"),
    (lambda: placed(ROWS[0], [40]), "tokens 40 to 40, expected 0 to 1"),
    (lambda: allowance([], 1.0, 1.0), "drift of 0 rows; expected 2 or more"),
    (lambda: TiltBetting(1e-3, np.array([-1.0])), f"expected {len(TILTS)} of at least 0"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_use_is_an_error_of_one_line(call, message):
    assert re.search(message, one_line(call))
