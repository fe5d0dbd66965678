"""Two sources of unknown law: one law is not refuted, two are."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from draftproof.stattests.two_sample import homogeneity


def test_the_statistic_is_the_likelihood_ratio_of_the_table():
    found = homogeneity([30, 50, 20], [45, 40, 65])
    expected = chi2_contingency([[30, 50, 20], [45, 40, 65]], lambda_="log-likelihood")
    assert found.statistic == pytest.approx(expected.statistic)


def test_outcomes_that_only_one_source_has_are_seen():
    found = homogeneity({"a": 500, "b": 500}, {"a": 500, "b": 450, "never before": 50})
    assert found.p_value <= 1e-6
    assert "'never before' was seen 0 of 1000 and 50 of 1000 times" in found.witness


@pytest.mark.parametrize("rare", ["zipf", "uniform"])
def test_two_samples_of_a_law_with_many_rare_outcomes_are_not_told_apart(rare):
    def sample(seed):
        generator = np.random.default_rng(seed)
        drawn = generator.zipf(1.5, 5000) if rare == "zipf" else generator.integers(20_000, size=5000)
        return Counter(drawn.tolist())

    assert all(homogeneity(sample(k), sample(k + 100)).p_value > 1e-4 for k in range(4))


@pytest.mark.parametrize(("n", "m", "cells"), [(1000, 1000, 100), (1000, 100, 20), (100, 1000, 20)])
def test_outcomes_are_pooled_to_five_expected_in_the_smaller_sample(n, m, cells):
    """100 outcomes seen equally often: one in a hundred of 100 draws is 1, and five of them make a cell."""
    first, other = dict.fromkeys(range(100), n // 100), dict.fromkeys(range(100), m // 100)
    assert homogeneity(first, other).cells == cells


@pytest.mark.parametrize("rest", [{"b": 996}, {"b": 500, "c": 496}])
def test_rare_outcomes_do_not_swallow_a_large_one(rest):
    """4 in 1,000 where a million others have none: in one cell with "b" they would not be seen."""
    many = {o: times * 1000 for o, times in rest.items()}
    found = homogeneity({"a": 4} | rest, many)
    assert found.cells == len(rest) + 1
    assert found.p_value <= 1e-6
    assert homogeneity({"a": 0} | rest, many | {"a": 4}).p_value > 0.5
