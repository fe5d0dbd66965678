"""The calls on a wide block share its rows while none writes to them."""

import operator
import types

import numpy as np
import pytest

from draftproof.models.battery import toy
from draftproof.models.wide import wide
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.interception.exploration import Exploration
from draftproof.proofs.interception.given_again import same
from draftproof.proofs.interception.numbers import Traced
from draftproof.proofs.interception.row_draws import WideTracer
from draftproof.proofs.interception.rows_in_use import WideRows
from draftproof.proofs.interception.sources import Lattice
from draftproof.proofs.interception.tracer import in_force
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox

SUBJECTS, TENSORS = "draftproof.tests.subjects.written_rows", "draftproof.tests.subjects.written_tensors"


def law_of(name, problem):
    if name in OF_TENSORS:
        pytest.importorskip("torch")
    with Sandbox(f"{TENSORS if name in OF_TENSORS else SUBJECTS}:{name}") as child:
        child.start([toy(1)])
        return measured_wide(problem, "float64", child.law(problem))


KNOWN_AGAIN = ["known_again", "marked", "known_weakly", "view_kept", "counted"]
BY_ADDRESS = "right_at_new_addresses"
OF_TENSORS = ["after_use", "before_use", "through_numpy", *KNOWN_AGAIN, BY_ADDRESS]
AFTER_USE = ["written_after_use", "lists_written_after_use", "lists_with_another_row", "after_use"]


@pytest.mark.parametrize("name", [*AFTER_USE, "in_the_first_rows_it_got"])
def test_who_writes_to_rows_has_the_law_of_calls_with_fresh_ones_and_it_is_said(name):
    law = law_of(name, wide(129, 2))
    assert judge(law)[0].verdict == "holds" and law.known
    assert ("inputs-written" in law.findings) == (name in AFTER_USE)


@pytest.mark.parametrize("name", ["written_before_use", "lists_written_before_use", "before_use", "through_numpy"])
def test_who_writes_to_rows_before_use_gets_fresh_ones_in_every_call(name):
    law, problem = law_of(name, wide(129, 1)), wide(129, 1)
    right, draft = problem.target_row(()), problem.draft_row(())
    wrong = right.copy()
    wrong[0] *= 0.9
    residual = np.maximum(wrong - draft, 0)
    emitted = np.minimum(wrong, draft) + np.maximum(draft - wrong, 0).sum() * residual / residual.sum()
    assert law.known and "inputs-written" in law.findings
    assert law.total_variation == pytest.approx(np.abs(emitted - right).sum() / 2, rel=1e-9)


@pytest.mark.parametrize("name", ["lists_known_again", "lists_marked", "lists_grown", *KNOWN_AGAIN])
def test_each_call_gets_rows_that_are_not_known_again(name):
    law = law_of(name, wide(1003, 1))
    assert law.known and judge(law)[0].refuted and law.total_variation > 0.1


@pytest.mark.parametrize("name", [BY_ADDRESS, f"lists_{BY_ADDRESS}", "lists_by_other_weights"])
def test_no_law_hides_what_the_address_of_rows_or_a_plain_number_decides(name):
    assert judge(law_of(name, wide(1003, 1)))[0].verdict != "holds"


def rows_of(array):
    about = types.SimpleNamespace(function=None, array=array, dtype="float64", exploration=Exploration())
    return WideRows(wide(129, 1), about)


@pytest.mark.parametrize("array", ["torch", "numpy", "rows"])
def test_other_rows_than_lists_are_made_anew(array):
    if array == "torch":
        pytest.importorskip("torch")
    rows = rows_of(array)
    assert not rows.take_back(rows.given(next(rows.blocks()))[0])


@pytest.mark.parametrize("hold", [lambda given: given[0], lambda given: given[1][0], lambda given: iter(given[0][1])])
def test_rows_are_given_again_where_nothing_holds_them(hold):
    rows = rows_of("list")
    block = next(rows.blocks())
    given, kept = rows.given(block)
    for held in (False, True, False):
        before = [*map(id, given[0]), *map(id, given[1])]
        holding = hold(given) if held else None
        assert rows.take_back(given)
        again = rows.given(block)[0]
        assert ([*map(id, again[0]), *map(id, again[1])] == before) == (not held), holding
        assert not any(map(operator.is_, again, given)) and again == given == kept
        given = again


def test_a_list_in_which_an_equal_number_stands_is_not_given_again():
    rows = rows_of("list")
    given, kept = rows.given(next(rows.blocks()))
    given[0][1][3] = kept[0][1][3] + 0.0
    assert given == kept and not rows.take_back(given)


def test_a_list_that_was_written_to_is_another_also_where_a_followed_number_stands_in_it():
    tracer, row = WideTracer(Exploration(), 200, ()), [0.25, 0.75]
    assert tracer.begin()
    number = Traced(Lattice(tracer, 53))
    with in_force(tracer):
        assert same([row.copy()], [row]) and not same([[0.25, 0.5]], [row]) and not same([[0.25]], [row])
        assert not same([[0.25, number]], [row]) and not same([[number, 0.75]], [row])
        assert not same([[0.25, np.zeros(2)]], [row]) and not same([(0.25, 0.75)], [row])
    assert not tracer.path
