"""A test of fit for any number of samples: its tail is never too small, and it refutes what is planted."""

import numpy as np
import pytest

from draftproof.models.errors import InputError
from draftproof.stattests import goodness
from draftproof.stattests.goodness import (
    LAW_FREE_METHOD,
    fit_of_many,
    goodness_of_fit,
    law_free_tail,
    min_detectable_by_law_free,
    sharp,
)

MANY = 10**11
"""Draws of 64 outcomes for which the sharper bound would take minutes."""


@pytest.mark.parametrize("n", [1, 4, 25])
@pytest.mark.parametrize("law", [[0.5, 0.5], [0.9, 0.1], [0.6, 0.3, 0.1], [1 / 3, 1 / 3, 1 / 3]])
def test_the_tail_is_never_below_the_exact_one(n, law):
    rng = np.random.default_rng(n)
    for counts in rng.multinomial(n, rng.dirichlet(np.ones(len(law)), size=20)):
        exact = goodness_of_fit(counts, law, method="exact")
        assert law_free_tail(exact.statistic, exact.freedom) >= exact.p_value * (1 - 1e-9)


def test_the_same_bound_with_the_freedom_of_the_limit_would_be_too_small():
    """The planted error: Chernoff's bound for k - 1 degrees of freedom, the limit's, does not hold for all n."""
    exact = goodness_of_fit([1, 0], [0.5, 0.5], method="exact")
    of_the_limit = np.exp(0.5 - exact.statistic / 2 + 0.5 * np.log(exact.statistic))
    assert of_the_limit < exact.p_value <= law_free_tail(exact.statistic, exact.freedom)


@pytest.fixture
def planted():
    law = np.full(64, 1 / 64)
    sign = np.array([1, -1] * 32)
    return law, lambda shift: law + sign * 2 * shift / 64


def test_billions_of_samples_of_the_law_are_not_refuted_and_a_deviation_at_the_limit_is(planted):
    law, shifted = planted
    assert not sharp(MANY, 64)
    limit = min_detectable_by_law_free(MANY, 64, beta=0.01)
    assert 0 < limit < 1e-4
    rng = np.random.default_rng(7)
    clean = [fit_of_many(rng.multinomial(MANY, law), law) for _ in range(200)]
    found = [fit_of_many(rng.multinomial(MANY, shifted(limit)), law) for _ in range(200)]
    assert {fit.method for fit in clean} == {LAW_FREE_METHOD}
    assert min(fit.p_value for fit in clean) > 1e-6
    assert sum(fit.p_value > 1e-6 for fit in found) <= 8, "expected 2 misses in 200; 9 or more in 1 of 10,000 runs"
    assert sum(fit_of_many(rng.multinomial(MANY, shifted(limit / 4)), law).p_value <= 1e-6 for _ in range(50)) == 0


def test_few_samples_get_the_sharper_bound(planted):
    law, _ = planted
    counts = np.random.default_rng(1).multinomial(10_000, law)
    assert fit_of_many(counts, law) == goodness_of_fit(counts, law)


def test_a_hit_of_probability_zero_is_certain_at_any_size(monkeypatch):
    monkeypatch.setattr(goodness, "MAX_BOUND_WORK", 0)
    found = fit_of_many({"a": 10**12, "b": 1}, {"a": 1.0, "b": 0.0})
    assert (found.p_value, found.impossible) == (0.0, ("b", 1))


@pytest.mark.parametrize(("n", "cells"), [(0, 4), (10, 1)])
def test_a_detection_limit_of_nothing_is_an_error(n, cells):
    with pytest.raises(InputError, match="expected at least"):
        min_detectable_by_law_free(n, cells)
