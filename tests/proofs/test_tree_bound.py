"""What any valid rule can accept of a tree: bounds that hold exactly, reached where a rule is optimal, never passed."""

import copy
import json
from fractions import Fraction as F

import pytest

from draftproof.models.battery import drawn, exact_battery, toy
from draftproof.models.errors import InputError
from draftproof.models.problem import as_json
from draftproof.models.rationals import as_float
from draftproof.models.related import normalised, with_rows
from draftproof.models.tree_battery import drawing, own_tree_problems, ragged, tree_battery
from draftproof.proofs.certificates.check import Rejected
from draftproof.proofs.certificates.check_tree_bound import check
from draftproof.proofs.certificates.make_transport import transport_bound
from draftproof.proofs.certificates.make_tree_bound import certificate, largest_tree_acceptance
from draftproof.proofs.field import in_field
from draftproof.proofs.laws import expected_accepted, output_law
from draftproof.proofs.tree_laws import tree_law
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.draft_tree import IID, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.registry import TREE_REFERENCES, tree_reference

pytestmark = pytest.mark.certificate
SMALL = [p for p in tree_battery() if p.vocabulary**p.tree.nodes <= 100]
SMALL += [ragged(drawn(2, 2, "generic"), -1, -1, 1), ragged(drawn(2, 2, "mixed"), -1, -1, 0, how=WITHOUT_REPLACEMENT)]


def proved(problem):
    return check(json.dumps(certificate(problem)))


@pytest.mark.parametrize("problem", SMALL, ids=lambda p: p.name)
def test_no_lossless_rule_passes_the_bound_and_the_linear_program_is_as_high(problem):
    exact = in_field(problem)
    bound = proved(problem)
    assert float(bound) == pytest.approx(largest_tree_acceptance(exact)[0], abs=1e-8)
    for rule in TREE_REFERENCES.values():
        if rule.is_for(exact.tree) and rule.lossless:
            assert F(str(expected_accepted(tree_law(exact, rule)))) <= bound, rule.name


@pytest.mark.parametrize(
    "problem", [p for p in exact_battery() if p.vocabulary**p.gamma <= 9][:12], ids=lambda p: p.name
)
def test_on_a_single_path_the_bound_is_what_block_verification_accepts(problem):
    accepted = expected_accepted(output_law(in_field(problem), reference("block")))
    assert 0 <= float(proved(problem)) - as_float(accepted) < 1e-8


@pytest.mark.parametrize("problem", [p for p in SMALL if p.gamma == 1], ids=lambda p: p.name)
def test_with_one_step_the_bound_is_that_of_optimal_transport(problem):
    assert 0 <= float(proved(problem)) - as_float(transport_bound(in_field(problem))) < 1e-8


@pytest.mark.parametrize(("gamma", "bound"), [(1, "8/9"), (2, "131/81"), (3, "1621/729")])
def test_greedy_multi_path_verification_is_optimal_on_two_paths_of_the_example(gamma, bound):
    problem = drawing(toy(gamma), 2, *[1] * (gamma - 1))
    law = tree_law(in_field(problem), tree_reference("greedy-multi-path"))
    assert str(expected_accepted(law)) == bound == str(proved(problem))


def test_a_biased_rule_passes_the_bound():
    problem = drawing(toy(2), 1, 1)
    law = tree_law(in_field(problem), tree_reference("hierarchical-as-published"))
    assert F(str(expected_accepted(law))) == F(4, 3) > proved(problem) == F(11, 9)


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (lambda data: data | {"bound": "4/3"}, "its bound is 131/81, not the 4/3 claimed"),
        (lambda data: data | {"potential": {}}, "not given for exactly the texts"),
        (lambda data: data | {"potential": data["potential"] | {"0,0,0": "-5"}}, "not the 131/81 claimed"),
        (lambda data: data | {"problem": data["problem"] | {"drafting": {"children": [2], "how": "iid"}}}, "how trees"),
        (lambda data: data | {"problem": data["problem"] | {"drafting": {"children": [30, 1], "how": "iid"}}}, "too many"),
        (lambda data: data | {"problem": data["problem"] | {"drafting": {"children": [99, 1], "how": "iid"}}}, "too many"),
        (lambda data: data | {"problem": data["problem"] | {"drafting": {"parents": [-1, -1], "how": "iid"}}}, "how trees"),
        (lambda data: data | {"problem": data["problem"] | {"drafting": {"parents": [-1, 1], "how": "iid"}}}, "how trees"),
        (lambda data: data | {"problem": data["problem"] | {"drafting": {"parents": [-1, -1, 1], "how": "iid"}}}, "claimed"),
        (lambda data: data | {"problem": data["problem"] | {"drafting": {"children": [1, 1], "how": "iid"}}}, "claimed"),
    ],
)  # fmt: skip
def test_a_tampered_bound_is_rejected_with_the_reason(tamper, reason):
    data = tamper(copy.deepcopy(certificate(drawing(toy(2), 2, 1))))
    with pytest.raises(Rejected) as caught:
        check(json.dumps(data))
    assert reason in str(caught.value)


def test_a_bound_of_another_problem_is_rejected_and_one_too_large_is_not_made():
    text = json.dumps(certificate(drawing(toy(2), 2, 1)))
    with pytest.raises(Rejected, match="another problem"):
        check(text, as_json(drawing(toy(2), 2, 1, how=WITHOUT_REPLACEMENT).tabulated()))
    with pytest.raises(InputError, match="too many for a certificate"):
        certificate(drawing(drawn(3, 3, "generic"), 3, 3, 3))


def test_masses_near_the_tolerance_of_the_solver_have_a_bound_all_the_same():
    problem = own_tree_problems(0, (IID,))[-1]
    floats = with_rows(problem, lambda row, drafted: normalised([F(float(p)) for p in row]), problem.name)
    assert 0 < F(certificate(floats)["bound"]) <= problem.gamma
