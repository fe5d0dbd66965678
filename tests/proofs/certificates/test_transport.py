"""The bound on what any valid rule accepts at the first step: certified exactly, rejected when changed."""

from fractions import Fraction as F
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing, tree_battery
from draftproof.proofs.certificates.make_transport import transport_bound
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import acceptance_ccdf
from draftproof.proofs.laws.tree_laws import tree_law
from draftproof.verifiers.trees.draft_tree import IID
from draftproof.verifiers.trees.optimal_transport import law_of_drafts
from draftproof.verifiers.trees.registry import TREE_REFERENCES, tree_reference

pytestmark = pytest.mark.certificate
FIRST_STEPS = [p for p in tree_battery() if p.gamma == 1]


def by_linear_program(problem):
    """The optimum by HiGHS, which knows neither flows nor sets."""
    target, draft = (np.array([as_float(p) for p in m.row(())]) for m in (problem.target, problem.draft))
    law = law_of_drafts(tuple(draft), problem.tree.children[0], problem.tree.how)
    pairs = [(s, x) for s in law for x in s]
    above = np.array(
        [[float(p[0] == s) for p in pairs] for s in law]
        + [[float(p[1] == x) for p in pairs] for x in range(len(target))]
    )
    solved = linprog(-np.ones(len(pairs)), A_ub=above, b_ub=[*law.values(), *target], method="highs")
    return -solved.fun


def test_no_lossless_rule_is_above_the_bound_and_a_lossy_one_is():
    above = set()
    for problem in map(in_field, FIRST_STEPS):
        for name, rule in TREE_REFERENCES.items():
            if rule.is_for(problem.tree) and acceptance_ccdf(tree_law(problem, rule), 1)[1] > transport_bound(problem):
                above.add(name)
    assert above and not any(tree_reference(name).lossless for name in above)


@pytest.mark.parametrize("problem", FIRST_STEPS, ids=lambda p: p.name)
def test_the_linear_program_and_the_choice_of_a_set_have_the_same_optimum(problem):
    """1 + min over H of p(H) - Pr(all drafts in H); for independent drafts that is p(H) - q(H)^k."""
    exact = in_field(problem)
    bound, p, q = transport_bound(exact), exact.target.row(()), exact.draft.row(())
    assert as_float(bound) == pytest.approx(by_linear_program(problem), abs=1e-7)
    if problem.tree.how == IID:
        sets = [h for n in range(len(p) + 1) for h in combinations(range(len(p)), n)]
        assert bound == 1 + min(sum(p[t] for t in h) - sum(q[t] for t in h) ** problem.tree.children[0] for h in sets)


def test_two_drafts_can_always_be_accepted_where_no_set_of_tokens_is_drafted_too_often():
    """Khisti et al.: Pr(accepted) = 1 if and only if p(H) >= q(H)^2 for every H."""
    rows = (F(1, 2), F(1, 4), F(1, 4)), (F(1, 2), F(1, 2), F(0))
    allowed = drawing(Problem(3, 1, ContextFree(rows[0]), ContextFree(rows[0])), 2)
    denied = drawing(Problem(3, 1, *map(ContextFree, rows)), 2)
    assert transport_bound(in_field(allowed)) == 1
    assert str(transport_bound(in_field(denied))) == "3/4"
