"""A column and a coin are one draw from the row that two tables make up; what is no such table leaves no law."""

from functools import partial

import numpy as np
import pytest

from draftproof.models.battery import toy
from draftproof.models.wide import wide
from draftproof.proofs.interception.alias_tables import AliasTable
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.wide_measurement import measured_wide
from draftproof.tests.subjects import alias_tables as subjects

pytestmark = pytest.mark.interception


@pytest.fixture(scope="module")
def box():
    with Sandbox("", timeout=120) as shared:
        yield shared


def law_of(box, name, problem):
    box.load(f"{subjects.__file__}:{name}", [toy(1)])
    return measured_wide(problem, box.dtype, box.law(problem))


PROBLEMS = [wide(1003, 2, "tails"), wide(32_000, 1), wide(65_537, 1, "tails")]


@pytest.mark.parametrize("name", subjects.RIGHT)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_right_table_has_a_law_whichever_numbers_lead_to_a_column_and_a_coin(box, name, problem):
    law = law_of(box, name, problem)
    assert law.known and law.lossless.verdict == "holds", law.reason
    assert law.lossless.size < 5e-12 and law.called > 100


SLOW = {"coins_of_the_column_before", "other_aliases_than_those_at_hand", "evenly"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n in SLOW)) for n in subjects.WRONG])
def test_a_wrong_table_is_refuted_or_leaves_no_law(box, name):
    law = law_of(box, name, wide(1003, 1))
    assert law.lossless.refutes if subjects.WRONG[name] else law.lossless.refutes or not law.known


def test_an_id_that_is_exchanged_is_refuted_where_it_is_called(box):
    assert law_of(box, "one_id_for_its_neighbour", wide(1003, 1)).lossless.refutes


def test_a_table_of_the_ids_that_are_left_of_a_row_has_a_law_where_they_are_in_order(box):
    law = law_of(box, "by_a_table_of_ids", wide(32_000, 1))
    assert law.known and law.lossless.verdict == "holds", law.reason


def test_a_table_computed_in_single_precision_is_excused_its_rounding_and_no_more():
    with Sandbox("", dtype="float32", timeout=120) as box:
        right = law_of(box, "by_lists", wide(1003, 1))
        assert right.known and right.lossless.verdict == "holds", right.reason
        assert law_of(box, "one_alias_for_another", wide(1003, 1)).lossless.refutes


def test_the_weights_of_tokens_are_those_of_their_columns_and_what_leads_to_them_lies_there():
    source = partial(type("Source", (), {}))
    columns, coin = source(), source()
    columns.order, coin.order = 0, 1
    sides = np.array([[0, 0, 0], [2, 8, 8], [8, 8, 8]])
    table = AliasTable(columns, coin, np.arange(4), sides, np.array([True, True, True]), np.array([1, 1, 2]))
    assert (table.of_tokens() * 8).tolist() == [2, 14, 8]
    for token in range(3):
        for where in range(3):
            points = [0, 0]
            table.lead(points, token, where)
            column, thrown = points
            assert (column if thrown < sides[1, column] else table.alias[column]) == token
    assert table.roundings()[0].argmin() == 0
