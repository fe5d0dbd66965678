"""Exact laws: the published figures, the two ways to compute them, the second form of block verification."""

import json
from importlib.resources import files

import pytest
from sympy import QQ

from draftproof.models.battery import toy
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import (
    acceptance_ccdf,
    enumerated_law,
    expected_accepted,
    expected_tokens,
    iterated_law,
    output_law,
)
from draftproof.tests.proofs.enumerated import EXACT
from draftproof.verifiers.registry import REFERENCES, reference

pytestmark = pytest.mark.exact
PUBLISHED = json.loads(files("draftproof.tests.proofs").joinpath("published.json").read_text())
SMALL = [p for p in EXACT if p.vocabulary**p.gamma <= 100]


@pytest.mark.parametrize("gamma", sorted(map(int, PUBLISHED["expected_accepted"])))
def test_the_paper_example_gives_the_published_expected_acceptance(gamma):
    problem = in_field(toy(gamma))
    for name, expected in PUBLISHED["expected_accepted"][str(gamma)].items():
        if name == "token" and gamma > 6:
            continue  # enumeration of 2^gamma blocks; its closed form is tested in test_closed_forms
        assert str(expected_accepted(output_law(problem, reference(name)))) == expected


def test_figure_3_complementary_cdf_at_gamma_10():
    for name, curve in PUBLISHED["figure_3_ccdf"].items():
        observed = acceptance_ccdf(output_law(in_field(toy(10)), reference(name)), 10)
        assert [str(p) for p in observed] == curve


@pytest.mark.parametrize("name", ["block", "greedy-block"])
def test_expected_tokens_after_one_two_and_three_iterations(name):
    problem = in_field(toy(2))
    observed = [str(expected_tokens(iterated_law(problem, reference(name), i))) for i in (1, 2, 3)]
    assert observed == PUBLISHED["expected_tokens_by_iteration"][name]


@pytest.mark.parametrize("problem", SMALL, ids=lambda p: p.name)
def test_the_one_pass_law_is_the_law_of_the_code_that_runs(problem):
    problem = in_field(problem)
    for verifier in REFERENCES.values():
        if verifier.rule is not None:
            assert output_law(problem, verifier) == enumerated_law(problem, verifier)


def test_law_of_multiplies_along_paths_and_adds_over_them():
    def program(chance):
        first = chance.flip(QQ(1, 3))
        return chance.draw([1, 2, 0, 1]) if first else 3

    assert law_of(program) == {0: QQ(1, 12), 1: QQ(1, 6), 3: QQ(1, 12) + QQ(2, 3)}


@pytest.mark.parametrize("probability", [QQ(4, 3), QQ(-1, 3)])
def test_a_flip_outside_zero_and_one_is_an_error(probability):
    with pytest.raises(ValueError, match=r"not in \[0, 1\]"):
        law_of(lambda chance: chance.flip(probability))


def test_a_draw_from_a_negative_weight_is_an_error():
    with pytest.raises(ValueError, match="negative weight"):
        law_of(lambda chance: chance.draw([QQ(-1, 3), QQ(4, 3)]))
