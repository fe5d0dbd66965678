"""Rules for trees: exact laws, losslessness on every way of drafting, published values, mutants."""

from functools import partial

import pytest
from sympy import QQ

from draftproof.models.battery import drawn, toy
from draftproof.models.errors import InputError
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing, tree_battery
from draftproof.proofs import claims
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law, expected_accepted, output_law
from draftproof.proofs.laws.tree_laws import PASSES, enumerated_tree_law, formulas_for, formulas_of, tree_law
from draftproof.proofs.obligations.by_enumeration import proofs
from draftproof.tests.proofs.tree_mutants import TREE_MUTANTS
from draftproof.verifiers.evidence import HOLDS, REFUTED
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.draft_tree import WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.k_seq import is_valid, smallest_rho
from draftproof.verifiers.trees.registry import TREE_REFERENCES, tree_reference

pytestmark = pytest.mark.exact
BATTERY = [in_field(problem) for problem in tree_battery()]
LOSSLESS = [name for name, rule in TREE_REFERENCES.items() if rule.lossless]


def meant_for(rule):
    return [problem for problem in BATTERY if rule.is_for(problem.tree)]


def accepted(name, problem):
    return str(expected_accepted(tree_law(in_field(problem), tree_reference(name))))


@pytest.mark.parametrize("name", TREE_REFERENCES)
def test_the_law_text_by_text_is_the_law_tree_by_tree(name):
    rule = tree_reference(name)
    small = [p for p in meant_for(rule) if p.tree.nodes <= 4]
    for problem in small:
        law = enumerated_tree_law(problem, rule.verify)
        assert tree_law(problem, rule) == law, problem.name
        if formulas := formulas_of(rule):
            assert formulas(problem) == law, problem.name
    assert small and (formulas_of(rule) or name in ("typical", "tree-monte-carlo"))


def ends_wrong(tree, chance, right):
    """A rule that emits token 0 after an accepted path that ends at a leaf."""
    verdict = right(tree, chance)
    return verdict if tree.children(verdict.node) else verdict._replace(token=0)


@pytest.mark.parametrize("name", LOSSLESS)
def test_several_drafts_are_proved_of_the_code_that_runs_and_not_of_its_formulas_alone(name, monkeypatch):
    rule = tree_reference(name)
    wrong = partial(ends_wrong, right=rule.verify)
    monkeypatch.setitem(TREE_REFERENCES, name, rule._replace(verify=wrong))
    if rule.verify in PASSES:
        monkeypatch.setitem(PASSES, wrong, PASSES[rule.verify])
    verdicts = {p.what: p.run().verdict for p in proofs() if p.claim == "several-drafts" and p.what.startswith(name)}
    assert verdicts.pop(name) == REFUTED and set(verdicts.values()) <= {HOLDS}


def test_every_rule_with_formulas_is_run_on_trees_of_each_depth():
    for rule in map(tree_reference, LOSSLESS):
        by_formulas = [p for p in meant_for(rule) if formulas_for(p, rule)]
        assert all(p.tree.nodes > 4 for p in by_formulas)
        run = {p.gamma for p in meant_for(rule) if p not in by_formulas}
        assert run == {p.gamma for p in meant_for(rule)}, rule.name


@pytest.mark.parametrize("mutant", TREE_MUTANTS, ids=lambda m: m.name)
def test_a_mutant_of_each_rule_is_refuted(mutant):
    rule = tree_reference(mutant.of)
    small = sorted((p for p in meant_for(rule) if p.tree.nodes <= 4), key=lambda p: p.vocabulary**p.tree.nodes)
    evidence = (claims.lossless(p, enumerated_tree_law(p, mutant.verify)) for p in small)
    refuted = next((e for e in evidence if not e.holds), None)
    assert refuted is not None and refuted.witness


