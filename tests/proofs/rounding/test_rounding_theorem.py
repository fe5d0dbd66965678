"""The bounds of Rounding.v and Lattice.v as numbers: never exceeded by the reference in floating point, nor empty."""

import math
from itertools import pairwise

import numpy as np
import pytest
from sympy import QQ

from draftproof.models.battery import drawn, toy
from draftproof.models.problem import problem_from
from draftproof.models.rationals import as_float
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.block_laws import enumerated_law
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.proofs.rounding.rule import EPSILON, rounding_allowed
from draftproof.proofs.rounding.theorem import (
    IN_ORDER,
    PAIRWISE,
    lookup_bound,
    problem_bound,
    rounding_bound,
    running_sum_bound,
    sum_depth,
    support_leak,
)  # fmt: skip
from draftproof.tests.proofs.rounding.in_floats import biased, block_distance, distance, dyadic
from draftproof.verifiers.block_verification import block_verification
from draftproof.verifiers.registry import Reference, reference
from draftproof.verifiers.token_verification import token_verification

pytestmark = pytest.mark.exact


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


PROBLEMS = [
    dyadic(in_field(p))
    for p in (drawn(3, 2, "generic"), drawn(2, 4, "generic"), drawn(3, 3, "generic"), drawn(4, 2, "generic"))
]


def lattice_bound(gamma: int, vocabulary: int, lattice: float) -> float:
    """gamma / N + V / (2 N): exact numbers, coins decided and the last token looked up by uniforms k / N.

    Source: Lattice.v, ``uniforms_on_a_lattice``.
    """
    return gamma * lattice + lookup_bound(vocabulary, lattice)


def test_what_the_bound_of_a_problem_grows_with():
    """Rows that are off, and coarser uniforms; where no draft is kept only the last row's two operations are left."""
    problem, u = PROBLEMS[0], 2.0**-24
    plain = problem_bound(problem, 2 * u, lattice=0)
    assert problem_bound(problem, 2 * u, lattice=0, off=u) > plain + u / 2
    assert problem_bound(problem, 2 * u, lattice=u) == pytest.approx(plain + expected_coins(problem) * u, rel=1e-5)
    assert problem_bound(in_field(drawn(3, 1, "disjoint")), 2 * u, lattice=0) == pytest.approx(2 * u, rel=1e-6)


def exact_bound(problem, u, o, eta):
    """The recursion of ProblemRounding.v, definition by definition, over the rationals."""

    def both(e, f):
        return (1 + e) * (1 + f) - 1

    def near(b, s, p, weight_error):
        if (1 + weight_error) * p * b <= (1 - o) * s:
            return QQ(0)
        return (1 + u) * (weight_error * p * b + o * s) + u * max(p * b - s, 0)

    def cost(x, p, k):
        target = problem.target.row(x)
        if len(x) == problem.gamma:
            return k * p + eta + p * o
        rows = list(zip(target, problem.draft.row(x)))
        weights = sum(near(b, s, p, both(both(k, o), u)) for b, s in rows)
        share = sum(min(p * b, s) for b, s in rows)
        excess, normaliser = p - share, 1 - share
        of_sum = weights + ((1 + u) ** (problem.vocabulary - 1) - 1) * (excess + weights)
        shifted = of_sum + k * p + u * (excess + of_sum + 1)
        off = shifted + u * (normaliser + shifted)
        most = min((excess + of_sum) / (normaliser - off), QQ(1)) if off < normaliser else QQ(1)
        total = weights + ((most * off + of_sum + u * most * normaliser + normaliser * eta) if x else 0)
        survival_error = both(both(k, both(both(o, o / (1 - o)), u)), u)
        for y, (b, s) in enumerate(rows):
            if s:
                cut = (1 - survival_error) * p * b / s >= 1
                total += s * cost((*x, y), min(p * b / s, QQ(1)), QQ(0) if cut else survival_error)
        return total

    return cost((), QQ(1), QQ(0))


