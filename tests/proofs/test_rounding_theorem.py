"""The bounds of Rounding.v and Lattice.v as numbers: never exceeded by the reference in floating point, nor empty."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sympy import QQ

from draftproof.models.battery import drawn, toy
from draftproof.models.law import Table
from draftproof.models.problem import problem_from
from draftproof.models.rationals import as_float
from draftproof.proofs.block_laws import enumerated_law
from draftproof.proofs.field import in_field
from draftproof.proofs.laws import output_law
from draftproof.proofs.rounding_rule import EPSILON, rounding_allowed
from draftproof.proofs.rounding_theorem import (
    IN_ORDER,
    PAIRWISE,
    lattice_bound,
    lookup_bound,
    rounding_bound,
    sum_depth,
    support_leak,
)  # fmt: skip
from draftproof.verifiers.block_verification import block_verification
from draftproof.verifiers.draft_block import Block
from draftproof.verifiers.registry import Reference, reference
from draftproof.verifiers.token_verification import token_verification

pytestmark = pytest.mark.exact


def dyadic(problem, parts=256):
    """The same problem with rows of whole multiples of 1 / parts: every type of number holds them, and their sum is 1."""

    def table(model, name, longest):
        rows = {}
        for length in range(longest + 1):
            for x in problem.prefixes(length):
                counts = [int(p * parts) for p in model.row(x)]
                counts[counts.index(max(counts))] += parts - sum(counts)
                rows[x] = tuple(QQ(k, parts) for k in counts)
        return Table(rows, name)

    tables = {"target": table(problem.target, "target", problem.gamma),
              "draft": table(problem.draft, "draft", problem.gamma - 1)}  # fmt: skip
    return replace(problem, **tables)


class Rounded:
    """A chance that takes floats for the rationals they are; a coin above 1 always falls."""

    def __init__(self, chance):
        self._chance = chance

    def flip(self, probability):
        return self._chance.flip(min(max(self._exact(probability), QQ(0)), QQ(1)))

    def draw(self, weights):
        return self._chance.draw([self._exact(w) for w in weights])

    @staticmethod
    def _exact(number):
        return QQ(*float(number).as_integer_ratio())


def floating(dtype, changed=lambda row: row):
    def verify(block, chance):
        rows = [[[dtype(float(p)) for p in row] for row in rows] for rows in (block.target, block.draft)]
        return block_verification(Block([changed(row) for row in rows[0]], rows[1], block.tokens), Rounded(chance))

    return Reference("block in floating point", verify, "computed")


class OnLattice:
    """A chance whose coins fall if k / N < h (or <=), and that looks the last token up in the running sum."""

    def __init__(self, chance, points, closed=False):
        self._chance, self._points, self._closed = chance, points, closed

    def flip(self, h):
        count = math.floor(h * self._points) + 1 if self._closed else math.ceil(h * self._points)
        return self._chance.flip(QQ(min(count, self._points), self._points))

    def draw(self, weights):
        total, sums = sum(weights), [QQ(0)]
        if total == 0:  # a coin of probability 0 fell; exactly, nothing is drawn here
            return 0
        for w in weights:
            sums.append(sums[-1] + w / total)
        edges = [math.ceil(s * self._points) for s in sums]
        return self._chance.draw([QQ(b - a) for a, b in pairwise(edges)])


def on_lattice(verify, points, closed=False):
    return Reference("on a lattice", lambda block, chance: verify(block, OnLattice(chance, points, closed)), "computed")


def total_variation(problem, verifier, of="block"):
    law, exact = enumerated_law(problem, verifier), output_law(problem, reference(of))
    return as_float(sum(abs(law.get(o, 0) - exact.get(o, 0)) for o in {*law, *exact}) / 2)


PROBLEMS = [
    dyadic(in_field(p))
    for p in (drawn(3, 2, "generic"), drawn(2, 4, "generic"), drawn(3, 3, "generic"), drawn(4, 2, "generic"))
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize(("dtype", "epsilon"), [(np.float32, 2.0**-23), (np.float16, 2.0**-10)])
def test_the_reference_in_floating_point_stays_within_the_bound(problem, dtype, epsilon):
    bound = rounding_bound(problem.gamma, problem.vocabulary, epsilon, lattice=0)
    observed = total_variation(problem, floating(dtype))
    assert 0 < observed <= bound
    assert bound < 400 * epsilon


def test_half_precision_breaks_the_bound_of_single_precision():
    problem = PROBLEMS[0]
    bound = rounding_bound(problem.gamma, problem.vocabulary, 2.0**-23, lattice=0)
    assert total_variation(problem, floating(np.float16)) > bound


def test_a_small_bias_breaks_the_bound():
    problem = PROBLEMS[0]
    biased = floating(np.float32, lambda row: [row[0] * np.float32(1.001), *row[1:]])
    assert total_variation(problem, biased) > rounding_bound(problem.gamma, problem.vocabulary, 2.0**-23, lattice=0)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("closed", [False, True], ids=["<", "<="])
def test_uniforms_on_a_lattice_stay_within_the_bound(problem, closed):
    observed = total_variation(problem, on_lattice(block_verification, 1000, closed))
    assert 0 < observed <= lattice_bound(problem.gamma, problem.vocabulary, 1 / 1000)
    coarse = total_variation(problem, on_lattice(block_verification, 16, closed))
    assert coarse > lattice_bound(problem.gamma, problem.vocabulary, 1 / 1000)


@pytest.mark.parametrize("points", [16, 1024])
def test_the_leak_is_the_formula_exactly(points):
    rows = {"vocabulary": 3, "gamma": 2, "target": ["1/2", "1/2", "0"], "draft": ["1/4", "1/4", "1/2"]}
    problem = in_field(problem_from(rows))
    for closed in (True, False):
        law = enumerated_law(problem, on_lattice(token_verification, points, closed))
        begins = sum(p for o, p in law.items() if o[0] == 2)
        assert begins == (support_leak(QQ(1, 2), QQ(1, points)) if closed else 0)


def test_depths_and_first_order():
    assert (sum_depth(5, IN_ORDER), sum_depth(5, PAIRWISE), sum_depth(2**18, PAIRWISE)) == (4, 3, 18)
    u = 2.0**-40
    for gamma, vocabulary in ((1, 2), (3, 4), (5, 5)):
        first = 4 * gamma**2 * u + (2 * (vocabulary - 1) + 9) * (gamma - 1) * u
        assert rounding_bound(gamma, vocabulary, 2 * u, lattice=0) == pytest.approx(first, rel=1e-6)
    assert lookup_bound(10, 1e-3) == pytest.approx(5e-3)


def test_the_rule_of_audits_covers_the_theorem_in_float64_and_is_narrower_in_float32():
    """The theorem is a worst case."""
    for gamma, vocabulary in ((1, 5), (2, 4), (3, 3), (5, 2), (6, 2)):
        for dtype in ("float64", "float32"):
            bound = rounding_bound(gamma, vocabulary, EPSILON[dtype], lattice=EPSILON[dtype] / 2)
            assert (bound <= rounding_allowed(gamma, dtype)) == (dtype == "float64")


def test_the_example_in_floats():
    assert total_variation(in_field(toy(2)), on_lattice(block_verification, 9)) <= lattice_bound(2, 2, 1 / 9)
