"""Independence: every planted dependence is refuted, clean sources are not, and contexts are held apart."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, multivariate_hypergeom

from draftproof.stattests.independence import (
    E_VALUE_SHARE,
    across,
    along,
    independence,
    log_e_value,
    reproducible,
    seeds_differ,
)
from draftproof.tests.stattests.enumerated import most_by_chance, tables

LAW = np.array([0.4, 0.3, 0.2, 0.1])


def drawn(uniforms, law=LAW):
    """Tokens by inverting the law at uniforms of any shape."""
    return (np.cumsum(law)[:-1] <= np.asarray(uniforms)[..., None]).sum(axis=-1)


def least(found):
    return min(result.p_value for result in found.values())


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


def test_rows_of_a_batch_that_share_their_noise_are_refuted():
    generator = np.random.default_rng(3)
    noise = generator.random((2000, 4))
    assert least(across(drawn(noise).tolist())) > 1e-6
    shared = noise.copy()
    shared[:, 2] = shared[:, 0]
    found = across(drawn(shared).tolist())
    assert found[0, 2].p_value <= 1e-6
    assert least({pair: r for pair, r in found.items() if pair != (0, 2)}) > 1e-6


def test_noise_shared_once_in_six_calls_is_refuted_too():
    generator = np.random.default_rng(4)
    noise = generator.random((3000, 2))
    noise[:, 1] = np.where(generator.random(3000) < 1 / 6, noise[:, 0], noise[:, 1])
    assert least(across(drawn(noise).tolist())) <= 1e-6


@pytest.mark.parametrize("lag", [1, 3])
def test_calls_that_depend_on_an_earlier_one_are_refuted_at_their_lag(lag):
    generator = np.random.default_rng(5)
    noise = generator.random(6000)
    assert least(along(drawn(noise).tolist())) > 1e-6
    for t in range(lag, 6000):
        if generator.random() < 0.4:
            noise[t] = noise[t - lag]
    found = along(drawn(noise).tolist())
    assert found[lag].p_value <= 1e-6


def test_the_reused_uniform_of_an_accepted_token_shows_between_positions():
    """The uniform of the accept test drawn on for the next position: its low values go with low tokens."""
    generator = np.random.default_rng(6)
    noise = generator.random((3000, 3))
    noise[:, 1] = noise[:, 0] * 0.7
    found = across(drawn(noise).tolist())
    assert found[0, 1].p_value <= 1e-6
    assert found[0, 2].p_value > 1e-6


def test_laws_that_change_with_the_context_are_no_dependence_given_the_context():
    """Both rows follow the prompt's law; mixed over prompts they look dependent, prompt by prompt they are not."""
    generator = np.random.default_rng(7)
    prompts = generator.integers(2, size=3000)
    noise = generator.random((3000, 2))
    draws = np.where(prompts[:, None] == 0, drawn(noise), drawn(noise, LAW[::-1]))
    table, contexts = draws.tolist(), [[p, p] for p in prompts.tolist()]
    assert least(across(table, alpha=1e-4)) <= 1e-4
    assert least(across(table, contexts)) > 1e-6
    noise[:, 1] = np.where(generator.random(3000) < 0.6, noise[:, 0], noise[:, 1])
    coupled = np.where(prompts[:, None] == 0, drawn(noise), drawn(noise, LAW[::-1])).tolist()
    found = across(coupled, contexts)[0, 1]
    assert found.p_value <= 1e-6
    assert found.strata == 2
    assert "given" in found.witness
    stream, laws = draws[:, 0].tolist(), prompts.tolist()
    assert least(along(stream, (1, 2), laws)) > 1e-6


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


def test_the_same_seed_twice_must_agree():
    outputs = {seed: tuple(np.random.default_rng(seed).integers(5, size=8).tolist()) for seed in range(20)}
    assert reproducible(outputs, dict(outputs)) is None
    unseeded = outputs | {7: (0,) * 8}
    assert reproducible(outputs, unseeded) == (7, outputs[7], (0,) * 8)


