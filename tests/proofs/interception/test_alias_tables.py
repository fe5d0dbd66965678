"""A column and a coin are one draw from the row that two tables make up; what is no such table leaves no law."""

from types import SimpleNamespace

import numpy as np
import pytest

from draftproof.models.battery import toy
from draftproof.models.wide import wide
from draftproof.proofs.interception.alias_tables import AliasTable
from draftproof.proofs.interception.called_ids import CalledIds
from draftproof.proofs.interception.row_draws import PLACES, RowDraw
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.tests.subjects import alias_tables as subjects

pytestmark = pytest.mark.interception


@pytest.fixture(scope="module")
def box():
    with Sandbox("", timeout=120) as shared:
        yield shared


def law_of(box, name, problem):
    box.load(f"{subjects.__file__}:{name}", [toy(1)])
    return measured_wide(problem, box.dtype, box.law(problem))


PROBLEMS = [wide(1003, 2, "tails"), wide(5003, 1)]


@pytest.mark.parametrize("name", subjects.RIGHT)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_right_table_has_a_law_whichever_numbers_lead_to_a_column_and_a_coin(box, name, problem):
    law = law_of(box, name, problem)
    assert law.known and law.lossless.verdict == "holds", law.reason
    assert law.lossless.size < (1e-6 if "coarse" in name else 5e-12) and law.called > 100


@pytest.mark.long
def test_a_table_of_a_large_vocabulary_has_a_law():
    with Sandbox("", timeout=600) as box:
        law = law_of(box, "by_two_numbers", wide(65_537, 1, "tails"))
    assert law.known and law.lossless.verdict == "holds" and law.called > 250, law.reason


SLOW = {"coins_of_the_column_before", "other_aliases_than_those_at_hand", "evenly"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n in SLOW)) for n in subjects.WRONG])
def test_a_wrong_table_is_refuted_or_leaves_no_law(box, name):
    law = law_of(box, name, wide(1003, 1))
    assert law.lossless.refutes if subjects.WRONG[name] else law.lossless.refutes or not law.known


def test_an_id_that_is_exchanged_is_refuted_where_it_is_called(box):
    assert law_of(box, "one_id_for_its_neighbour", wide(1003, 1)).lossless.refutes


def test_a_table_of_the_ids_that_are_left_of_a_row_has_a_law_where_they_are_in_order(box):
    law = law_of(box, "by_a_table_of_ids", wide(5003, 1))
    assert law.known and law.lossless.verdict == "holds", law.reason


def test_a_table_computed_in_single_precision_is_excused_its_rounding_and_no_more():
    with Sandbox("", dtype="float32", timeout=120) as box:
        for name in ("by_lists", "from_the_last_id", "sorted_first"):
            right = law_of(box, name, wide(1003, 1))
            assert right.known and right.lossless.verdict == "holds", right.reason
            assert right.lossless.size < 2e-6
        assert law_of(box, "one_alias_for_another", wide(1003, 1)).lossless.refutes


def test_calls_lead_to_columns_and_to_their_aliases():
    size = 5003
    kept = np.random.default_rng(0).random(size) / size
    row = RowDraw(np.append(kept, 1 / size - kept), 7, 0)
    row.tokens, row.size = np.append(np.arange(size), np.roll(np.arange(size), 1)), size
    ids = CalledIds(size, [3], 0, 1, 0, lambda position: (0, 1), False)
    called, replayed = ids.of(row, 0), ids.telling(row, [3])
    for calls, least in ((called, 24), (replayed, 4)):
        assert sum(i < size for i in calls) > least and sum(i >= size for i in calls) > least
    assert {size, 2 * size - 1, 0, size - 1, 1024, 3} <= {*called} and {0, 2 * size - 1} <= {*replayed}


def test_the_weights_of_tokens_are_those_of_their_columns_and_what_leads_to_them_lies_there():
    columns, coin = SimpleNamespace(order=0), SimpleNamespace(order=1)
    sides = np.array([[0, 0, 0, 2, 8, 8], [2, 8, 8, 8, 8, 8]])
    table = AliasTable(columns, coin, np.arange(4), sides, np.array([0, 1, 2, 1, 1, 2]))
    row = RowDraw(table.weights(), 0, 0, table.lead)
    row.tokens, row.size = table.tokens, 3
    assert (row.of_tokens(row.weights) * 8).tolist() == [2, 14, 8]
    for index in row.possible.tolist():
        for where in PLACES:
            points = [0, 0]
            table.lead(points, index, where)
            column, thrown = points
            assert column == index % 3 and sides[0, index] <= thrown < sides[1, index]
