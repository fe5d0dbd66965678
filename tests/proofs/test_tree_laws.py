"""Rules for trees: exact laws, losslessness on every way of drafting, published values, mutants."""

import random
from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest
from sympy import QQ

from draftproof.models.battery import drawn, toy
from draftproof.models.drafting import draft_tree
from draftproof.models.errors import InputError
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem, with_numbers
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing, tree_battery
from draftproof.proofs import claims
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law, expected_accepted, output_law
from draftproof.proofs.laws.tree_laws import drawn_trees, enumerated_tree_law, tree_law
from draftproof.tests.proofs.tree_mutants import TREE_MUTANTS
from draftproof.verifiers.chance import RandomChance
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.descent import descend
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.k_seq import is_valid, smallest_rho
from draftproof.verifiers.trees.lossy_steps import thresholds_step
from draftproof.verifiers.trees.registry import TREE_REFERENCES, tree_reference
from draftproof.verifiers.trees.shared_gumbel import coupled
from draftproof.verifiers.trees.typical import is_typical

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
        assert tree_law(problem, rule) == enumerated_tree_law(problem, rule.verify), problem.name


@pytest.mark.parametrize("mutant", TREE_MUTANTS, ids=lambda m: m.name)
def test_a_mutant_of_each_rule_is_refuted(mutant):
    rule = tree_reference(mutant.of)
    small = sorted((p for p in meant_for(rule) if p.tree.nodes <= 4), key=lambda p: p.vocabulary**p.tree.nodes)
    evidence = (claims.lossless(p, enumerated_tree_law(p, mutant.verify)) for p in small)
    refuted = next((e for e in evidence if not e.holds), None)
    assert refuted is not None and refuted.witness


def test_every_lossless_rule_has_a_mutant_and_problems_to_be_proved_on():
    assert {mutant.of for mutant in TREE_MUTANTS} == set(LOSSLESS)
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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("naive", ["7/25", "57/125", "361/625"]),
        ("spec-infer", ["3/5", "19/25", "207/250"]),
        ("optimal-transport", ["3/5", "21/25", "123/125"]),
    ],
)
def test_the_first_step_accepts_as_known_on_three_tokens(name, expected):
    rows = [tuple(F(w, 10) for w in row) for row in ((5, 3, 2), (2, 2, 6))]
    problem = Problem(3, 1, ContextFree(rows[0]), ContextFree(rows[1]))
    assert [accepted(name, drawing(problem, n)) for n in (1, 2, 3)] == expected


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


def test_shared_noise_agrees_as_the_closed_form_says_and_as_a_simulation_does():
    p, q = ((QQ(1, 2), QQ(3, 10), QQ(1, 5)), (QQ(1, 5), QQ(1, 5), QQ(3, 5)))
    joint = coupled(p, q)
    assert [joint[x][x] for x in range(3)] == [1 / sum(max(a / p[x], b / q[x]) for a, b in zip(p, q)) for x in range(3)]
    assert [sum(row) for row in joint] == list(q) and [sum(column) for column in zip(*joint)] == list(p)
    noise = np.random.default_rng(3).exponential(size=(200_000, 3))
    picks = [np.argmin(noise / np.array([as_float(w) for w in row]), axis=1) for row in (q, p)]
    for x, y in np.ndindex(3, 3):
        assert abs(np.mean((picks[0] == x) & (picks[1] == y)) - as_float(joint[x][y])) < 0.006


def test_one_chosen_token_comes_out_too_often_by_what_the_threshold_says():
    """One sibling x: it comes out with c = min(1, 2 p(x)), all else in proportion; so TV is c - p(x)."""
    for problem in (p for p in BATTERY if p.tree.how == TOP and p.tree.children == (1,)):
        (tree,) = drawn_trees(problem)
        mass = tree.target[0][tree.tokens[0]]
        bias = claims.lossless(problem, tree_law(problem, tree_reference("thresholds"))).total_variation
        assert bias == min(1, 2 * mass) - mass


@pytest.mark.parametrize("name", ["typical", "top-n"])
def test_a_rule_that_keeps_a_set_of_tokens_is_biased_by_its_closed_form(name):
    """One draft: the law is q(x) [x in A] + q(not A) p(x)."""
    biased = 0
    for problem in (p for p in BATTERY if p.gamma == 1 and p.tree.chain and p.tree.how == IID):
        p, q = problem.target.row(()), problem.draft.row(())
        best = sorted(range(len(p)), key=lambda t: (-p[t], t))[:2]
        kept = [
            is_typical(p, x, 0.09, 0.3) if name == "typical" else x in best and p[best[0]] - p[x] <= QQ(6, 10)
            for x in range(len(p))
        ]
        rest = sum(b for b, k in zip(q, kept) if not k)
        expected = sum(abs(b * k + rest * a - a) for a, b, k in zip(p, q, kept)) / 2
        bias = claims.lossless(problem, tree_law(problem, tree_reference(name))).total_variation
        assert bias == expected
        biased += bias > 0
    assert biased >= 4


def test_an_ensemble_follows_the_mixture_and_is_half_of_the_distance_away():
    for problem in (p for p in BATTERY if p.gamma == 1 and p.tree.chain and p.tree.how == IID):
        p, q = problem.target.row(()), problem.draft.row(())
        bias = claims.lossless(problem, tree_law(problem, tree_reference("ensemble"))).total_variation
        assert bias == sum(abs(a - b) for a, b in zip(p, q)) / 4


@pytest.mark.parametrize("name", [name for name, rule in TREE_REFERENCES.items() if not rule.lossless])
def test_a_rule_named_lossy_is_refuted_with_its_bias(name):
    rule = tree_reference(name)
    evidence = [claims.lossless(p, tree_law(p, rule)) for p in meant_for(rule) if p.tree.nodes <= 4]
    assert any(not e.holds and e.total_variation > 0 and e.witness for e in evidence)


def test_thresholds_of_one_are_the_rule_for_chosen_tokens_and_count_equal_siblings_twice():
    step = thresholds_step()
    for problem in (p for p in BATTERY if p.tree.how != IID):
        law = enumerated_tree_law(problem, descend(step)) if problem.tree.nodes <= 4 else {}
        if problem.tree.how == TOP and law:
            assert law == tree_law(problem, tree_reference("top-tokens"))
        assert not law or claims.lossless(problem, law).holds
    equal_siblings = in_field(drawing(toy(1), 2))
    assert not claims.lossless(equal_siblings, enumerated_tree_law(equal_siblings, descend(step))).holds


@pytest.mark.parametrize("name", TREE_REFERENCES)
def test_sampling_on_floats_follows_the_law_enumerated_on_rationals(name):
    """Pearson's statistic of 2,000 samples against the exact law, at a false-alarm rate below 1e-9."""
    rule = tree_reference(name)
    problem = next(p for p in tree_battery() if rule.is_for(p.tree) and p.name.startswith("generic-V3-gamma2"))
    law = tree_law(in_field(problem), rule)
    floats, chance = with_numbers(problem, float), RandomChance(random.Random(11))
    counts = Counter()
    for _ in range(2_000):
        tree = draft_tree(floats.target, floats.draft, problem.tree, chance)
        counts[rule.verify(tree, chance).tokens(tree)] += 1
    assert set(counts) <= set(law)
    cells = [(counts[o], 2_000 * as_float(p)) for o, p in law.items() if 2_000 * as_float(p) >= 5]
    statistic = sum((n - e) ** 2 / e for n, e in cells)
    assert len(cells) >= 4 and statistic < len(cells) + 7 * (2 * len(cells)) ** 0.5 + 40


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
