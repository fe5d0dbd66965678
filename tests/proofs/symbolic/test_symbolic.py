"""Statements about all models of a size; each query has a defect for which it is satisfiable."""

import signal
import subprocess
import sys
import time

import pytest
import z3

from draftproof.proofs.symbolic.single_steps import LEMMAS, Query, ask
from draftproof.tests.proofs.symbolic.mutants import OF_LEMMAS

pytestmark = pytest.mark.symbolic


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
def test_every_step_holds_for_all_rows_and_every_survival(lemma, size):
    assert ask(lemma.query(lemma.rule, size)).verdict == "holds"


@pytest.mark.parametrize("size", [2, 8])
@pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
def test_the_same_query_about_a_defect_has_a_counterexample(lemma, size):
    found = ask(OF_LEMMAS[lemma.name].asked(lemma, size))
    assert found.verdict == "refuted"
    assert found.model is not None


@pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
def test_no_step_is_vacuous(lemma):
    """What is assumed can be met."""
    solver = z3.Solver()
    solver.add(*lemma.query(lemma.rule, 3).given)
    assert solver.check() == z3.sat


def test_a_question_that_is_not_answered_in_time_is_no_evidence(busy_machine):
    """One far beyond the solver; beside busy processes the limit is this process's own time all the same."""
    x, y, z = z3.Reals("x y z")
    hard = Query(
        x**5 * y**4 + z**7 * x**3 - y**6 * z**5 + x * y * z != 1 + z**9, [x > 1, y > 1, z > 1, x**3 + y**5 == z**4 + 2]
    )
    for limit in (0.01, 0.5):
        before = time.process_time()
        assert ask(hard, limit).verdict == "no-evidence"
        assert limit <= time.process_time() - before < limit + 60


@pytest.mark.long
def test_a_machine_that_stands_still_takes_no_proof_away(busy_machine):
    """The process is stopped in the middle, for longer than its limit."""
    program = """
from draftproof.proofs.symbolic.tree_rules import TREE_CLAIMS
(rule,) = (r for r in TREE_CLAIMS if r.name == "naive")
print("begins", flush=True)
print(rule.decide(*rule.sizes[1], 4.0).verdict)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGSTOP)
        time.sleep(4.5)
        process.send_signal(signal.SIGCONT)
        assert process.communicate()[0] == "holds\n"


@pytest.mark.parametrize("lemma", [lemma for lemma in LEMMAS if lemma.name.startswith("block")], ids=lambda x: x.name)
def test_what_is_assumed_leaves_out_no_survival_and_no_zero(lemma):
    """p = 0 and p = 1, and rows with a zero, are among the models that a lemma of block verification speaks of."""
    given = lemma.query(lemma.rule, 3).given
    names = {str(x) for fact in given for x in z3util_names(fact)}
    for name in names & {"p", "b", "s", "b0", "s0"}:
        for value in (0, 1):
            solver = z3.Solver()
            solver.add(*given, z3.Real(name) == value)
            allowed = not (name == "s" and value == 0 and "dominance" in lemma.name)
            assert (solver.check() == z3.sat) == allowed, (name, value)


def z3util_names(fact):
    """The variables of a z3 term."""
    if z3.is_const(fact) and fact.decl().kind() == z3.Z3_OP_UNINTERPRETED:
        yield fact
    for child in fact.children():
        yield from z3util_names(child)
