"""Independence: every planted dependence is refuted, clean sources are not, and contexts are held apart."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, multivariate_hypergeom

from draftproof.stattests.independence import (
    E_VALUE_SHARE,
    independence,
    log_e_value,
)
from draftproof.tests.stattests.enumerated import most_by_chance, tables

LAW = np.array([0.4, 0.3, 0.2, 0.1])


def drawn(uniforms, law=LAW):
    """Tokens by inverting the law at uniforms of any shape."""
    return (np.cumsum(law)[:-1] <= np.asarray(uniforms)[..., None]).sum(axis=-1)


def test_the_statistic_is_the_likelihood_ratio_of_the_table():
    first, second = [0] * 30 + [1] * 70, ([0] * 20 + [1] * 10) + ([0] * 30 + [1] * 40)
    expected = chi2_contingency([[20, 10], [30, 40]], lambda_="log-likelihood", correction=False)
    assert independence(first, second).statistic == pytest.approx(expected.statistic)


@pytest.mark.parametrize("alpha", [1e-2, 1e-3])
def test_independent_draws_are_refuted_no_more_often_than_stated(alpha):
    tries, generator = 400, np.random.default_rng(1)
    refuted = 0
    for k in range(tries):
        first, second = drawn(generator.random((2, 60))).tolist()
        refuted += independence(first, second, alpha=alpha, seed=k).p_value <= alpha
    assert refuted <= most_by_chance(tries, alpha)


@pytest.mark.parametrize(("totals", "first"), [((6, 5, 4), 7), ((10, 10), 10), ((3, 3, 3, 3), 4)])
def test_the_e_value_is_at_most_one_on_average_over_all_tables_with_those_margins(totals, first):
    totals = np.array(totals)
    rows = tables(first, len(totals))
    rows = rows[(rows <= totals).all(axis=1)]
    weight = multivariate_hypergeom.pmf(rows, totals, first)
    fortune = np.exp([log_e_value(np.stack([row, totals - row])) for row in rows])
    assert weight.sum() == pytest.approx(1)
    assert 0 < weight @ fortune <= 1
    assert log_e_value(np.diag([500, 500])) > 500, "copied draws need no random table"


def test_laws_that_change_with_the_context_are_no_dependence_given_the_context():
    """Both rows follow the prompt's law; mixed over prompts they look dependent, prompt by prompt they are not."""
    generator = np.random.default_rng(7)
    prompts = generator.integers(2, size=3000)
    noise = generator.random((3000, 2))
    draws = np.where(prompts[:, None] == 0, drawn(noise), drawn(noise, LAW[::-1]))
    assert independence(*draws.T.tolist(), alpha=1e-4).p_value <= 1e-4
    assert independence(*draws.T.tolist(), prompts.tolist()).p_value > 1e-6
    noise[:, 1] = np.where(generator.random(3000) < 0.6, noise[:, 0], noise[:, 1])
    coupled = np.where(prompts[:, None] == 0, drawn(noise), drawn(noise, LAW[::-1])).tolist()
    found = independence(*zip(*coupled, strict=True), prompts.tolist())
    assert found.p_value <= 1e-6
    assert found.strata == 2
    assert "given" in found.witness


def test_rows_of_a_batch_that_share_their_noise_once_in_six_calls_are_refuted():
    generator = np.random.default_rng(4)
    noise = generator.random((3000, 2))
    assert independence(*drawn(noise).T.tolist()).p_value > 1e-6
    noise[:, 1] = np.where(generator.random(3000) < 1 / 6, noise[:, 0], noise[:, 1])
    assert independence(*drawn(noise).T.tolist()).p_value <= 1e-6


def test_the_reused_uniform_of_an_accepted_token_shows_between_positions():
    """The uniform of the accept test drawn on for the next position: its low values go with low tokens."""
    generator = np.random.default_rng(6)
    noise = generator.random((3000, 3))
    noise[:, 1] = noise[:, 0] * 0.7
    first, second, third = drawn(noise).T.tolist()
    assert independence(first, second).p_value <= 1e-6
    assert independence(first, third).p_value > 1e-6


def test_dependence_of_opposite_sign_in_two_contexts_is_seen():
    generator = np.random.default_rng(8)
    context = generator.integers(2, size=2000)
    first = generator.integers(2, size=2000)
    second = np.where(generator.random(2000) < 0.4, first ^ context, generator.integers(2, size=2000))
    assert independence(first.tolist(), second.tolist()).p_value > 1e-6
    assert independence(first.tolist(), second.tolist(), context.tolist()).p_value <= 1e-6


def test_many_outcomes_are_pooled_and_still_tell():
    generator = np.random.default_rng(9)
    first, second = generator.geometric(0.2, size=(2, 3000))
    assert independence(first.tolist(), second.tolist()).p_value > 1e-6
    copied = np.where(generator.random(3000) < 0.3, first, second)
    assert independence(first.tolist(), copied.tolist()).p_value <= 1e-6


def test_draws_that_never_vary_have_nothing_to_tell():
    found = independence([0] * 50, [0, 1] * 25)
    assert (found.p_value, found.strata, found.witness) == (1.0, 0, "nothing to compare")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: independence([0, 1], [0]), "2 and 1 draws with 2 contexts"),
        (lambda: independence([], []), "pairs is 0"),
        (lambda: independence([0], [0], alpha=2.0), "alpha is 2.0"),
    ],
)
def test_wrong_use_is_an_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_independent_draws_that_never_repeat_are_not_tied_by_their_order():
    generator = np.random.default_rng(3)
    one, other = (generator.integers(2**62, size=1000).tolist() for _ in range(2))
    assert independence(one, other).p_value > 1e-3


def pairs(table):
    """The pairs that a table counts, as two columns."""
    cells = [(a, b) for a, row in enumerate(table) for b, n in enumerate(row) for _ in range(n)]
    return [list(column) for column in zip(*cells, strict=True)]


def test_the_e_value_and_the_random_tables_share_the_rate():
    """A hundredth is set aside for the e-value, so that it counts a hundredfold, and the rest is for the tables."""
    strong = pairs([[30, 0], [0, 30]])
    assert independence(*strong).p_value == pytest.approx(np.exp(-log_e_value(np.diag([30, 30]))) / E_VALUE_SHARE)
    # One table in 1,716 is as extreme: none of the 200 drawn.
    weak, alpha = pairs([[7, 0], [0, 7]]), 1e-2
    assert log_e_value(np.diag([7, 7])) < np.log(1 / (E_VALUE_SHARE * alpha))
    assert independence(*weak, alpha=alpha).p_value == pytest.approx(1 / 201 / (1 - E_VALUE_SHARE))
