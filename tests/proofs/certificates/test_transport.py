"""The bound on what any valid rule accepts at the first step: certified exactly, rejected when changed."""

import copy
import json
from fractions import Fraction as F
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from draftproof.models.battery import drawn, toy
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem, as_json
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing, tree_battery
from draftproof.proofs.certificates.check import Rejected
from draftproof.proofs.certificates.check_transport import check
from draftproof.proofs.certificates.make_transport import certificate, transport_bound
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import acceptance_ccdf
from draftproof.proofs.laws.tree_laws import tree_law
from draftproof.verifiers.trees.draft_tree import IID, WITHOUT_REPLACEMENT
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


@pytest.mark.parametrize("problem", tree_battery(), ids=lambda p: p.name)
def test_the_certificate_proves_the_bound_that_the_optimal_rule_reaches(problem):
    exact = in_field(problem)
    bound = transport_bound(exact)
    assert str(check(json.dumps(certificate(problem)))) == str(bound)
    assert str(bound) == str(acceptance_ccdf(tree_law(exact, tree_reference("optimal-transport")), problem.gamma)[1])


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


def changed(**fields):
    return lambda data: {**data, **fields}


def moved(drafts, token, mass):
    def tamper(data):
        data["plan"][drafts][token] = mass
        return data

    return tamper


def drawn_otherwise(data):
    data["problem"]["drafting"]["how"] = WITHOUT_REPLACEMENT
    return data


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (changed(first_accepted="1"), "accepts with 8/9, not with the 1 claimed"),
        (changed(dual_set=[]), "its bound is 1, not the 8/9 claimed"),
        (changed(dual_set=[7]), "not a list of tokens"),
        (changed(dual_set=[True]), "not a list of tokens"),
        (moved("0,1", "1", "5/9"), "more from the drafts [0, 1] than their probability"),
        (moved("0", "0", "4/9"), "gives token 0 the probability 4/9"),
        (moved("0", "1", "1/9"), "moves 1/9 from the drafts [0] to (1,)"),
        (moved("1", "1", "-1/9"), "moves -1/9"),
        (changed(plan=[]), "plan is not a table"),
        (changed(problem={}), "not a pair of tables"),
        (drawn_otherwise, "its plan"),
        (changed(format="draftproof-certificate/2"), "not a certificate of the form"),
    ],
)  # fmt: skip
def test_a_tampered_transport_is_rejected_with_the_reason(tamper, reason):
    data = tamper(copy.deepcopy(certificate(drawing(toy(1), 2))))
    with pytest.raises(Rejected) as caught:
        check(json.dumps(data))
    assert reason in str(caught.value)


def test_a_certificate_of_another_way_of_drafting_is_rejected():
    problem = drawing(drawn(3, 1, "generic"), 2)
    text = json.dumps(certificate(problem))
    assert check(text, as_json(problem.tabulated())) <= 1
    with pytest.raises(Rejected, match="another problem"):
        check(text, as_json(drawing(drawn(3, 1, "generic"), 3).tabulated()))
