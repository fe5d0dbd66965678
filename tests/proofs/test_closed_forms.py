"""Leviathan et al.'s closed forms against exact laws, and their arithmetic at the ends of the range."""

from fractions import Fraction as F

import pytest
from sympy import QQ

from draftproof.models.battery import KINDS, drawn, toy
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem
from draftproof.proofs.closed_forms import (
    acceptance_rate,
    best_gamma,
    expected_tokens,
    lenience_bias,
    operations_factor,
    wall_time_factor,
)
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import completed, expected_accepted, joint_law, output_law, total_variation
from draftproof.verifiers.lenient_token_verification import lenient_token_verification
from draftproof.verifiers.registry import Reference, reference

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
    with pytest.raises(ValueError, match="cost ratio"):
        operations_factor(F(1, 2), 2, -1)


@pytest.mark.parametrize("alpha", [F(1, 10), F(1, 2), F(7, 10), F(9, 10), F(99, 100)])
@pytest.mark.parametrize("cost", [F(1, 100), F(1, 20), F(1, 5), F(1, 2), F(2)])
def test_the_best_gamma_is_the_best_of_all(alpha, cost):
    factors = [wall_time_factor(alpha, gamma, cost) for gamma in range(200)]
    assert best_gamma(alpha, cost) == factors.index(max(factors))


LENIENCES = [QQ(1), QQ(9, 10), QQ(1, 2), QQ(1, 7), QQ(1, 1000)]


def first_token_bias(problem, verify):
    law = completed(output_law(problem, Reference("lenient", verify, "")), problem.target, 1)
    return total_variation(law, joint_law(problem.target, 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("vocabulary", "gamma"), [(2, 1), (3, 2), (4, 2), (7, 1)])
def test_the_bias_of_lenience_is_the_closed_form_on_every_kind_of_rows(vocabulary, gamma, kind):
    problem = in_field(drawn(vocabulary, gamma, kind))
    rows = problem.target.row(()), problem.draft.row(())
    found = [first_token_bias(problem, lenient_token_verification(lenience)) for lenience in LENIENCES]
    assert found == [lenience_bias(*rows, lenience) for lenience in LENIENCES]
    assert found == sorted(found)
    assert found[0] == 0
