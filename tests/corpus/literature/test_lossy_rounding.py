"""Lossy rules and the stream in floating point are as near their exact laws as their theorems say."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from draftproof.corpus.literature.lossy_rounding import LOSSY, OF_TREES, lossy_bound
from draftproof.corpus.literature.stream_rounding import stream_bound
from draftproof.models.battery import drawn, toy
from draftproof.models.law import Table
from draftproof.models.tree_battery import drawing
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.rounding.rounding_allowed import EPSILON
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.proofs.rounding.in_floats import (
    EightBits,
    TwelveBits,
    biased,
    block_distance,
    distance,
    dyadic,
    moved,
    tree_distance,
    within_its_theorem,
)
from draftproof.verifiers.trees.registry import tree_reference

pytestmark = pytest.mark.exact
SEVERAL = [(rule, kind, 2) for rule in OF_TREES for kind in ("generic", "zeros")]


@pytest.fixture(scope="module", params=["float64", "float32"])
def sandbox(request):
    with Sandbox("", dtype=request.param) as box:
        yield box


@pytest.mark.parametrize("rule", ["thresholds", "cactus", "global-resolution-truncated"])
def test_one_step_in_eight_bits_is_within_its_theorem(rule):
    """A solver's three sweeps have no bound there, but in 12 bits."""
    assert within_its_theorem(
        tree_reference(rule).step, rule, lossy_bound, TwelveBits if "truncated" in rule else EightBits
    )


@pytest.mark.parametrize("size", [(3, 2), (2, 3)])
@pytest.mark.parametrize(("dtype", "epsilon"), [(np.float32, 2.0**-23), (np.float16, 2.0**-10)])
def test_the_stream_stays_within_the_bound_of_its_problem_and_a_small_bias_does_not(size, dtype, epsilon):
    problem = dyadic(in_field(drawn(*size, "generic")))
    bound = stream_bound(problem, epsilon, lattice=0)
    assert 0.002 * bound < block_distance(problem, "block-stream", dtype) <= bound
    assert dtype is np.float16 or block_distance(problem, "block-stream", dtype, biased) > 10 * bound


def test_hierarchical_decoding_as_published_in_eight_bits_is_within_its_theorem():
    rule = tree_reference("hierarchical-as-published")
    for size, most in (((2, 1), 0.5), ((2, 2), 1.5)):
        problem = dyadic(in_field(drawn(*size, "generic")))
        off = tree_distance(problem, EightBits, verify_tree=rule.verify)
        assert 0 < off <= lossy_bound(rule.name, problem, 2.0**-7, lattice=0) < most


@pytest.mark.parametrize(
    ("rule", "kind", "siblings"), [*((r, kind, 1) for r in LOSSY for kind in ("generic", "peaked", "zeros")), *SEVERAL]
)
def test_a_lossy_rule_in_floating_point_is_as_near_its_own_exact_law_as_its_theorem_says(sandbox, rule, kind, siblings):
    """A bias of 1.01 times the bound is not within it; nor is the target's law, where the rule is off."""
    sandbox.load(subject_from(rule, dtypes=(sandbox.dtype,)).target, [toy(1)])
    problem = drawn(3, 1 + (rule == "hierarchical-as-published"), kind)
    if tree_reference(rule).shape != "path":
        problem = drawing(problem, siblings)
    law = measured(problem, sandbox.dtype, sandbox.law(problem))
    exact = output_law(law.in_use, tree_reference(rule))
    unit = EPSILON[sandbox.dtype] / 2
    bound = lossy_bound(rule, law.in_use, EPSILON[sandbox.dtype], unit, 2 * unit)
    off = distance(law.outputs(), exact)
    print(rule, kind, sandbox.dtype, off, bound)
    steps = 2.0**-34 if rule == "global-resolution-truncated" else 0.0
    if steps and (kind, siblings) == (
        "generic",
        1,
    ):  # two tokens' quotients are equal: which one goes first is rounding's
        assert bound == math.inf and (sandbox.dtype == "float64" or off > 0.07)
        return
    assert off <= bound < 700 * unit + steps
    assert distance(moved(exact, 1.01 * bound), exact) > bound


def test_what_a_judge_decides_by_a_hair_counts_in_full():
    """Token 0 is kept where 10 p(0) is max p; a little less, and the law is the target's: TV 10/11."""

    def problem(p):
        target = dict.fromkeys(((), (0,), (1,)), (p, 1 - p))
        rows = {"target": Table(target, "target"), "draft": Table({(): (Fraction(1), Fraction(0))}, "draft")}
        return in_field(replace(drawn(2, 1, "generic"), **rows))

    tie, beside = problem(Fraction(1, 11)), problem(Fraction(1, 11) - Fraction(1, 10**9))
    judge = tree_reference("judge")
    assert distance(output_law(tie, judge), output_law(beside, judge)) > 0.9
    assert lossy_bound("judge", tie, 2.0**-23, 2.0**-24) > 1 > lossy_bound("judge", beside, 2.0**-52, 2.0**-53)
