"""The closed forms derived from the code: every derivation goes through, and the same check refuses something wrong."""

import math
from fractions import Fraction as F
from itertools import pairwise

import pytest
import sympy

from draftproof.proofs import closed_forms
from draftproof.proofs.symbolic.derivations import DERIVATIONS, stopping_rule_holds
from draftproof.proofs.symbolic.generic_rows import UndecidedError, cancelled, cell, positive, positives
from draftproof.tests.proofs.symbolic.mutants import OF_DERIVATIONS

pytestmark = pytest.mark.symbolic


@pytest.mark.parametrize("derivation", DERIVATIONS, ids=lambda d: d.what)
def test_the_same_check_of_something_wrong_does_not(derivation):
    assert OF_DERIVATIONS[derivation.what]() is False


@pytest.mark.parametrize("more", [-1, 1])
def test_the_best_gamma_of_the_code_is_compared(more):
    assert stopping_rule_holds()
    assert not stopping_rule_holds(best_gamma=lambda alpha, cost: closed_forms.best_gamma(alpha, cost) + more)


# Numbers ordered by proof


def test_a_comparison_is_answered_where_its_sign_shows():
    x, y = positives(["x", "y"])
    assert x + y > x
    assert x / (x + y) < 1
    assert 0 <= x / (x + y) <= 1
    assert abs(x - (x + y)) == y
    assert positive(sympy.Symbol("x") / (1 + sympy.Symbol("x"))) < 1


def test_fractions_are_reduced_as_sympy_reduces_them():
    x, y = (number.numer for number in positives(["x", "y"]))
    for numer, denom in ((6 * x * y - 4 * x, 2 * y - 4 * y**2), (x**2 - y**2, y - x), (x, y), (0 * x, -y), (-x, x)):
        for common in (x.ring.one, -3 * x + y, x * y - 2):
            assert cancelled(numer * common, denom * common) == numer.cancel(denom)


def test_a_comparison_is_refused_where_the_answer_depends_on_the_values():
    x, y = positives(["x", "y"])
    for ask in (lambda: x < y, lambda: x <= y, lambda: x > 1, lambda: abs(x - y), lambda: 1 / (x - y) > 0):
        with pytest.raises(UndecidedError, match="does not show"):
            ask()


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
    ((F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(1, 4), F(11, 20))),
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
