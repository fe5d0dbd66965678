"""Certificates over several iterations: the optimum of all strategies; rejected when anything in them is changed."""

import json

import pytest
from sympy import QQ

from draftproof.models.battery import drawn, drawn_markov, toy
from draftproof.proofs.certificates.check_iterations import check
from draftproof.proofs.certificates.linear_program import most_tokens
from draftproof.proofs.certificates.make_iterations import certificate
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_accepted, output_law
from draftproof.proofs.theorem_2 import pair
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.certificate


@pytest.mark.parametrize(
    ("problem", "iterations"),
    [(pair(2), 3), (pair(3, QQ(2, 3)), 2), (drawn_markov(3, 2, "zeros"), 2), (drawn_markov(2, 1, "mixed"), 3)],
    ids=lambda p: getattr(p, "name", p),
)  # fmt: skip
def test_it_proves_what_the_linear_programs_over_all_kernels_find(problem, iterations):
    """Those know neither the polytope of reaches nor the prices."""
    value = check(json.dumps(certificate(problem, iterations)))
    assert float(value) == pytest.approx(most_tokens(problem, iterations), abs=1e-7)


@pytest.mark.parametrize("problem", [drawn(3, 2, "generic"), drawn(2, 3, "mixed"), toy(3)], ids=lambda p: p.name)
def test_in_one_iteration_the_optimum_is_block_verification(problem):
    value = check(json.dumps(certificate(problem, 1)))
    assert str(value) == str(1 + expected_accepted(output_law(in_field(problem), reference("block"))))