@pytest.mark.parametrize("kind", ["generic", "mixed", "equal", "peaked"])
@pytest.mark.parametrize("off", [QQ(0), QQ(1, 2**20)])
def test_the_bound_is_the_recursion_of_the_coq_theorem_rounded_up(kind, off):
    problem, u = in_field(drawn(3, 2, kind)), QQ(1, 2**24)
    exact = as_float(exact_bound(problem, u, off, u))
    assert exact <= problem_bound(problem, 2.0**-23, 2.0**-24, as_float(off)) <= exact * (1 + 1e-6)


def expected_coins(problem):
    """The sum over prefixes of M_s(x) times that no longer prefix is kept: 1 - share, and 1 at the end."""
    total, stack = 0, [((), QQ(1), QQ(1))]
    while stack:
        prefix, drafted, survived = stack.pop()
        if len(prefix) == problem.gamma:
            total += drafted
            continue
        rows = list(zip(problem.target.row(prefix), problem.draft.row(prefix)))
        if prefix:
            total += drafted * (1 - sum(min(survived * b, s) for b, s in rows))
        stack += [((*prefix, y), drafted * s, min(survived * b / s, QQ(1))) for y, (b, s) in enumerate(rows) if s]
    return as_float(total)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize(("dtype", "epsilon"), [(np.float32, 2.0**-23), (np.float16, 2.0**-10)])
def test_the_reference_stays_within_the_bound_of_all_problems_which_is_several_times_that_of_its_own(
    problem, dtype, epsilon
):
    """It breaks the bound of a finer type, and a small bias breaks its own."""
    bound = rounding_bound(problem.gamma, problem.vocabulary, epsilon, lattice=0)
    assert 0 < block_distance(problem, "block", dtype) <= bound < 400 * epsilon
    assert 3 * problem_bound(problem, epsilon, lattice=0) < bound
    if dtype is np.float16:
        assert block_distance(problem, "block", dtype) > rounding_bound(
            problem.gamma, problem.vocabulary, 2.0**-23, lattice=0
        )
    else:
        assert block_distance(problem, "block", dtype, biased) > bound


def off_exactly(problem, verifier):
    return distance(enumerated_law(problem, verifier), output_law(problem, reference("block")))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("closed", [False, True], ids=["<", "<="])
def test_uniforms_on_a_lattice_stay_within_the_bound(problem, closed):
    observed = off_exactly(problem, on_lattice(block_verification, 1000, closed))
    assert 0 < observed <= lattice_bound(problem.gamma, problem.vocabulary, 1 / 1000)
    coarse = off_exactly(problem, on_lattice(block_verification, 16, closed))
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
    assert running_sum_bound(10, u, 1e-3) == pytest.approx(18 * u + 5e-3)


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), ("float16", 53), ("float32", 24)])
def test_a_look_up_in_a_computed_running_sum_stays_within_the_bound_of_all_rows(dtype, bits):
    """Rows of 3, drawn; thresholds divided in the same precision. Without the sums' rounding it would not be."""
    rng, worst = np.random.default_rng(15), 0.0
    unit = float(np.finfo(dtype).eps) / 2
    for row in rng.dirichlet(np.ones(3), 400).astype(dtype):
        sums = np.cumsum(row, dtype=dtype)
        edges = (sums / sums[-1]).astype(float)
        law = np.diff(np.ceil(edges * 2.0**bits), prepend=0) * 2.0**-bits
        worst = max(worst, np.abs(law - row / row.sum(dtype=float)).sum() / 2)
    assert lookup_bound(3, 2.0**-bits) * 0.3 < worst <= running_sum_bound(3, unit, 2.0**-bits)
    assert bits < 53 or worst > lookup_bound(3, 2.0**-bits)


def test_the_rule_of_audits_covers_the_theorem_in_float64_and_is_narrower_in_float32():
    """The theorem is a worst case."""
    for gamma, vocabulary in ((1, 5), (2, 4), (3, 3), (5, 2), (6, 2)):
        for dtype in ("float64", "float32"):
            bound = rounding_bound(gamma, vocabulary, EPSILON[dtype], lattice=EPSILON[dtype] / 2)
            assert (bound <= rounding_allowed(gamma, dtype)) == (dtype == "float64")


def test_the_example_in_floats():
    assert off_exactly(in_field(toy(2)), on_lattice(block_verification, 9)) <= lattice_bound(2, 2, 1 / 9)
