"""What any valid rule can accept of a tree: bounds that hold exactly, reached where a rule is optimal, never passed."""

import json
from fractions import Fraction as F

import pytest

from draftproof.models.battery import drawn, normalised, toy
from draftproof.models.drafting import drafting_json
from draftproof.models.problem import as_json
from draftproof.models.rationals import as_float
from draftproof.models.related import with_rows
from draftproof.models.tree_battery import drawing, own_tree_problems, ragged, tree_battery
from draftproof.proofs.audit_claims import optimal
from draftproof.proofs.certificates import check_tree_bound, make_tree_bound
from draftproof.proofs.certificates.check_tree_bound import check, pair_and_drafting, texts_of_trees
from draftproof.proofs.certificates.make_transport import transport_bound
from draftproof.proofs.certificates.make_tree_bound import CERTIFIED_TO, certificate, mended
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_accepted, output_law
from draftproof.proofs.laws.small_law import Measurement
from draftproof.proofs.laws.tree_laws import tree_law
from draftproof.tests.proofs.enumerated import EXACT
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.draft_tree import IID, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.registry import tree_reference

pytestmark = pytest.mark.certificate
SMALL = [p for p in tree_battery() if p.vocabulary**p.tree.nodes <= 100]
SMALL += [ragged(drawn(2, 2, "generic"), -1, -1, 1), ragged(drawn(2, 2, "mixed"), -1, -1, 0, how=WITHOUT_REPLACEMENT)]


def proved(problem):
    """The larger of the two bounds of a certificate, which have to be close."""
    reached, bound = check(json.dumps(certificate(problem)))
    assert 0 <= bound - reached <= 1e-9
    return bound


@pytest.mark.parametrize("problem", [p for p in EXACT if p.vocabulary**p.gamma <= 9][:12], ids=lambda p: p.name)
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


def test_masses_near_the_tolerance_of_the_solver_have_a_bound_all_the_same():
    problem = own_tree_problems(0, (IID,))[-1]
    floats = with_rows(problem, lambda row, drafted: normalised([F(float(p)) for p in row]), problem.name)
    assert 0 < F(certificate(floats)["bound"]) <= problem.gamma


def test_a_rule_that_accepts_too_much_is_mended_to_a_valid_one():
    pair, drafting = pair_and_drafting(certificate(drawing(drawn(3, 2, "generic"), 2, 1))["problem"])
    trees = texts_of_trees(pair, drafting)
    greedy = {tree: {max(tree, key=lambda x: (len(x), x)): F(2)} for tree in trees}
    assert 0 < check_tree_bound.accepted_by(pair, trees, mended(pair, trees, greedy)) < 2


@pytest.mark.parametrize("loose", ["multipliers", "rule", "neither"])
def test_a_loose_answer_of_the_solver_is_noticed_and_nothing_is_decided_between_the_bounds(monkeypatch, loose):
    problem = in_field(drawing(toy(2), 2, 1))
    law = tree_law(problem, tree_reference("greedy-multi-path"))  # the optimum, 131/81
    data = {**as_json(problem.tabulated()), "drafting": drafting_json(problem.tree)}
    solved = make_tree_bound.solved_by_highs(problem, texts_of_trees(*pair_and_drafting(data)))
    wrong = solved._replace(multipliers=dict.fromkeys(solved.multipliers, 0.0)) if loose == "multipliers" else solved
    wrong = wrong._replace(accepted={tree: {} for tree in solved.accepted}) if loose == "rule" else wrong
    monkeypatch.setattr(make_tree_bound, "solved_by_highs", lambda *_: wrong)
    evidence = optimal(Measurement(problem, problem, blocks={(): law}))
    assert evidence.verdict == ("holds" if loose == "neither" else "no-evidence")
    assert ("bound not certified" in str(evidence.detail.reason)) == (loose != "neither")
    short = optimal(Measurement(problem, problem, blocks={(): tree_law(problem, tree_reference("naive"))}))
    assert short.verdict == ("no-evidence" if loose == "rule" else "refuted")  # only a rule that accepts more refutes
    assert short.refuted or (short.detail.reached == "0" and short.bound > CERTIFIED_TO)