def test_every_lossless_rule_has_problems_to_be_proved_on():
    assert all(len(meant_for(tree_reference(name))) >= 5 for name in LOSSLESS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("naive", ["4/9", "2/3", "64/81", "70/81"]),
        ("spec-infer", ["2/3", "7/9", "23/27", "73/81"]),
        ("optimal-transport", ["2/3", "8/9", "1", "1"]),
    ],
)
def test_the_first_step_accepts_as_known_on_the_example(name, expected):
    assert [accepted(name, drawing(toy(1), n)) for n in (1, 2, 3, 4)] == expected


def test_k_seq_is_valid_just_above_the_rho_of_its_equation():
    third = QQ(1, 3)
    rows = ((third, 2 * third), (2 * third, third))
    for k, rho, rate in ((2, (5 + 13**0.5) / 6, 0.811420), (3, 1.68973, 0.896576), (4, 1.83411, 0.944703)):
        found = smallest_rho(*rows, k)
        assert is_valid(*rows, k, found) and not is_valid(*rows, k, found - QQ(1, 10**5))
        assert abs(as_float(found) - rho) < 1e-5
        problem = in_field(drawing(toy(1), k))
        assert abs(as_float(expected_accepted(tree_law(problem, tree_reference("k-seq")))) - rate) < 2e-6


def test_traversal_verification_accepts_as_known_on_two_paths_of_two_tokens():
    assert accepted("traversal", drawing(toy(2), 2, 1)) == "38/27"
    assert accepted("traversal", drawing(toy(2), 2, 1, how=WITHOUT_REPLACEMENT)) == "16/9"


@pytest.mark.parametrize(
    ("name", "block_rule"),
    [
        ("spec-infer", "token"), ("without-replacement", "token"), ("k-seq", "token"), ("traversal", "block"),
        ("greedy-multi-path", "block"), ("tree-monte-carlo", "block"), ("hierarchical", "block"),
    ],
)  # fmt: skip
def test_on_a_single_path_a_rule_has_the_law_of_a_rule_for_blocks(name, block_rule):
    for problem in (toy(2), toy(3), drawn(3, 2, "mixed"), drawn(3, 2, "zeros"), drawn(2, 3, "generic")):
        exact = in_field(problem)
        assert tree_law(exact, tree_reference(name)) == enumerated_law(exact, reference(block_rule)), problem.name


@pytest.mark.parametrize(("gamma", "tokens", "bias"), [(2, "4/3", "1/9"), (3, "16/9", "5/81")])
def test_hierarchical_decoding_as_published_accepts_too_much(gamma, tokens, bias):
    problem = in_field(toy(gamma))
    law = tree_law(problem, tree_reference("hierarchical-as-published"))
    assert str(expected_accepted(law)) == tokens
    assert str(claims.lossless(problem, law).total_variation) == bias


@pytest.mark.parametrize("name", [name for name, rule in TREE_REFERENCES.items() if not rule.lossless])
def test_a_rule_named_lossy_is_refuted_with_its_bias(name):
    rule = tree_reference(name)
    evidence = [claims.lossless(p, tree_law(p, rule)) for p in meant_for(rule) if p.tree.nodes <= 4]
    assert any(not e.holds and e.total_variation > 0 and e.witness for e in evidence)


def test_a_rule_refuses_trees_that_it_is_not_for():
    problem = in_field(drawing(toy(2), 2, 1))
    with pytest.raises(InputError, match="without-replacement is for trees drawn without-replacement"):
        output_law(problem, tree_reference("without-replacement"))
    with pytest.raises(InputError, match="block verifies a single path"):
        output_law(problem, reference("block"))
    with pytest.raises(InputError, match=r"2\^24 ways to draw 24 siblings are too many"):
        output_law(in_field(drawing(toy(1), 24)), tree_reference("k-seq"))
    with pytest.raises(InputError, match="too many to enumerate"):
        enumerated_tree_law(in_field(drawing(drawn(3, 3, "generic"), 3, 3, 3)), tree_reference("naive").verify)
