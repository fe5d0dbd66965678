"""The bounds on rounding of token verification, greedy block verification, draft trees and wide rows.

Each is never exceeded by the reference in floating point, is broken by a small bias, is what its Coq definition says,
and decides verdicts.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sympy import QQ

from draftproof import proofs
from draftproof.models.battery import audit_battery, drawn
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing, tree_audit_battery
from draftproof.models.wide import wide
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.tree_laws import drawn_from, enumerated_tree_law, row_after
from draftproof.proofs.laws.wide_law import WideMeasurement
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.rounding.greedy_block import greedy_bound
from draftproof.proofs.rounding.recursive_rejection import tree_bound
from draftproof.proofs.rounding.rule import EPSILON, explained_by_rounding, rounding_allowed
from draftproof.proofs.rounding.theorem import IN_ORDER, PAIRWISE, problem_bound, token_bound
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
BOUNDS = {"block": problem_bound, "token": token_bound, "greedy-block": greedy_bound}
BLOCKS = ("token", "greedy-block")
PROBLEMS = [dyadic(in_field(p)) for p in (drawn(3, 2, "generic"), drawn(2, 3, "generic"))]
TREES = [
    drawing(dyadic(in_field(drawn(3, 1, "generic"))), 2, how="iid"),
    drawing(dyadic(in_field(drawn(4, 1, "generic"))), 2, how="without-replacement"),
    drawing(dyadic(in_field(drawn(4, 1, "generic"))), 2, how="top"),
]
NUMBERS = [(np.float32, 2.0**-23), (np.float16, 2.0**-10)]


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
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


def both(e, f):
    return (1 + e) * (1 + f) - 1


def exact_tree_cost(problem, u, o, eta):
    """``tree_cost`` of TreeRounding.v, definition by definition, over the rationals."""
    tree, growth = problem.tree, (1 + u) ** (problem.vocabulary - 1) - 1
    normalised = both(growth / (1 - growth), u)
    if tree.how == "without-replacement":
        for _ in range(max(tree.children) - 1):
            o = both(o, normalised)
    ratio = both(o / (1 - o), u)

    def cost(x, b, e, draft, k):
        if len(x) == problem.gamma or k == tree.children[len(x)] or draft is None:
            return e
        q = drawn_from(draft, k, tree.how)
        over = [max(p - s, 0) for p, s in zip(b, q)]
        excess = sum(over)
        left = 2 * ((1 + u) * (e + o) + u * excess) / excess + normalised if excess else normalised
        residual = [w / excess for w in over] if excess else b
        total = e + ratio * (1 + e) + eta
        for y, (p, s) in enumerate(zip(b, q)):
            if s:
                h = min(p / s, QQ(1))
                total += s * h * start((*x, y))
                total += s * (1 - h) * cost(x, residual, left, row_after(draft, y, k, tree.how), k + 1) if h < 1 else 0
        return total

    def start(x):
        draft = tuple(problem.draft.row(x)) if len(x) < problem.gamma else None
        return cost(x, tuple(problem.target.row(x)), o, draft, 0)

    return start(())


@pytest.mark.parametrize("how", ["iid", "without-replacement", "top"])
@pytest.mark.parametrize("kind", ["generic", "disjoint", "one-hot-draft"])
def test_the_bound_of_a_tree_is_the_recursion_of_the_coq_theorem_rounded_up(kind, how):
    problem, u, off = in_field(drawing(drawn(3, 2, kind), 3, 2, how=how)), QQ(1, 2**24), QQ(1, 2**20)
    exact = as_float(exact_tree_cost(problem, u, off, u))
    assert exact <= tree_bound(problem, 2.0**-23, 2.0**-24, as_float(off)) <= exact * (1 + 1e-6)


def exact_block_cost(problem, u, o, eta, greedy):
    """The costs of GreedyRounding.v (greedy), or ``token_cost`` of TreeRounding.v, over the rationals."""
    growth, quotient = (1 + u) ** (problem.vocabulary - 1) - 1, both(both(o, o / (1 - o)), u)

    def near(p, s, weight, weight_error, none):
        return QQ(0) if none else (1 + u) * (weight_error * p + o * s) + u * weight

    def cost(x, g, k):
        b = problem.target.row(x)
        if len(x) == problem.gamma:
            return min(g, QQ(1)) * (k + o) + eta if greedy else o
        rows = [(g * p, s) for p, s in zip(b, problem.draft.row(x))]
        e = both(both(k, o), u)
        above = sum(near(p, s, max(p - s, 0), e, (1 + e) * p <= (1 - o) * s) for p, s in rows)
        below = sum(near(p, s, max(s - p, 0), e, (1 + o) * s <= (1 - e) * p) for p, s in rows)
        excess, left = (sum(max(sign * (p - s), 0) for p, s in rows) for sign in (1, -1))
        total, longer = above, both(both(k, quotient), u)
        if greedy and x:
            up, down = (w + growth * (v + w) for w, v in ((above, excess), (below, left)))
            most = min((excess + up) / (left - down), QQ(1)) if down < left else QQ(1)
            total += most * down + up + u * most * left + left * eta
        for y, (p, s) in enumerate(rows):
            if not s:
                continue
            if greedy:
                total += s * cost((*x, y), p / s, longer)
            else:
                h = min(p / s, QQ(1))
                total += s * h * ((0 if (1 - longer) * p / s >= 1 else longer) + cost((*x, y), QQ(1), QQ(0)))
        return total if greedy else total + eta

    return cost((), QQ(1), QQ(0))


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("kind", ["generic", "mixed", "equal", "disjoint"])
def test_the_bound_of_a_block_is_the_recursion_of_the_coq_theorem_rounded_up(name, kind):
    problem, u, off = in_field(drawn(3, 2, kind)), QQ(1, 2**24), QQ(1, 2**20)
    exact = as_float(exact_block_cost(problem, u, off, u, name == "greedy-block"))
    assert exact <= BOUNDS[name](problem, 2.0**-23, 2.0**-24, as_float(off)) <= exact * (1 + 1e-6)


def test_the_bound_of_a_wide_problem_is_that_of_the_same_small_one():
    for problem in map(in_field, (drawn(4, 2, "generic"), drawn(5, 2, "mixed"))):
        target, draft = (
            {x: np.array([as_float(p) for p in model.row(x)]) for n in range(longest + 1) for x in problem.prefixes(n)}
            for model, longest in ((problem.target, problem.gamma), (problem.draft, problem.gamma - 1))
        )
        given = 2.0**-23, 2.0**-24, 2.0**-26
        small = max(problem_bound(problem, *given), token_bound(problem, *given))
        assert wide_bound(target, draft, *given) == pytest.approx(small, rel=1e-6)
        assert wide_bound(target, draft, *given, PAIRWISE) < wide_bound(target, draft, *given, IN_ORDER)


@pytest.mark.parametrize(
    ("what", "problem", "dtype"),
    [
        ("block", PROBLEMS[1], "float64"),
        ("block", PROBLEMS[1], "float32"),
        ("greedy-block", PROBLEMS[0], "float32"),
        ("tree", TREES[1], "float32"),
    ],
)
def test_a_deviation_is_rounding_by_both_measures_or_by_none_and_undecided_between_them(what, problem, dtype):
    bound = tree_bound if what == "tree" else BOUNDS[what]
    law = enumerated_tree_law(problem, multi_round) if what == "tree" else output_law(problem, reference(what))
    found = measured(problem, dtype, [ANSWER], modifies_target=what == "greedy-block")
    assert found.tolerance == min(found.rounding.values()) < found.explained == max(found.rounding.values())
    assert bound(problem, EPSILON[dtype], EPSILON[dtype] / 2) < found.rounding["theorem"]
    evidence = around(found, law)
    assert [e.verdict for e in evidence] == [HOLDS, NO_EVIDENCE, REFUTED]
    assert "one epsilon a decision" in evidence[1].detail.reason and evidence[2].witness
    assert evidence[0].bound == evidence[1].bound == found.tolerance and evidence[2].bound == found.explained


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_between_rule_and_theorem_nothing_is_decided_on_a_wide_problem(dtype):
    """Sums in pairs clear, sums in order are granted to what is refuted."""
    problem = wide(1_003, 2)
    prefixes = [x for n in range(3) for x in problem.prefixes(n)]
    rows = {
        "target": {x: problem.target_row(x) for x in prefixes},
        "draft": {x: problem.draft_row(x) for x in prefixes[:-4]},
    }
    rows["draft"] = {x: problem.draft_row(x) for x in prefixes if len(x) < 2}
    found = measured_wide(problem, dtype, [])
    assert isinstance(found, WideMeasurement) and found.tolerance == found.rounding["rule"] == found.rounding["theorem"]
    found = replace(found, **rows).allowing(sums_off=0.0, resolution=0.0)
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
