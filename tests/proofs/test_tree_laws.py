"""Rules for trees: exact laws, losslessness on every way of drafting, published values, mutants."""

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.errors import InputError
from draftproof.models.tree_battery import drawing, tree_battery
from draftproof.proofs import claims
from draftproof.proofs.field import in_field
from draftproof.proofs.laws import enumerated_law, expected_accepted, output_law
from draftproof.proofs.tree_laws import enumerated_tree_law, tree_law
from draftproof.tests.proofs.tree_mutants import TREE_MUTANTS
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.registry import TREE_REFERENCES, tree_reference

pytestmark = pytest.mark.exact
BATTERY = [in_field(problem) for problem in tree_battery()]
LOSSLESS = [name for name, rule in TREE_REFERENCES.items() if rule.lossless]


def meant_for(rule):
    return [problem for problem in BATTERY if rule.is_for(problem.tree)]


def accepted(name, problem):
    return str(expected_accepted(tree_law(in_field(problem), tree_reference(name))))


@pytest.mark.parametrize("name", LOSSLESS)
def test_a_lossless_rule_keeps_the_target_law_on_every_tree_problem_it_is_meant_for(name):
    rule = tree_reference(name)
    problems = meant_for(rule)
    assert len(problems) >= 5
    for problem in problems:
        evidence = claims.lossless(problem, tree_law(problem, rule))
        assert evidence.holds and evidence.total_variation == 0, problem.name


@pytest.mark.parametrize("name", [name for name, rule in TREE_REFERENCES.items() if rule.step])
def test_the_law_text_by_text_is_the_law_tree_by_tree(name):
    rule = tree_reference(name)
    small = [p for p in meant_for(rule) if p.tree.nodes <= 4][:14]
    for problem in small:
        assert tree_law(problem, rule) == enumerated_tree_law(problem, rule.verify), problem.name


@pytest.mark.parametrize("mutant", TREE_MUTANTS, ids=lambda m: m.name)
def test_a_mutant_of_each_rule_is_refuted(mutant):
    rule = tree_reference(mutant.of)
    evidence = [claims.lossless(p, enumerated_tree_law(p, mutant.verify)) for p in meant_for(rule) if p.tree.nodes <= 3]
    refuted = [e for e in evidence if not e.holds]
    assert refuted and all(e.witness for e in refuted)


def test_every_lossless_rule_has_a_mutant():
    assert {mutant.of for mutant in TREE_MUTANTS} == set(LOSSLESS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("naive", ["4/9", "2/3", "64/81", "70/81"]), ("spec-infer", ["2/3", "7/9", "23/27", "73/81"])],
)
def test_the_first_step_accepts_as_published_on_the_example(name, expected):
    assert [accepted(name, drawing(toy(1), n)) for n in (1, 2, 3, 4)] == expected


@pytest.mark.parametrize("problem", [toy(2), drawn(3, 2, "mixed")], ids=lambda p: p.name)
def test_on_a_single_path_recursive_rejection_is_token_verification(problem):
    exact = in_field(problem)
    for name in ("spec-infer", "without-replacement"):
        assert tree_law(exact, tree_reference(name)) == enumerated_law(exact, reference("token"))


def test_a_rule_refuses_trees_that_it_is_not_for():
    problem = in_field(drawing(toy(2), 2, 1))
    with pytest.raises(InputError, match="without-replacement is for trees drawn without-replacement"):
        output_law(problem, tree_reference("without-replacement"))
    with pytest.raises(InputError, match="block verifies a single path"):
        output_law(problem, reference("block"))
    with pytest.raises(InputError, match="too many to enumerate"):
        enumerated_tree_law(in_field(drawing(drawn(3, 3, "generic"), 3, 3, 3)), tree_reference("naive").verify)
