"""The mean of bounded draws: the interval holds it as often as stated, and its design is true, by exact computation."""

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.stattests.mean import STAKES, log_fortune, mean_interval, min_detectable_mean
from draftproof.tests.stattests.enumerated import probabilities, tables


@pytest.mark.parametrize("law", [[0.3, 0.3, 0.4], [0.9, 0.05, 0.05], [0.0, 0.02, 0.98], [0.5, 0.0, 0.5]])
def test_the_interval_holds_the_mean_with_the_stated_probability(law):
    n, alpha, mean = 30, 0.05, float(np.dot(law, [0, 1, 2]))
    counts = tables(n, 3)
    weight = probabilities(counts, law)
    missed = 0.0
    for row, p in zip(counts, weight, strict=True):
        if p > 1e-9:
            found = mean_interval(dict(enumerate(row.tolist())), 2, alpha)
            assert found.lower <= found.mean <= found.upper
            missed += p * (not found.lower <= mean <= found.upper)
    assert missed <= alpha


@pytest.mark.parametrize("sign", [1, -1])
def test_the_fortune_is_one_on_average_if_the_mean_is_as_claimed(sign):
    law = [0.2, 0.5, 0.3]
    counts = tables(12, 3)
    fortune = [np.exp(log_fortune(dict(enumerate(row.tolist())), 2, 1.1, sign)) for row in counts]
    assert probabilities(counts, law) @ fortune == pytest.approx(1)
    assert probabilities(counts, [0.0, 0.2, 0.8] if sign > 0 else [0.8, 0.2, 0.0]) @ fortune > 3


@pytest.mark.parametrize("expected", [0.02, 1 / 3, 0.8])
def test_a_coin_at_the_limit_is_missed_no_more_often_than_stated(expected):
    n, alpha, beta = 1000, 1e-6, 1e-3
    shift = min_detectable_mean(n, expected, 1.0, alpha, beta)
    x = np.arange(n + 1)
    inside = np.array(
        [max(log_fortune({0: n - k, 1: k}, 1.0, expected, s) for s in (1, -1)) < np.log(2 / alpha) for k in x.tolist()]
    )
    assert binom.pmf(x, n, expected)[~inside].sum() <= alpha
    for other in (expected - shift, expected + shift):
        if 0 <= other <= 1:
            assert binom.pmf(x, n, other)[inside].sum() <= beta
    nearer = expected + shift / 2
    assert binom.pmf(x, n, nearer)[inside].sum() > beta, "the limit is not idle"


@pytest.mark.parametrize("alpha", [1e-6, 0.05])
@pytest.mark.parametrize("n", [40, 1000])
def test_where_all_draws_are_equal_the_interval_ends_where_the_closed_form_does(n, alpha):
    """Of n zeros the bets against a mean of m have made mean over l of (1 + l m)^n: 2 / alpha at the end."""
    upper = mean_interval({0: n}, 1, alpha).upper
    assert ((1 + STAKES * upper) ** n).mean() == pytest.approx(2 / alpha)
    assert mean_interval({1: n}, 1, alpha).lower == pytest.approx(1 - upper)
    assert ((1 + STAKES * upper) ** n).mean() > 1.5 / alpha, "at 1 / alpha the interval would be narrower"
