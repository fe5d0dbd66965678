"""The bound on draft trees over wide vocabularies: above the certified optimum of small ones, and never far."""

from fractions import Fraction as F

import numpy as np
import pytest

from draftproof.corpus.literature import wide_tree_bound as wide
from draftproof.corpus.literature import wide_tree_rules as wide_rules
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing
from draftproof.proofs.certificates.make_tree_bound import largest_acceptance
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import acceptance_ccdf, expected_accepted
from draftproof.proofs.laws.tree_laws import tree_law
from draftproof.verifiers.trees.registry import tree_reference

PAIRS = [((F(1, 3), F(2, 3)), (F(2, 3), F(1, 3))), ((F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(1, 5), F(3, 5)))]
TREES = [(1,), (3,), (1, 1), (2, 1), (3, 1), (2, 2)]


def as_arrays(*rows):
    return (np.array([float(w) for w in row]) for row in rows)


def law_of_rule(name, p, q, children):
    exact = in_field(drawing(Problem(len(p), len(children), ContextFree(p), ContextFree(q)), *children))
    return as_float(expected_accepted(tree_law(exact, tree_reference(name))))


def certified(p, q, children):
    problem = Problem(len(p), len(children), ContextFree(p), ContextFree(q))
    return tuple(map(as_float, largest_acceptance(drawing(problem, *children))))


@pytest.mark.parametrize("children", TREES, ids=str)
@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_it_is_above_what_a_valid_rule_reaches_and_at_most_10_percent(p, q, children):
    target, draft = as_arrays(p, q)
    reached, _ = certified(p, q, children)
    found, _ = wide.best_bound(wide.ratios_of(target, draft), children)
    assert reached <= found <= (1.1 if len(children) > 1 else 1.000001) * reached
    assert all(wide.accepted_by(rule, target, draft, children) <= reached + 1e-9 for rule in wide.RULES)


@pytest.mark.parametrize("children", [(2, 1), (2, 2)], ids=str)
def test_whatever_the_sets_it_is_a_bound_and_without_the_target_s_mass_in_them_it_is_none(children):
    target, draft = as_arrays(*PAIRS[0])
    ratios, random = wide.ratios_of(target, draft), np.random.default_rng(1)
    reached, _ = certified(*PAIRS[0], children)
    for thresholds in random.integers(0, 2 * len(ratios.draft), size=(50, 2)):
        assert wide.bound(ratios, children, thresholds) >= reached
    _, best = wide.best_bound(ratios, children)
    assert wide.bound(ratios._replace(target=0 * ratios.target), children, best) < reached


def test_on_a_single_path_it_is_the_value_of_the_optimal_coupling():
    for gamma, value in ((1, 2 / 3), (2, 4 / 3), (3, 50 / 27)):
        found, _ = wide.best_bound(wide.ratios_of(*as_arrays(*PAIRS[0])), (1,) * gamma)
        assert abs(found - value) < 1e-6


def test_each_rule_accepts_as_its_own_code_does():
    for p, q in PAIRS:
        problem = Problem(len(p), 1, ContextFree(p), ContextFree(q))
        for rule in wide.RULES:
            for k in (1, 2, 3):
                law = tree_law(in_field(drawing(problem, k)), tree_reference(rule))
                exact = as_float(acceptance_ccdf(law, 1)[1])
                assert abs(wide.RULES[rule](*as_arrays(p, q), k) - exact) < 2e-6, (rule, k)


@pytest.mark.parametrize("children", [(1,), (3,), (1, 1), (3, 1), (2, 2), (2, 1, 1), (2, 1, 2)], ids=str)
@pytest.mark.parametrize(("p", "q"), [*PAIRS, (PAIRS[1][0], PAIRS[1][0]), ((F(0), F(1)), (F(1, 2), F(1, 2)))])
def test_traversal_accepts_as_its_own_code_does(p, q, children):
    exact = law_of_rule("traversal", p, q, children)
    assert abs(wide_rules.traversal(*as_arrays(p, q), children) - exact) < 1e-5


@pytest.mark.parametrize("children", [(1,), (3,), (1, 1), (1, 1, 1), (3, 1), (2, 2), (2, 1, 2)], ids=str)
@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_scaled_transport_lies_between_its_bounds_the_lower_one_that_of_transport_step_by_step(p, q, children):
    """Where equal siblings go on together it may lie above them; where none are equal, and in one step, it may not."""
    low, high = wide_rules.scaled_transport(*as_arrays(p, q), children)
    exact = law_of_rule("scaled-transport", p, q, children)
    assert abs(low - wide.accepted_by("optimal-transport", *as_arrays(p, q), children)) < 1e-9
    assert exact > low - 1e-9
    assert exact < high + 1e-9 or children not in ((1,), (3,), (1, 1), (1, 1, 1))


@pytest.mark.parametrize("children", [(1, 1), (3,), (3, 1), (2, 1, 1)], ids=str)
@pytest.mark.parametrize(("p", "q"), [*PAIRS, ((F(0), F(1)), (F(1, 2), F(1, 2)))])
def test_greedy_multi_path_is_sampled_within_five_standard_errors(p, q, children):
    mean, error = wide_rules.greedy_multi_path(*as_arrays(p, q), children[0], len(children))
    assert abs(mean - law_of_rule("greedy-multi-path", p, q, children)) <= 5 * error + 1e-9


def test_another_order_or_another_number_of_paths_is_noticed():
    p, q = PAIRS[1]
    exact = law_of_rule("greedy-multi-path", p, q, (3, 1))
    for paths in (2, 4):
        mean, error = wide_rules.greedy_multi_path(*as_arrays(p, q), paths, 2)
        assert abs(mean - exact) > 5 * error
