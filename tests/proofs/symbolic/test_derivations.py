"""The closed forms derived from the code: every derivation goes through, and the same check refuses something wrong."""

import math
from fractions import Fraction as F
from itertools import pairwise, product

import pytest
import sympy
from sympy import QQ
from sympy.polys.fields import field

from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.proofs.symbolic.derivations import (
    ALPHA,
    COST,
    DERIVATIONS,
    GAMMA,
    is_next_to_the_best,
    is_stationary,
    rows_of_an_iteration,
    stationary_gamma,
    tokens_of_every_gamma,
)
from draftproof.proofs.symbolic.generic_rows import UndecidedError, cell, cells, positive, positives
from draftproof.tests.proofs.symbolic.mutants import OF_DERIVATIONS, residual_of_the_lenient_draft
from draftproof.verifiers.lenient_token_verification import lenient_token_verification
from draftproof.verifiers.registry import Reference, reference

pytestmark = pytest.mark.symbolic


@pytest.mark.parametrize("derivation", DERIVATIONS, ids=lambda d: d.name)
def test_the_same_check_of_something_wrong_does_not(derivation):
    assert OF_DERIVATIONS[derivation.name]() is False


# Numbers ordered by proof


def test_a_comparison_is_answered_where_its_sign_shows():
    x, y = positives(["x", "y"])
    assert x + y > x
    assert x / (x + y) < 1
    assert 0 <= x / (x + y) <= 1
    assert abs(x - (x + y)) == y
    assert positive(sympy.Symbol("x") / (1 + sympy.Symbol("x"))) < 1


def test_a_comparison_is_refused_where_the_answer_depends_on_the_values():
    x, y = positives(["x", "y"])
    for ask in (lambda: x < y, lambda: x <= y, lambda: x > 1, lambda: abs(x - y), lambda: 1 / (x - y) > 0):
        with pytest.raises(UndecidedError, match="does not show"):
            ask()


def test_the_order_is_not_that_of_sympy():
    """sympy answers every comparison of fractions, this one wrongly for every x and y."""
    _, x, y = field("x, y", QQ)
    assert not 1 / (x + y) < 1 / x
    x, y = positives(["x", "y"])
    assert 1 / (x + y) < 1 / x


# Cells


def meeting(target, draft, leniences):
    """The cell of a pair of rows without ties and zeros, and the generators' values at which it is that pair."""
    bounds = [F(1), *(1 / lenience for lenience in leniences)]
    places, a, c = [], [], []
    for p, q in zip(target, draft):
        place = sum(q > bound * p for bound in bounds)
        places.append(place)
        if place == 0:
            values = q, p - q
        elif place < len(bounds):
            share = (q - bounds[place - 1] * p) / (bounds[place] - bounds[place - 1])
            values = p - share, share
        else:
            values = p, q - bounds[-1] * p
        a.append(values[0])
        c.append(values[1])
    return cell(tuple(places), len(leniences)), [*a, *c, *(v - u for u, v in pairwise(bounds))]


def at(number, values):
    """A number on symbols, at values of its generators."""
    top, bottom = (
        sum(int(k) * math.prod(value**power for value, power in zip(values, powers)) for powers, k in part.items())
        for part in (number.numer, number.denom)
    )
    return F(top) / bottom


PAIRS = [
    ((F(1, 3), F(2, 3)), (F(2, 3), F(1, 3))),
    ((F(1, 10), F(9, 10)), (F(1, 8), F(7, 8))),
    ((F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(1, 4), F(11, 20))),
    ((F(1, 100), F(1, 3), F(197, 300)), (F(1, 2), F(3, 8), F(1, 8))),
    ((F(1, 7), F(2, 7), F(3, 7), F(1, 7)), (F(3, 10), F(3, 10), F(1, 10), F(3, 10))),
]


@pytest.mark.parametrize(("target", "draft"), PAIRS)
@pytest.mark.parametrize("leniences", [(), (F(3, 4),), (F(9, 10), F(1, 3))])
def test_every_pair_of_rows_is_met_by_a_cell(target, draft, leniences):
    here, values = meeting(target, draft, leniences)
    assert all(value > 0 for value in values)
    assert tuple(at(p, values) for p in here.target) == target
    assert tuple(at(q, values) for q in here.draft) == draft
    assert tuple(at(lenience, values) for lenience in here.leniences) == leniences


def test_the_cells_are_all_there_is_up_to_the_order_of_tokens():
    """Places of a pair of rows that add up alike: not all below 1, not all above."""
    for vocabulary, leniences in ((2, 0), (3, 1), (3, 2)):
        orders = product(range(leniences + 2), repeat=vocabulary)
        patterns = {tuple(sorted(places)) for places in orders if 0 in places and any(places)}
        assert len(cells(vocabulary, leniences)) == len(patterns)


@pytest.mark.parametrize(("target", "draft"), PAIRS[:4])
@pytest.mark.parametrize("lenient", [lenient_token_verification, residual_of_the_lenient_draft])
def test_the_law_on_symbols_is_the_exact_law_at_every_value(target, draft, lenient):
    lenience = F(3, 5)
    here, values = meeting(target, draft, (lenience,))
    numbers = [ContextFree(tuple(QQ(p.numerator, p.denominator) for p in row)) for row in (target, draft)]
    verifier = Reference("lenient", lenient(QQ(3, 5)), "")
    exact = output_law(Problem(len(target), 2, *numbers), verifier)
    on_symbols = here.law(2, lenient(here.leniences[0]))
    assert {output: str(at(p, values)) for output, p in on_symbols.items()} == {x: str(p) for x, p in exact.items()}


# The pieces of the derivations


def test_the_recurrence_has_the_papers_values():
    assert tokens_of_every_gamma().subs({ALPHA: sympy.Rational(2, 3), GAMMA: 2}) == sympy.Rational(19, 9)
    assert tokens_of_every_gamma().subs(GAMMA, 0).equals(1)


def test_an_iteration_asks_gamma_rows_of_the_draft_and_then_all_of_the_target():
    assert rows_of_an_iteration(3) == ["draft"] * 3 + ["target"] * 4


def test_the_best_real_gamma_is_stationary_and_another_is_not():
    best = stationary_gamma()
    assert is_stationary(best)
    assert not is_stationary(best + 1)
    assert not is_stationary(best * 2)


def test_sympys_own_branch_is_stationary_at_a_negative_time():
    """Why the branch is chosen, and that the check with numbers tells the two apart."""
    other = stationary_gamma(0)
    assert is_stationary(other)
    assert not is_next_to_the_best(other)
    time = (1 + COST * other).subs({ALPHA: sympy.Rational(7, 10), COST: sympy.Rational(1, 10)})
    assert time.evalf() < 0


def test_the_verifier_on_symbols_is_the_one_that_is_registered():
    """A comparison that does not show stops the run: block verification's p_i M_b / M_s against 1 does not."""
    here = cell((0, 1))
    assert here.law(2, reference("token").verify)
    with pytest.raises(UndecidedError):
        here.law(2, reference("block").verify)
