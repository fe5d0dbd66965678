"""Finite-sample tails: never below the true ones, computed by enumeration down to 1e-6 and beyond."""

import numpy as np
import pytest
from scipy.stats import binom, chi2, multivariate_hypergeom

from draftproof.stattests import tails
from draftproof.stattests.tails import hypergeometric_tail, likelihood_ratio, multinomial_tail
from draftproof.tests.stattests.enumerated import probabilities, tables

RATES = (1e-2, 1e-3, 1e-6, 1e-9)


@pytest.mark.parametrize(
    ("n", "law"), [(60, [1 / 3] * 3), (60, [0.1, 0.1, 0.8]), (30, [0.4, 0.3, 0.2, 0.1]), (25, [0.02, 0.49, 0.49])]
)
def test_the_multinomial_bound_is_never_below_the_true_tail(n, law):
    counts = tables(n, len(law))
    weight, g = probabilities(counts, law), likelihood_ratio(counts, n * np.array(law))
    assert weight.sum() == pytest.approx(1)
    for at in [*np.quantile(g, [0.3, 0.9, 0.99, 1.0]), 5.0, 15.0, 30.0, 45.0]:
        true = weight[g >= at - 1e-9].sum()
        bound = multinomial_tail(float(at), n * np.array(law))
        assert bound >= true
        assert bound < 1e4 * true or true < 1e-30, "a bound that is never near the tail tells nothing"


@pytest.mark.parametrize("expected", [5, 10, 50])
def test_refuting_by_the_bound_keeps_the_stated_rate_at_1e_6_where_pearsons_customary_tail_does_not(expected):
    n = 1000
    x = np.arange(n + 1)
    cells, hoped = np.stack([x, n - x], axis=1), np.array([expected, n - expected])
    weight = binom.pmf(x, n, expected / n)
    pearson = ((cells - hoped) ** 2 / hoped).sum(axis=1)
    bound = np.array([multinomial_tail(g, hoped) for g in likelihood_ratio(cells, hoped)])
    for alpha in RATES:
        assert weight[bound <= alpha].sum() <= alpha
    customary = weight[chi2.sf(pearson, 1) <= 1e-6].sum()
    assert customary > 1e-6, "the planted test: too many false alarms"
    if expected == 5:
        assert 50e-6 < customary < 70e-6


@pytest.mark.parametrize(("totals", "first"), [((12, 14, 10), 18), ((30, 6, 8), 15), ((9, 9, 9, 9), 20)])
def test_the_hypergeometric_bound_is_never_below_the_true_tail(totals, first):
    totals = np.array(totals)
    counts = tables(first, len(totals))
    counts = counts[(counts <= totals).all(axis=1)]
    weight = multivariate_hypergeom.pmf(counts, totals, first)
    share = first / totals.sum()
    g = likelihood_ratio(counts, totals * share) + likelihood_ratio(totals - counts, totals * (1 - share))
    assert weight.sum() == pytest.approx(1)
    for at in [*np.quantile(g, [0.5, 0.9, 0.999, 1.0]), 10.0, 20.0]:
        assert hypergeometric_tail(float(at), first, totals) >= weight[g >= at - 1e-9].sum()
    bound = np.array([hypergeometric_tail(float(at), first, totals) for at in g])
    for alpha in RATES:
        assert weight[bound <= alpha].sum() <= alpha


@pytest.mark.parametrize("kept", [1.0, 4.0])
def test_values_of_a_count_that_are_left_out_make_the_bound_larger_and_never_smaller(monkeypatch, kept):
    expected, totals = np.array([40.0, 40.0, 20.0]), np.array([60, 60, 80])
    whole = [multinomial_tail(g, expected) for g in (4.0, 8.0, 15.0)]
    whole += [hypergeometric_tail(g, 100, totals) for g in (4.0, 8.0, 15.0)]
    monkeypatch.setattr(tails, "NEGLIGIBLE_LOG_WEIGHT", kept)
    cut = [multinomial_tail(g, expected) for g in (4.0, 8.0, 15.0)]
    cut += [hypergeometric_tail(g, 100, totals) for g in (4.0, 8.0, 15.0)]
    assert all(small >= large for small, large in zip(cut, whole, strict=True))
    assert cut != whole, "something was left out"
