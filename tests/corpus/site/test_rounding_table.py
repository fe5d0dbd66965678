"""Every cell of the table of rounding: the right code is not refuted there, a bias just above it is."""

import pytest

from draftproof.corpus.site import rounding_table
from draftproof.corpus.site.rounding_table import PRECISIONS, bounds, decidable, sizes, table
from draftproof.models.battery import toy
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.rounding.theorem import IN_ORDER
from draftproof.tests.subjects.rounded import SHARES

pytestmark = pytest.mark.exact
SIZES = {size.title: size for size in sizes()}
SMALL = [title for title, size in SIZES.items() if isinstance(size.problem, Problem)]
SHORT, *LARGER = sorted(SMALL, key=lambda title: SIZES[title].problem.gamma)
OFTEN = {(SHORT, rows) for rows, _ in PRECISIONS if rows != "float16"} | {(title, "float64") for title in LARGER}
"""Sizes and rows that every run of the tests looks at."""
CELLS = [
    pytest.param(rows, arithmetic, title, marks=[] if (title, rows) in OFTEN else [pytest.mark.long])
    for title in SIZES
    for rows, arithmetic in PRECISIONS
    if decidable(SIZES[title], arithmetic)
]


def emitted_first(problem):
    """The target's probability of the token that the planted bias emits."""
    if isinstance(problem, Problem):
        return as_float(problem.target.row(())[problem.vocabulary // 2])
    return float(problem.target_row(())[problem.vocabulary // 2])


@pytest.mark.parametrize(("rows", "arithmetic", "title"), CELLS)
def test_right_code_is_not_refuted_and_a_bias_just_above_the_cell_is(rows, arithmetic, title, torch_child):
    size = SIZES[title]
    cell = bounds(size, rows, arithmetic)
    share = 1.2 * cell.explained / (1 - emitted_first(size.problem))
    how = "search" if size.looked_up else "multinomial"
    name = f"draftproof.tests.subjects.rounded:{arithmetic}_{how}_"
    law_of = measured if isinstance(size.problem, Problem) else measured_wide
    sandbox, laws = torch_child(rows), []
    for biased in (0, round(share * SHARES)):
        sandbox.load(f"{name}{biased}", [toy(1)])
        laws.append(law_of(size.problem, rows, sandbox.law(size.problem)))
    right, wrong = laws
    assert right.known and right.computed_in == cell.computed_in
    assert lossless(right).holds and lossless(right).law.if_it_computes_in is None
    assert lossless(wrong).refuted and lossless(wrong).total_variation < 1.5 * cell.explained


def test_the_table_has_a_line_for_each_precision_and_a_cell_for_each_size():
    lines = table().splitlines()
    assert len(lines) == 2 + len(PRECISIONS)
    assert all(line.count("|") == len(SIZES) + 3 for line in lines)
    assert "| bfloat16 | float32 |" in table()


def test_the_worst_bounds_say_something_where_sums_are_short():
    pairs, cascade, in_order = rounding_table.ORDERS
    for rule in rounding_table.WORST_RULES:
        assert rounding_table.worst_bound(rule, "float32", pairs) < 2e-3
        assert rounding_table.worst_bound(rule, "float32", cascade) < 1e-2
    block, multi_round = "block verification, gamma 8", "multi-round rejection, 8 levels of 4"
    assert rounding_table.worst_bound(block, "float32", pairs) == pytest.approx(1.26e-5, rel=0.01)
    assert rounding_table.worst_bound(block, "float32", in_order) == pytest.approx(9.1e-3, rel=0.01)
    assert rounding_table.worst_bound(block, "bfloat16", pairs) == pytest.approx(0.87, rel=0.01)
    assert rounding_table.worst_bound(multi_round, "float32", in_order) == pytest.approx(0.074, rel=0.01)
    assert " none |" in rounding_table.worst_table()


def test_no_search_finds_more_than_the_bounds_and_those_in_order_are_met_within_their_order_of_magnitude():
    rows = rounding_table.found_rows()
    assert [row.what for row in rows if row.found > row.bound] == []
    sharp = [row for row in rows if row.order == IN_ORDER and not row.what.startswith("multi-round")]
    assert len(sharp) == 3 and all(row.bound < 4 * row.found for row in sharp)


@pytest.mark.parametrize("what", ["relative error of one sum", "block verification, gamma 8"])
def test_a_bound_that_is_too_small_by_a_planted_factor_is_below_what_the_search_finds(what):
    """A quarter of the bound, or the bound of half as many additions for a sum, is exceeded."""
    row = next(row for row in rounding_table.found_rows() if row.what == what and row.order == IN_ORDER)
    assert row.bound / 4 < row.found < row.bound
