"""Rounding is excused by the arithmetic that was followed, entry by entry, sums in the order that was seen."""

import itertools
import math
import random
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.wide import wide
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.rounding.recursive_rejection import tree_bound
from draftproof.proofs.rounding.rounding_allowed import EPSILON, MOST, precision, wide_explained
from draftproof.proofs.rounding.token_and_block import CASCADE, IN_ORDER, PAIRWISE, sum_error
from draftproof.proofs.rounding.wide import running_sum_cost, running_sum_entries
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.scope import _if_it_computes

pytestmark = pytest.mark.exact
SUBJECTS = "draftproof.tests.subjects.rounding"
FLOAT32 = {"followed": ["float32"], "unseen": [], "in_trees": True, "in_order": False}


@pytest.fixture(scope="module")
def law_of():
    """The law of a subject of ``subjects.rounding``; one child for each dtype and kind of array."""
    with ExitStack() as stack:

        @cache
        def child(dtype, array):
            return stack.enter_context(Sandbox("", dtype=dtype, array=array))

        def law(name, dtype, array, problem):
            sandbox = child(dtype, array)
            sandbox.load(f"{SUBJECTS}:{name}", [toy(1)])
            return (measured if hasattr(problem, "target") else measured_wide)(problem, dtype, sandbox.law(problem))

        yield law


def test_bfloat16_rows_computed_in_float32_and_accepted_two_percent_too_often_are_refuted(law_of):
    problem = drawn(5, 1, "one-hot-draft", 3)
    right, wrong = (law_of(name, "bfloat16", "torch", problem) for name in ("in_float32", "too_willing_in_float32"))
    assert right.computed_in == wrong.computed_in == "float32"
    assert lossless(right).holds and lossless(right).detail.arithmetic == "float32"
    found = lossless(wrong)
    assert found.refuted and 0.004 < found.total_variation < MOST
    assert lossless(law_of("in_bfloat16", "bfloat16", "torch", problem)).detail.arithmetic is None


@pytest.mark.parametrize(
    ("name", "verdict"), [pytest.param("right", "holds", marks=pytest.mark.long), ("without_the_last", "refuted")]
)
def test_lost_ids_are_not_excused_by_what_all_look_ups_together_may_be_off(law_of, name, verdict):
    law = law_of(name, "float32", "numpy", wide(151_936, 1))
    found = lossless(law)
    assert found.verdict == verdict and found.total_variation < law.tolerance


def test_what_only_unseen_arithmetic_excuses_holds_with_a_condition(law_of):
    problem = drawn(5, 1, "one-hot-draft", 3)
    law = law_of("too_willing_in_lists", "bfloat16", "list", problem)
    found = lossless(law)
    assert found.holds and law.certain < found.total_variation
    assert found.law.if_it_computes_in == "bfloat16" and _if_it_computes([found]) == ", if it computes in bfloat16"
    right = lossless(law_of("right_in_lists", "bfloat16", "list", problem))
    assert right.holds and right.law.if_it_computes_in is None and _if_it_computes([right]) == ""


@pytest.mark.parametrize(
    ("rows", "arithmetic", "judged", "certain"),
    [
        ("bfloat16", FLOAT32, "float32", "float32"),
        ("bfloat16", FLOAT32 | {"followed": ["bfloat16", "float32"]}, "bfloat16", "bfloat16"),
        ("bfloat16", FLOAT32 | {"unseen": ["bfloat16"]}, "bfloat16", "float32"),
        ("float32", FLOAT32 | {"followed": ["bfloat16"]}, "float32", "float32"),
        ("float16", None, "float16", "float64"),
        ("float64", FLOAT32, "float64", "float64"),
    ],
)
def test_the_type_that_judges_is_the_coarsest_used_and_never_coarser_than_the_rows(rows, arithmetic, judged, certain):
    assert precision(rows, arithmetic)[:2] == (judged, certain)


def test_the_order_of_sums_is_the_longest_that_was_not_excluded():
    assert precision("float32", FLOAT32)[2:] == (CASCADE, PAIRWISE)
    assert precision("float32", FLOAT32 | {"unseen": ["float32"]})[2:] == (IN_ORDER, PAIRWISE)
    assert precision("float32", FLOAT32 | {"in_trees": False, "in_order": True})[2:] == (IN_ORDER, IN_ORDER)
    assert precision("float32")[2:] == (IN_ORDER, IN_ORDER)


def test_a_sum_whose_growth_is_one_or_more_has_no_bound():
    unit = EPSILON["bfloat16"] / 2
    assert 0 < sum_error(unit, 177) < sum_error(unit, 500) == math.inf
    assert next(v for v in range(2, 400) if not math.isfinite(sum_error(unit, v - 1))) == 179
    rows = {(): np.full(200, 1 / 200), (0,): np.full(200, 1 / 200)}
    assert wide_explained(rows, {(): rows[()]}, "bfloat16", 0.0, IN_ORDER, IN_ORDER) == math.inf
    assert tree_bound(replace(toy(1), vocabulary=179), 2 * unit, unit) == math.inf


def rounded(x, digits):
    """To the nearest number of so many binary digits, exactly."""
    if x == 0:
        return x
    exponent = math.floor(math.log2(x)) - digits + 1
    return round(x / Fraction(2) ** exponent) * Fraction(2) ** exponent


@pytest.mark.parametrize("seed", range(12))
def test_the_cost_of_a_running_sum_is_at_least_the_theorem_and_what_happens(seed):
    """``running_sum_near`` and ``running_sum_tails`` over rationals, on sums and thresholds rounded to few digits."""
    draw, digits = random.Random(seed), 5 + seed % 3
    unit, points, n = Fraction(1, 2**digits), 2 ** (digits + 2), 3 + seed
    w = [rounded(Fraction(draw.randrange(1, 1000), 1000 ** draw.choice((1, 2))), digits) for _ in range(n)]
    total, sums = sum(w), [Fraction(0)]
    for x in w:
        sums.append(rounded(sums[-1] + x, digits))
    cuts = [*(rounded(t / sums[-1], digits) for t in sums[:-1]), Fraction(1)]
    off = [min(unit * (t + x), t, x) for t, x in zip(sums, w)]
    assert all(abs(b - a - x) <= most for a, b, x, most in zip(sums, sums[1:], w, off))
    lost, thresholds = sum(off) / total, [unit * t / sums[-1] for t in sums[:-1]] + [Fraction(0)]
    near = lost + sum(thresholds) + Fraction(n, 2 * points)
    tails = lost + sum(
        min(2 * x / sums[-1], thresholds[k] + thresholds[k + 1] + Fraction(1, points)) for k, x in enumerate(w)
    )
    taken = [Fraction(math.ceil(b * points) - math.ceil(a * points), points) for a, b in itertools.pairwise(cuts)]
    right = [x / total for x in w]
    shares = [(b - a) / sums[-1] for a, b in itertools.pairwise(sums)]
    happens = sum(abs(a - b) for a, b in zip(taken, right)) / 2
    assert happens <= min(near, tails)
    had = np.array([float(max(pair)) for pair in zip(right, shares)])
    for masses in (right, shares):
        given = np.array([*map(float, masses)]), had, float(unit), 1 / points
        assert float(min(near, tails)) <= running_sum_cost(*given)
        entries = running_sum_entries(*given)
        assert all(abs(float(a - b)) <= most for a, b, most in zip(taken, right, entries, strict=True))
