"""Detectable deviations are detected as often as stated, and assertions refute with their witness."""

import numpy as np
import pytest

from draftproof.stattests.design import (
    POOLED_BY_SAMPLE,
    NotShown,
    Refuted,
    assert_equivalence,
    assert_goodness,
    assert_homogeneity,
    assert_mean,
    assert_tokens_per_call,
    min_detectable_goodness,
    min_detectable_homogeneity,
)
from draftproof.stattests.two_sample import homogeneity
from draftproof.tests.stattests.enumerated import most_by_chance


def long(case):
    """A case of a test that `make simulations` runs."""
    return pytest.param(*case, marks=pytest.mark.simulation)


def spread(law, distance):
    """The deviation of that total variation that is hardest to see: every cell by the same share, half of them up."""
    sign = np.where(np.arange(len(law)) % 2, 1.0, -1.0)
    up = law[sign > 0].sum()
    return law * (1 + sign * distance / np.where(sign > 0, up, 1 - up))


def test_limits_fall_with_the_root_of_the_samples_and_are_never_above_one():
    assert min_detectable_goodness(40_000, 10) == pytest.approx(min_detectable_goodness(10_000, 10) / 2)
    assert min_detectable_goodness(3, 10) == 1.0
    assert min_detectable_goodness(100, 1) == 1.0
    one_sample = min_detectable_goodness(10_000, 10)
    assert min_detectable_homogeneity(10**9, 10, 10_000) == pytest.approx(one_sample * POOLED_BY_SAMPLE**0.5, rel=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: min_detectable_goodness(0, 4), "n is 0, expected at least 1"),
        (lambda: min_detectable_goodness(10, 4, alpha=1.0), "alpha is 1.0"),
        (lambda: min_detectable_homogeneity(10, 4, 0), "other is 0"),
        (lambda: assert_equivalence([1, 1], [0.5, 0.5], 0.0), "delta is 0.0"),
    ],
)
def test_wrong_use_is_an_error_of_one_line(call, message):
    with pytest.raises(ValueError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_every_assertion_refutes_with_its_witness():
    cases = [
        (lambda: assert_goodness({(0, 7): 1, (0, 0): 9}, {(0, 0): 1.0}), r"\(0, 7\) has probability 0 and was seen 1 "),
        (lambda: assert_goodness([900, 100], [0.5, 0.5]), "token 0 at position 0 was seen 900 of 1000"),
        (lambda: assert_homogeneity({"a": 900, "b": 100}, {"a": 500, "b": 500}), "'b' was seen 100 of 1000 and 500"),
        (lambda: assert_mean([900, 100], 0.3), "mean of 1000 draws is 0.1.*expected 0.3"),
        (lambda: assert_tokens_per_call([0, 10, 990], 2, 11 / 9, 4 / 3), "above the cap 1.33333"),
        (lambda: assert_tokens_per_call([3500, 0, 6500], 2, 11 / 9, 4 / 3), "above the optimum 1.22222"),
    ]
    for call, message in cases:
        with pytest.raises(Refuted, match=message) as raised:
            call()
        assert not isinstance(raised.value, NotShown)
        assert raised.value.result is not None


def test_what_is_not_shown_is_not_called_refuted():
    with pytest.raises(NotShown, match="may be up to"):
        assert_equivalence([50, 50], [0.5, 0.5], 0.01)
    assert assert_equivalence([500_000, 500_000], [0.5, 0.5], 0.01).upper < 0.01


def test_what_the_theory_allows_passes():
    assert assert_mean([300, 700], 0.7).mean == pytest.approx(0.7)
    found = assert_tokens_per_call([300, 300, 400], 2, 11 / 9, 4 / 3)
    assert not found.above_optimum
    slow = assert_tokens_per_call([9000, 500, 500], 2, 11 / 9, 4 / 3)
    assert slow.below_optimum


@pytest.mark.parametrize(
    ("cells", "n"), [(2, 1000), (16, 160), *map(long, ((16, 20_000), (81, 600), (400, 2000), (400, 20_000)))]
)
def test_sizes_and_powers_of_goodness_of_fit_are_as_stated(cells, n):
    law, generator = np.full(cells, 1 / cells), np.random.default_rng(n + cells)
    for alpha, beta, tries in ((1e-6, 1e-2, 3000), (1e-3, 5e-2, 100)):
        wrong = spread(law, min_detectable_goodness(n, cells, alpha, beta))
        caught = _refusals(generator.multinomial(n, wrong, tries), law, alpha)
        assert tries - caught <= most_by_chance(tries, beta)
        assert _refusals(generator.multinomial(n, law, tries), law, alpha) <= most_by_chance(tries, alpha)


@pytest.mark.parametrize(
    ("cells", "n", "m"), [(16, 400, 100), *map(long, ((81, 450, 450), (400, 20_000, 2000), (400, 2500, 2500)))]
)
def test_sizes_and_powers_of_homogeneity_are_as_stated(cells, n, m):
    even, generator, beta, tries = np.full(cells, 1 / cells), np.random.default_rng(n + cells), 0.02, 800
    limit = min_detectable_homogeneity(n, cells, m, 1e-6, beta)
    one, two = spread(even, limit * m / (n + m)), spread(even, -limit * n / (n + m))

    def refusals(first, second):
        pairs = zip(generator.multinomial(n, first, tries), generator.multinomial(m, second, tries), strict=True)
        return sum(homogeneity(a, b).p_value <= 1e-6 for a, b in pairs)

    assert tries - refusals(one, two) <= most_by_chance(tries, beta)
    assert refusals(even, even) == 0


@pytest.mark.simulation
def test_ten_thousand_clean_samples_raise_no_alarm():
    generator = np.random.default_rng(11)
    for cells in (3, 16, 64):
        law = generator.dirichlet(np.full(cells, 1.0))
        assert _refusals(generator.multinomial(20_000, law, 3400), law, 1e-6) == 0


def _refusals(draws, law, alpha):
    refused = 0
    for k, row in enumerate(draws):
        try:
            assert_goodness(row, law, alpha, seed=k)
        except Refuted:
            refused += 1
    return refused