def test_another_seed_must_differ():
    def output(seed):
        return tuple(drawn(np.random.default_rng(seed).random(6)).tolist())

    collision = float((LAW**2).sum()) ** 6
    clean = {seed: output(seed) for seed in range(2000)}
    assert seeds_differ(clean, collision).p_value > 1e-6
    ignored = dict.fromkeys(range(2000), output(0))
    assert seeds_differ(ignored, collision).p_value <= 1e-6
    truncated = {seed: output(seed // 2) if seed % 40 < 2 else output(seed) for seed in range(2000)}
    found = seeds_differ(truncated, collision)
    assert found.p_value <= 1e-6
    assert truncated[found.witness[0]] == truncated[found.witness[1]]


def test_clean_seeds_are_refuted_no_more_often_than_stated():
    generator, tries, alpha = np.random.default_rng(10), 1000, 0.05
    refuted = sum(
        seeds_differ(dict(enumerate(generator.integers(4, size=60).tolist())), 0.25).p_value <= alpha
        for _ in range(tries)
    )
    assert refuted <= most_by_chance(tries, alpha)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: independence([0, 1], [0]), "2 and 1 draws with 2 contexts"),
        (lambda: independence([], []), "pairs is 0"),
        (lambda: independence([0], [0], alpha=2.0), "alpha is 2.0"),
        (lambda: along([0, 1, 0], (2,)), "a stream of 3 draws, expected at least 4 for the lag 2"),
        (lambda: along([0, 1, 0], (0,)), "lag is 0"),
        (lambda: across([[0, 1], [0]]), r"rows of \[1, 2\] draws"),
        (lambda: across([[0], [0]]), "expected one length of at least 2"),
        (lambda: across([[0, 1]], [[0]]), "contexts of another shape"),
        (lambda: reproducible({0: 1}, {1: 1}), "expected the same seeds"),
        (lambda: seeds_differ({0: 1, 1: 2}, 1.5), "collision is 1.5"),
        (lambda: seeds_differ({0: 1}, 0.5), "seeds is 1, expected at least 2"),
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


def test_along_and_across_the_p_value_is_that_of_one_test_times_their_number():
    first, second = pairs([[16, 6], [6, 16]])
    alpha = 1e-2
    single = [independence(first, second, alpha=alpha / tests).p_value for tests in (1, 3)]
    assert 0 < single[1] < 1 / 3
    stream = [x for pair in zip(first, second, strict=True) for x in pair]
    assert along(stream, (1,), alpha=alpha)[1].p_value == single[0]
    assert along(stream, (1, 2, 3), alpha=alpha)[1].p_value == pytest.approx(3 * single[1])
    table = [[a, b, 0] for a, b in zip(first, second, strict=True)]
    assert across([row[:2] for row in table], alpha=alpha)[0, 1].p_value == single[0]
    assert across(table, alpha=alpha)[0, 1].p_value == pytest.approx(3 * single[1])


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_along_a_stream_no_draw_is_in_two_pairs(lag):
    n = 12 * lag
    assert along(np.random.default_rng(11).integers(2, size=n).tolist(), (lag,), alpha=0.1)[lag].pairs == n // 2


def test_the_e_value_and_the_random_tables_share_the_rate():
    """A hundredth is set aside for the e-value, so that it counts a hundredfold, and the rest is for the tables."""
    strong = pairs([[30, 0], [0, 30]])
    assert independence(*strong).p_value == pytest.approx(np.exp(-log_e_value(np.diag([30, 30]))) / E_VALUE_SHARE)
    # One table in 1,716 is as extreme: none of the 200 drawn.
    weak, alpha = pairs([[7, 0], [0, 7]]), 1e-2
    assert log_e_value(np.diag([7, 7])) < np.log(1 / (E_VALUE_SHARE * alpha))
    assert independence(*weak, alpha=alpha).p_value == pytest.approx(1 / 201 / (1 - E_VALUE_SHARE))


def test_two_seeds_that_agree_as_often_as_two_draws_do_are_no_evidence():
    assert seeds_differ({0: 1, 1: 1}, 0.25).p_value == pytest.approx(0.25)
    assert seeds_differ({0: 1, 1: 1, 2: 5, 3: 5}, 0.25).p_value == pytest.approx(1 / 16)
    assert seeds_differ({0: 1, 1: 1, 2: 5, 3: 6}, 0.25).p_value == pytest.approx(1 - 0.75**2)
    assert seeds_differ({0: 1, 1: 2}, 0.25).p_value == 1
