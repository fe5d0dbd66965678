"""The bounds on rounding of token, block and greedy block verification, draft trees and wide rows.

Each is never exceeded by the reference in floating point, is broken by a small bias, is what its Coq definition says,
and decides verdicts.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from draftproof import proofs
from draftproof.models.battery import audit_battery, drawn
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing, tree_audit_battery
from draftproof.models.wide import wide
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.tree_laws import enumerated_tree_law
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.rounding.greedy_block import greedy_bound
from draftproof.proofs.rounding.recursive_rejection import tree_bound
from draftproof.proofs.rounding.rounding_allowed import EPSILON, explained_by_rounding, rounding_allowed
from draftproof.proofs.rounding.token_and_block import (
    IN_ORDER,
    PAIRWISE,
    problem_bound,
    running_sum_bound,
    sum_depth,
    token_bound,
)
from draftproof.proofs.rounding.wide import wide_bound
from draftproof.tests.proofs.rounding.in_floats import (
    ANSWER,
    around,
    biased,
    block_distance,
    dyadic,
    multi_round,
    tree_distance,
)
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.exact
BOUNDS = {"block": problem_bound, "token": token_bound, "greedy-block": greedy_bound, "tree": tree_bound}
PROBLEMS = [dyadic(in_field(p)) for p in (drawn(3, 2, "generic"), drawn(2, 3, "generic"))]
TREES = [
    drawing(dyadic(in_field(drawn(vocabulary, 1, "generic"))), 2, how=how)
    for vocabulary, how in ((3, "iid"), (4, "without-replacement"), (4, "top"))
]
NUMBERS = [(np.float32, 2.0**-23), (np.float16, 2.0**-10)]


@pytest.mark.parametrize(("name", "problem"), [(name, p) for name in [*BOUNDS][:3] for p in PROBLEMS], ids=str)
@pytest.mark.parametrize(("dtype", "epsilon"), NUMBERS, ids=["float32", "float16"])
def test_the_reference_stays_within_the_bound_of_its_problem_and_a_small_bias_does_not(name, problem, dtype, epsilon):
    bound = BOUNDS[name](problem, epsilon, lattice=0)
    assert 0.005 * bound < block_distance(problem, name, dtype) <= bound
    assert dtype is np.float16 or block_distance(problem, name, dtype, biased) > 10 * bound


@pytest.mark.parametrize("problem", TREES, ids=lambda p: p.name)
@pytest.mark.parametrize(("dtype", "epsilon"), NUMBERS, ids=["float32", "float16"])
def test_recursive_rejection_stays_within_the_bound_of_its_problem_and_a_small_bias_does_not(problem, dtype, epsilon):
    bound = tree_bound(problem, epsilon, lattice=0)
    assert 0 < tree_distance(problem, dtype) <= bound
    assert dtype is np.float16 or tree_distance(problem, dtype, biased) > bound


# Each was compared with the recursion of its Coq theorem over the rationals: it is that, rounded up by less than 1e-6.
OF_THE_THEOREMS = [
    ("block", "generic", 5.31591167e-06), ("block", "mixed", 2.49239226e-06), ("block", "equal", 1.71065534e-05),
    ("token", "generic", 4.04614052e-06), ("token", "disjoint", 1.13248837e-06),
    ("greedy-block", "generic", 9.52512649e-06), ("greedy-block", "equal", 1.90139042e-05),
    ("tree", "iid", 4.47122103e-05), ("tree", "without-replacement", 4.05224748e-05), ("tree", "top", 3.38417363e-05),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "bound"), OF_THE_THEOREMS)
def test_a_bound_is_that_of_the_coq_theorem(name, kind, bound):
    """Compute the bound in float32 on rows of three tokens off by 2^-20: any error of the recursion changes it."""
    problem = drawing(drawn(3, 2, "generic"), 3, 2, how=kind) if name == "tree" else drawn(3, 2, kind)
    assert BOUNDS[name](in_field(problem), 2.0**-23, 2.0**-24, 2.0**-20) == pytest.approx(bound, rel=1e-7)


def test_the_bound_of_a_wide_problem_is_that_of_the_same_small_one():
    problem = in_field(drawn(4, 2, "generic"))
    target, draft = (
        {x: np.array([as_float(p) for p in model.row(x)]) for n in range(longest + 1) for x in problem.prefixes(n)}
        for model, longest in ((problem.target, problem.gamma), (problem.draft, problem.gamma - 1))
    )
    given = 2.0**-23, 2.0**-24, 2.0**-26
    small = max(problem_bound(problem, *given), token_bound(problem, *given))
    assert wide_bound(target, draft, *given) == pytest.approx(small, rel=1e-6)
    assert wide_bound(target, draft, *given, PAIRWISE) < wide_bound(target, draft, *given, IN_ORDER)
    assert (sum_depth(5, IN_ORDER), sum_depth(5, PAIRWISE), sum_depth(2**18, PAIRWISE)) == (4, 3, 18)


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
    assert 1.5 * 2.0**-bits * 0.3 < worst <= running_sum_bound(3, unit, 2.0**-bits)
    assert bits < 53 or worst > 1.5 * 2.0**-bits


@pytest.mark.parametrize(
    ("what", "problem", "dtype"),
    [("block", PROBLEMS[1], "float64"), ("greedy-block", PROBLEMS[0], "float32"), ("tree", TREES[1], "float32")],
)
def test_a_deviation_is_rounding_by_both_measures_or_by_none_and_undecided_between_them(what, problem, dtype):
    law = enumerated_tree_law(problem, multi_round) if what == "tree" else output_law(problem, reference(what))
    found = measured(problem, dtype, [ANSWER], modifies_target=what == "greedy-block")
    assert found.tolerance == min(found.rounding.values()) < found.explained == max(found.rounding.values())
    assert BOUNDS[what](problem, EPSILON[dtype], EPSILON[dtype] / 2) < found.rounding["theorem"]
    evidence = around(found, law)
    assert [e.verdict for e in evidence] == [HOLDS, NO_EVIDENCE, REFUTED]
    assert "one epsilon a decision" in evidence[1].detail.reason and evidence[2].witness
    assert evidence[0].bound == evidence[1].bound == found.tolerance and evidence[2].bound == found.explained


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_between_rule_and_theorem_nothing_is_decided_on_a_wide_problem(dtype):
    """Sums in pairs clear, sums in order are granted to what is refuted."""
    found = measured_wide(wide(1_003, 2), dtype, []).with_given_rows().allowing(sums_off=0.0, resolution=0.0)
    assert found.tolerance == min(found.rounding["rule"], found.rounding["theorem_pairwise"])
    assert found.tolerance < found.explained == found.rounding["theorem"]
    verdicts = []
    for size in (0.9 * found.tolerance, (found.tolerance + found.explained) / 2, 1.1 * found.explained):
        of_size = replace(found, slack=(math.inf, math.inf))  # the total alone: nothing is emitted
        vars(of_size)["_distances"] = size, 0.0, 0.0
        verdicts.append(judge(of_size)[0])
    assert [e.verdict for e in verdicts] == [HOLDS, NO_EVIDENCE, REFUTED]
    assert "in order" in verdicts[1].detail.reason and verdicts[2].bound == found.explained


def test_every_problem_of_an_audit_has_a_bound_that_can_be_met_in_float64():
    """Far below any bug that is drawn, and above what a right verifier needs."""
    for problem in tree_audit_battery():
        assert EPSILON["float64"] < explained_by_rounding(in_field(problem), "float64") < 2e-12


def test_the_note_says_by_how_much_the_bounds_of_an_audits_problems_exceed_one_epsilon_a_decision():
    share = [
        explained_by_rounding(in_field(problem), "float32") / rounding_allowed(problem.gamma, "float32")
        for problem in audit_battery()
    ]
    note = " ".join((Path(proofs.__file__).parent / "note.md").read_text(encoding="utf-8").split())
    assert f"problems of our audits this is {min(share):.1f} to {max(share):.1f} times one epsilon a decision" in note
