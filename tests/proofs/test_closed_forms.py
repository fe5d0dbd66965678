"""Leviathan et al.'s closed forms against exact laws, and their arithmetic at the ends of the range."""

from fractions import Fraction as F

import pytest

from draftproof.models.battery import toy
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem
from draftproof.proofs.closed_forms import acceptance_rate, best_gamma, expected_tokens, wall_time_factor
from draftproof.proofs.laws import expected_accepted, in_field, output_law
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("gamma", [1, 2, 3, 4, 6])
@pytest.mark.parametrize(
    ("target", "draft"),
    [((F(1, 3), F(2, 3)), (F(2, 3), F(1, 3))), ((F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(1, 5), F(3, 5)))],
)
def test_token_verification_decodes_the_closed_form_on_context_free_models(gamma, target, draft):
    problem = in_field(Problem(len(target), gamma, ContextFree(target), ContextFree(draft)))
    alpha = acceptance_rate(problem.target.row(()), problem.draft.row(()))
    assert expected_accepted(output_law(problem, reference("token"))) + 1 == expected_tokens(alpha, gamma)


def test_block_verification_is_not_given_by_the_closed_form():
    """The check above can fail: the same formula is wrong for block verification from gamma = 2 on."""
    problem = in_field(toy(2))
    alpha = acceptance_rate(problem.target.row(()), problem.draft.row(()))
    assert expected_accepted(output_law(problem, reference("block"))) + 1 != expected_tokens(alpha, 2)


def test_the_acceptance_rate_of_the_paper_example_is_two_thirds():
    """The blog post prints 1/3, which is the total variation distance and not the acceptance rate."""
    problem = toy(2)
    assert acceptance_rate(problem.target.row(()), problem.draft.row(())) == F(2, 3)
    assert expected_tokens(F(2, 3), 2) == F(19, 9)


def test_the_ends_of_the_range():
    assert expected_tokens(F(1), 5) == 6
    assert expected_tokens(F(0), 5) == 1
    assert wall_time_factor(F(1, 2), 0, F(1, 10)) == 1
    for bad in (-1, F(3, 2)):
        with pytest.raises(ValueError, match="acceptance rate"):
            expected_tokens(bad, 2)
    with pytest.raises(ValueError, match="cost ratio"):
        wall_time_factor(F(1, 2), 2, -1)
    with pytest.raises(ValueError, match="finite only"):
        best_gamma(F(1), F(1, 10))


@pytest.mark.parametrize("alpha", [F(1, 10), F(1, 2), F(7, 10), F(9, 10), F(99, 100)])
@pytest.mark.parametrize("cost", [F(1, 100), F(1, 20), F(1, 5), F(1, 2), F(2)])
def test_the_best_gamma_is_the_best_of_all(alpha, cost):
    factors = [wall_time_factor(alpha, gamma, cost) for gamma in range(200)]
    assert best_gamma(alpha, cost) == factors.index(max(factors))


def test_speculation_never_helps_where_the_draft_costs_more_than_it_is_accepted():
    assert best_gamma(F(1, 2), F(1, 2)) == 0
    assert best_gamma(F(1, 2), F(49, 100)) >= 1
