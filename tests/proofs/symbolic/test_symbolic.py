"""Single steps for all rows of a size: each lemma holds, and each defect has a counterexample."""

import time

import pytest
import z3

from draftproof.proofs.symbolic.single_steps import LEMMAS, Query, ask, joint_token, lemma_3, lemma_8, lemma_9, token
from draftproof.tests.proofs.symbolic.mutants import OF_LEMMAS
from draftproof.verifiers import block_verification as block
from draftproof.verifiers import greedy_block_verification as greedy

pytestmark = pytest.mark.symbolic


@pytest.mark.parametrize("size", [2, 8])
@pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
def test_the_same_query_about_a_defect_has_a_counterexample(lemma, size):
    found = ask(OF_LEMMAS[lemma.name].asked(lemma, size))
    assert found.verdict == "refuted"
    assert found.detail is not None


FROM_THE_TARGET = {"rest": lambda target, draft, survival: list(target)}


@pytest.mark.parametrize(
    ("query", "rule", "defect"),
    [
        (lemma_3, block.RULE, {"accept_all": lambda survival: z3.RealVal(1)}),
        (lemma_9, greedy.RULE, {"accept_all": lambda survival: z3.RealVal(0)}),
        (token, block.RULE, FROM_THE_TARGET), (joint_token, greedy.RULE, FROM_THE_TARGET),
        (lemma_8, greedy.RULE, FROM_THE_TARGET),
    ],
)  # fmt: skip
def test_where_the_induction_begins_and_what_a_rejection_draws_from_are_asked_of_the_code(query, rule, defect):
    """Both were taken from the library, and lemmas held of rules with others."""
    assert ask(query(rule, 2)).verdict == "holds"
    assert ask(query(rule._replace(**defect), 2)).verdict == "refuted"


@pytest.mark.parametrize("size", [2, 8])
def test_a_linear_query_without_one_assumption_is_refuted_and_one_that_is_not_linear_is_never_proved(size):
    query = lemma_8(greedy.RULE, size)
    assert ask(query._replace(given=query.given[:-1])).verdict == "refuted"
    assert ask(query._replace(claim=query.claim == z3.BoolVal(False))).verdict == "refuted"
    x, y = z3.Reals("x y")
    assert ask(Query(x * y != 3, [x == 2, y == 1.5], "QF_LRA")).verdict != "holds"


@pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
def test_no_step_is_vacuous(lemma):
    """What is assumed can be met."""
    solver = z3.Solver()
    solver.add(*lemma.query(lemma.rule, 3).given)
    assert solver.check() == z3.sat


def test_a_question_that_is_not_answered_in_time_is_no_evidence():
    x, y, z = z3.Reals("x y z")
    hard = Query(
        x**5 * y**4 + z**7 * x**3 - y**6 * z**5 + x * y * z != 1 + z**9, [x > 1, y > 1, z > 1, x**3 + y**5 == z**4 + 2]
    )
    before = time.process_time()
    assert ask(hard, 0.5).verdict == "no-evidence"
    assert 0.5 <= time.process_time() - before < 60
