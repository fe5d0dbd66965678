"""The bound of a problem holds what a search for the worst rows finds in float32 and bfloat16, and is met by it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from draftproof.corpus.site import rounding_search as search
from draftproof.models.law import Table
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.proofs.field import QQ, rational
from draftproof.proofs.rounding import token_and_block
from draftproof.proofs.rounding.token_and_block import growth, problem_bound

pytestmark = pytest.mark.exact
EPSILON = {"float32": 2.0**-23, "bfloat16": 2.0**-7}
SIZES = {"float32": 400, "bfloat16": 30}
"""Tokens at which what sums are off is most of the bound."""


def half_steps(dtype, first, up, size):
    """Entries of which each in order adds half a step of the sum, a little more or less: what rounds the most."""
    step = math.ldexp(first, int(math.log2(EPSILON[dtype])))
    nudge = 4 * EPSILON[dtype] * (1 if up else -1)
    return np.array([first * (1 + EPSILON[dtype]), *[step / 2 * (1 + nudge)] * (size - 1)])


def worst_rows(dtype):
    """Rows along a sure draft of token 0: half of what is left goes on, and the other half rounds the most."""
    for up in (True, False):
        survival, rows = 0.5, [np.array([0.5, 0.5] + [0.0] * (SIZES[dtype] - 1))]
        for power in (-3, -4):
            others = half_steps(dtype, 2.0**power, up, SIZES[dtype]) / survival
            rows.append(np.array([1 - others.sum(), *others]))
            survival *= rows[-1][0]
        yield [as_numbers(dtype, row) for row in rows]


def random_rows(dtype, tries):
    draw = np.random.default_rng(3)
    for _ in range(tries):
        spread = draw.choice([0.05, 0.5, 5.0])
        yield [as_numbers(dtype, draw.dirichlet([spread * 9, *[spread] * 8])) for _ in range(3)]


def as_numbers(dtype, row):
    if dtype == "float32":
        return row.astype(np.float32)
    return pytest.importorskip("torch").tensor(row).bfloat16()


def one_after_the_other(row):
    total = row[0]
    for entry in row[1:]:
        total = total + entry
    return total


def exact_row(row):
    numbers = [Fraction(float(p)) for p in row]
    return tuple(rational(p / sum(numbers)) for p in numbers)


def found_and_bound(dtype, rows):
    """The deviation of block verification in this arithmetic, and the bound of the problem with these rows."""
    exact, gamma = [exact_row(row) for row in rows], len(rows)
    sure = (QQ(1), *[QQ(0)] * (len(exact[0]) - 1))
    target, draft = (Table({(0,) * i: row for i, row in enumerate(of)}) for of in ([*exact, sure], [sure] * gamma))
    problem = Problem(len(sure), gamma, target, draft)
    off = max(abs(float(sum(Fraction(float(p)) for p in row)) - 1) for row in rows)
    laws = coins_of(exact, sum, as_float), coins_of(rows, one_after_the_other, float)
    lengths = [search.kept_lengths(coins) for coins in laws]
    return float(np.abs(lengths[1] - lengths[0]).sum() / 2), problem_bound(problem, EPSILON[dtype], 0.0, off)


def coins_of(rows, add, number):
    """The coins along the draft, as the reference computes them, in whatever numbers the rows are."""
    survival = one = rows[0][0] / rows[0][0]
    coins = []
    for row in rows:
        if row is not rows[0]:
            total = add([survival * entry for entry in row[1:]])
            coins.append(total / ((total + one) - survival))
        survival = survival * row[0]
    return [min(number(coin), 1.0) for coin in (*coins, survival)]


@pytest.mark.parametrize("dtype", EPSILON)
def test_no_rows_that_are_drawn_move_block_verification_by_more_than_the_bound_of_their_problem(dtype):
    pairs = [found_and_bound(dtype, rows) for rows in random_rows(dtype, 60)]
    assert all(found <= bound for found, bound in pairs) and max(found for found, _ in pairs) > EPSILON[dtype] / 8


@pytest.mark.parametrize("dtype", EPSILON)
def test_the_rows_that_round_the_most_exceed_a_quarter_of_the_bound_and_no_more_than_the_bound(dtype):
    assert all(bound / 4 < found <= bound for found, bound in (found_and_bound(dtype, x) for x in worst_rows(dtype)))


def test_a_bound_that_grants_too_little_to_sums_is_exceeded(monkeypatch):
    monkeypatch.setattr(token_and_block, "growth", lambda unit, n: growth(unit, n) / (8 if n > 10 else 1))
    assert any(found > bound for found, bound in (found_and_bound("float32", x) for x in worst_rows("float32")))
