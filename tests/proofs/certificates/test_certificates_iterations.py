"""Certificates over several iterations: the optimum of all strategies; rejected when anything in them is changed."""

import json
from fractions import Fraction as F
from functools import cache

import pytest
from sympy import QQ

from draftproof.models.battery import drawn, drawn_markov, toy
from draftproof.models.errors import InputError
from draftproof.proofs.certificates.check import Rejected
from draftproof.proofs.certificates.check_iterations import check
from draftproof.proofs.certificates.linear_program import most_tokens
from draftproof.proofs.certificates.make_iterations import certificate, tables
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import IteratedLaw, expected_accepted, output_law
from draftproof.proofs.theorem_2 import SURE_BONUS, pair
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.certificate


@cache
def made(iterations=2):
    return json.dumps(certificate(toy(2), iterations))


@pytest.mark.parametrize(
    ("problem", "iterations"),
    [(pair(2), 3), (pair(3, QQ(2, 3)), 2), (drawn_markov(3, 2, "zeros"), 2), (drawn_markov(2, 1, "mixed"), 3),
     (drawn_markov(2, 2, "one-hot-draft"), 2), (drawn_markov(2, 2, "disjoint"), 2)],
    ids=lambda p: getattr(p, "name", p),
)  # fmt: skip
def test_it_proves_what_the_linear_programs_over_all_kernels_find(problem, iterations):
    """Those know neither the polytope of reaches nor the prices."""
    value = check(json.dumps(certificate(problem, iterations)))
    assert float(value) == pytest.approx(most_tokens(problem, iterations), abs=1e-7)


@pytest.mark.parametrize("t", [QQ(1, 4), QQ(1, 2), QQ(2, 3)])
def test_the_counterexample_is_optimal_where_it_wins(t):
    """5 + 3 t^2 of block verification against 4 + 4 t: the larger is the optimum, to the last digit."""
    value = check(json.dumps(certificate(pair(2, t), 3)))
    assert str(value) == str(max(5 + 3 * t**2, 4 + 4 * t))
    assert str(value) == str(
        max(IteratedLaw(pair(2, t), v).expected_tokens(3) for v in (reference("block"), SURE_BONUS))
    )


@pytest.mark.parametrize("problem", [drawn(3, 2, "generic"), drawn(2, 3, "mixed"), toy(3)], ids=lambda p: p.name)
def test_in_one_iteration_the_optimum_is_block_verification(problem):
    value = check(json.dumps(certificate(problem, 1)))
    assert str(value) == str(1 + expected_accepted(output_law(in_field(problem), reference("block"))))


def more(number):
    return str(F(number) + F(1, 1000))


def change(*path, to):
    def tamper(data):
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to(place[path[-1]]) if callable(to) else to

    return tamper


FIRST, LAST = ("texts", "2", ""), ("texts", "1", "0,1")


def consistent_lie(data):
    """Everything that is claimed is raised together."""
    data["expected_tokens"] = more(data["expected_tokens"])
    data["texts"]["2"][""]["value"] = more(data["texts"]["2"][""]["value"])


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (change("expected_tokens", to=more), "its texts show 40/9 tokens"),
        (consistent_lie, "its reaches are worth 40/9"),
        (change(*LAST, "value", to=more), "its reaches are worth"),
        (change(*LAST, "reach", "1", to=more), "no valid verifier keeps (1,)"),
        (change(*FIRST, "reach", "0,1", to="-1/9"), "no valid verifier keeps (0, 1)"),
        (change(*FIRST, "reach", "0,0", to="0"), "its reaches are worth"),
        (change(*FIRST, "drafted", "1", to="0"), "the prices of (1,) do not cover"),
        (change(*FIRST, "drafted", "1", to="-1"), "a price of (1,) is negative"),
        (change(*FIRST, "parent", "0", to=more), "its bound is"),
        (change(*FIRST, "reach", to={}), "numbers for other prefixes"),
        (change(*FIRST, to={}), "does not have exactly"),
        (change("texts", "1", to={}), "not exactly those that 1 of its iterations may emit"),
        (change("texts", to={}), "not given for exactly the iterations to come"),
        (change("iterations", to=1), "does not have exactly the prefixes"),
        (change("iterations", to=0), "not a whole number"),
        (change("iterations", to="2"), "not a whole number"),
        (change("problem", "gamma", to=10**9), "too many texts"),
        (change("problem", "vocabulary", to="two"), "positive whole numbers"),
        (change("problem", "target", "0,1,1", to=["1/2", "1/2"]), "do not cover what it gains"),
        (change("problem", "target", "0,1,1", to=["1/2", "1/3"]), "is not a probability row"),
        (change("problem", to=[]), "positive whole numbers"),
        (change("format", to="draftproof-certificate/2"), "not a certificate"),
    ],
)  # fmt: skip
def test_a_tampered_certificate_is_rejected_with_the_reason(tamper, reason):
    data = json.loads(made())
    tamper(data)
    with pytest.raises(Rejected) as caught:
        check(json.dumps(data))
    assert reason in str(caught.value)


def test_it_belongs_to_one_problem():
    assert check(made(), tables(toy(2), 2)) == F(40, 9)
    with pytest.raises(Rejected, match="another problem"):
        check(made(), tables(drawn_markov(2, 2), 2))


def test_too_many_texts_and_rows_that_stop_short_are_refused():
    with pytest.raises(InputError, match="expected at most 4,096"):
        certificate(toy(2), 9)
    with pytest.raises(InputError, match="no row for the prefix"):
        certificate(drawn(2, 2, "generic"), 2)
