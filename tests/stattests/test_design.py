"""Detectable deviations are detected as often as stated, and assertions refute with their witness."""

import numpy as np
import pytest

from draftproof.stattests.design import (
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
from draftproof.tests.stattests.simulated_nights import spread


def long(case):
    """A case of a test that `make simulations` runs."""
    return pytest.param(*case, marks=pytest.mark.simulation)


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
    for alpha, beta, tries in ((1e-6, 1e-2, 1000), (1e-3, 5e-2, 100)):
        wrong = spread(law, min_detectable_goodness(n, cells, alpha, beta))
        caught = _refusals(generator.multinomial(n, wrong, tries), law, alpha)
        assert tries - caught <= most_by_chance(tries, beta)
        assert _refusals(generator.multinomial(n, law, tries), law, alpha) <= most_by_chance(tries, alpha)


@pytest.mark.parametrize(
    ("cells", "n", "m"), [(16, 400, 100), *map(long, ((81, 450, 450), (400, 20_000, 2000), (400, 2500, 2500)))]
)
def test_sizes_and_powers_of_homogeneity_are_as_stated(cells, n, m):
    even, generator, beta, tries = np.full(cells, 1 / cells), np.random.default_rng(n + cells), 0.02, 400
    limit = min_detectable_homogeneity(n, cells, m, 1e-6, beta)
    one, two = spread(even, limit * m / (n + m)), spread(even, -limit * n / (n + m))

    def refusals(first, second):
        pairs = zip(generator.multinomial(n, first, tries), generator.multinomial(m, second, tries), strict=True)
        return sum(homogeneity(a, b).p_value <= 1e-6 for a, b in pairs)

    assert tries - refusals(one, two) <= most_by_chance(tries, beta)
    assert refusals(even, even) == 0


def _refusals(draws, law, alpha):
    refused = 0
    for row in draws:
        try:
            assert_goodness(row, law, alpha)
        except Refuted:
            refused += 1
    return refused
