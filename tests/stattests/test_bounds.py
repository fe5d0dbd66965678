"""What is left after a pass: coverage computed exactly, by enumeration of every table of counts."""

import numpy as np
import pytest

from draftproof.stattests.bounds import (
    mcdiarmid_radius,
    min_detectable_equivalence,
    one_law_radius,
    tokens_per_call,
    total_variation_bound,
    weissman_radius,
)
from draftproof.tests.stattests.enumerated import probabilities, tables

LAWS = [[0.5, 0.5], [0.9, 0.1], [1 / 3] * 3, [0.7, 0.2, 0.1], [0.25] * 4]


def apart(counts, law):
    return np.abs(counts / counts.sum(axis=1, keepdims=True) - law).sum(axis=1) / 2


def exceeded(radius, n, law, alpha):
    counts = tables(n, len(law))
    return probabilities(counts, law)[apart(counts, np.array(law)) > radius(n, len(law), alpha)].sum()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [5, 20, 50])
@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-6])
def test_the_empirical_law_leaves_both_radii_no_more_often_than_stated(law, n, alpha):
    for radius in (weissman_radius, mcdiarmid_radius):
        assert exceeded(radius, n, law, alpha) <= alpha


def test_a_radius_that_is_too_small_is_exposed_by_the_same_computation():
    assert exceeded(lambda *args: weissman_radius(*args) / 2, 50, [0.25] * 4, 0.05) > 0.05
    for_one_law = exceeded(lambda n, k, alpha: one_law_radius(n, alpha), 20, [1 / 6] * 6, 0.05)
    assert for_one_law > 0.05, "the radius for one law is not one for all laws at once"


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-6])
def test_the_bounds_hold_the_true_distance_with_the_stated_probability_whatever_the_source(law, alpha):
    n, generator = 30, np.random.default_rng(1)
    counts = tables(n, len(law))
    sources = [np.array(law), np.eye(len(law))[0], *generator.dirichlet(np.ones(len(law)), size=6)]
    found = [total_variation_bound(row, law, alpha) for row in counts]
    upper, lower = np.array([f.upper for f in found]), np.array([f.lower for f in found])
    for source in sources:
        weight, true = probabilities(counts, source), np.abs(source - law).sum() / 2
        assert weight[upper < true - 1e-12].sum() <= alpha
        assert weight[lower > true + 1e-12].sum() <= alpha


@pytest.mark.parametrize("law", LAWS)
def test_draws_of_the_law_show_their_margin_as_often_as_stated(law):
    n, alpha, beta = 40, 0.05, 0.1
    delta = min_detectable_equivalence(n, len(law), alpha, beta)
    counts = tables(n, len(law))
    upper = np.array([total_variation_bound(row, law, alpha).upper for row in counts])
    assert probabilities(counts, law)[upper > delta].sum() <= beta
    assert delta < 1


def test_a_verifier_that_accepts_too_much_is_proved_biased():
    """The published vllm-ascend block rule with the token residual: E[tau] 2.57 where 1.85 is the cap."""
    law = np.array([0.05, 0.05, 0.18, 0.72])
    counts = np.random.default_rng(3).multinomial(20_000, law)
    found = tokens_per_call(counts, 3, 5 / 3, 50 / 27)
    assert found.above_cap
    assert found.above_optimum
    assert found.accepted.lower > 50 / 27


@pytest.mark.parametrize("cells", [2, 4, 200])
def test_the_lower_bound_has_a_cell_for_everything_that_the_law_does_not_list(cells):
    """The source may emit what the law excludes: one cell more than the law has."""
    n, alpha, law = 5000, 1e-3, np.full(cells, 1 / cells)
    counts = np.zeros(cells, dtype=int)
    counts[0] = n
    found = total_variation_bound(counts, law, alpha)
    radius = min(weissman_radius(n, cells + 1, alpha), mcdiarmid_radius(n, cells + 1, alpha))
    assert found.lower == pytest.approx(1 - 1 / cells - radius)
    assert total_variation_bound([*counts, 0], [*law, 0.0], alpha) == found
