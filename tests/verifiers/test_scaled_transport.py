"""Scaled transport takes the best of the optimal plans: a linear program over all plans finds no better one."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from draftproof.corpus.literature.lattice import lattice_pairs
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing
from draftproof.proofs import claims
from draftproof.proofs.certificates.make_tree_bound import largest_acceptance
from draftproof.proofs.field import QQ, in_field
from draftproof.proofs.laws import tree_laws
from draftproof.proofs.laws.reference_laws import expected_accepted
from draftproof.verifiers.trees import scaled_transport
from draftproof.verifiers.trees.draft_tree import IID, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.optimal_transport import best_plan, law_of_drafts

pytestmark = pytest.mark.exact
ROWS = (QQ(0), QQ(1, 5), QQ(4, 5)), (QQ(1, 5), QQ(3, 5), QQ(1, 5))
WITNESS = drawing(Problem(3, 2, ContextFree(ROWS[0]), ContextFree(ROWS[1]), "witness"), 2, 1)
"""The plan decides here whether less is accepted than by traversal verification."""


def law_of(problem):
    return tree_laws.scaled_transport_law(in_field(problem))


def kept_on_the_tree(plan, target, draft, below, how=IID):
    """Return what one plan for two siblings accepts on this level and the next, which has the same rows."""
    total = plan.accepted
    for s, mass in law_of_drafts(draft, 2, how).items():
        weight, n = sum(plan.moved[s].values()) / mass, below * (1 if len(s) == 2 or how != IID else 2)
        total += mass * best_plan(tuple(weight * p for p in target), draft, n, how).accepted
    return total


def most_on_the_tree(target, draft, below, how):
    """Return the largest value of ``kept_on_the_tree`` by a linear program over all plans, optimal or not."""
    law = law_of_drafts(draft, 2, how)
    flows = [(s, x) for s in law for x in s]
    sets = [h for size in range(len(target) + 1) for h in combinations(range(len(target)), size)]
    rows, right = [], []
    for x, p in enumerate(target):
        rows.append([float(y == x) for _, y in flows] + [0.0] * len(law))
        right.append(as_float(p))
    for k, (s, mass) in enumerate(law.items()):
        one, n = [float(j == k) for j in range(len(law))], below * (2 if how == IID and len(s) == 1 else 1)
        rows.append([float(t == s) for t, _ in flows] + [0.0] * len(law))
        right.append(as_float(mass))
        for h in sets:  # what the next level keeps is at most a p(H) + 1 - Pr(all n drafts in H)
            has, inside = as_float(sum(target[t] for t in h)), sum(draft[t] for t in h)
            rows.append([-has * (t == s) for t, _ in flows] + one)
            right.append(as_float(mass * (1 - inside**n)))
    gains = [-1.0] * len(rows[0])
    return -linprog(gains, A_ub=np.array(rows), b_ub=right, bounds=(0, None), method="highs").fun


def pairs_of_rows():
    """Return pairs of rows; of the second not every plan without replacement is best."""
    pairs = map(in_field, [*lattice_pairs(3, 2, 4)[::7], *lattice_pairs(2, 2, 7)[::5]])
    distinct = tuple(tuple(QQ(n, 4) for n in row) for row in ((1, 1, 2, 0), (2, 0, 1, 1)))
    return [ROWS, distinct, *((tuple(pair.target.row(())), tuple(pair.draft.row(()))) for pair in pairs)]


@pytest.mark.parametrize(("below", "how"), [(1, IID), (2, IID), (1, WITHOUT_REPLACEMENT)])
def test_no_plan_for_two_siblings_accepts_more_on_rows_like_these(below, how):
    less = 0
    for target, draft in pairs_of_rows():
        most = most_on_the_tree(target, draft, below, how)
        plan = scaled_transport.plan_for_the_tree(target, draft, 2, how, below)
        plain = best_plan(target, draft, 2, how)
        assert (plan.accepted, plan.full) == (plain.accepted, plain.full)
        assert as_float(kept_on_the_tree(plan, target, draft, below, how)) == pytest.approx(most, abs=1e-9)
        less += as_float(kept_on_the_tree(plain, target, draft, below, how)) < most - 1e-9
        half = plan._replace(moved={s: {x: w * QQ(1, 2) for x, w in row.items()} for s, row in plan.moved.items()})
        assert as_float(kept_on_the_tree(half, target, draft, below, how)) < most - 1e-9 or most < 1e-9
    assert less > 0  # a plan that is optimal on its level alone accepts less than the best one


def test_the_best_plan_reaches_the_bound_of_all_rules_where_another_one_does_not(monkeypatch):
    assert str(expected_accepted(law_of(WITNESS))) == "569/625"
    assert as_float(largest_acceptance(WITNESS)[0] - QQ(569, 625)) < 1e-9
    monkeypatch.setattr(tree_laws, "planner", lambda how, below: best_plan)
    assert str(expected_accepted(law_of(WITNESS))) == "499/625"
    assert claims.lossless(in_field(WITNESS), law_of(WITNESS)).holds  # any plan is lossless, this one too


def test_which_plan_is_best_depends_on_rows_that_are_not_known():
    """Three rows of the children, three best plans: so the rule assumes rows like its own."""
    target, draft = ROWS
    taken = {}
    for name, after_equal, after_unequal in (("equal", 1, 0), ("unequal", 0, 1)):
        plans = [best_plan(target, draft, 2, IID), scaled_transport.plan_for_the_tree(target, draft, 2, IID, 1)]
        gain = [after_equal * p.moved[1,][1] + after_unequal * p.moved[0, 1][1] for p in plans]
        taken[name] = gain.index(max(gain))
    assert taken == {"equal": 1, "unequal": 0}


def test_what_a_child_keeps_is_read_off_its_slopes():
    for (target, draft), n in product(pairs_of_rows()[:60], (1, 2)):
        ends = scaled_transport.kept_by_slope(target, draft, n)
        for weight in (QQ(1, 7), QQ(1, 2), QQ(1)):
            kept, done = QQ(0), QQ(0)
            for slope, end in ends.items():
                kept, done = kept + slope * max(min(end, weight) - done, 0), max(done, min(end, weight))
            assert kept == best_plan(tuple(weight * p for p in target), draft, n, IID).accepted
