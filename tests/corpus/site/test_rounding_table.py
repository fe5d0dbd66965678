"""Every cell of the table of rounding: the right code is not refuted there, a bias just above it is."""

import math

import numpy as np
import pytest

from draftproof.corpus.site import rounding_search as search
from draftproof.corpus.site import rounding_search_short as short
from draftproof.corpus.site import rounding_table
from draftproof.corpus.site.rounding_search import VOCABULARY, in_order, in_pairs
from draftproof.corpus.site.rounding_table import PRECISIONS, bounds, decidable, sizes, table
from draftproof.models.battery import toy
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.rounding.token_and_block import CASCADE, IN_ORDER, growth, sum_depth
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
    assert rounding_table.worst_bound(block, "float32", pairs) == pytest.approx(5.3e-6, rel=0.01)
    assert rounding_table.worst_bound(block, "float32", in_order) == pytest.approx(9.1e-3, rel=0.01)
    assert rounding_table.worst_bound(block, "bfloat16", pairs) == pytest.approx(0.36, rel=0.01)
    assert rounding_table.worst_bound(multi_round, "float32", in_order) == pytest.approx(0.074, rel=0.01)
    assert " none |" in rounding_table.worst_table()


@pytest.fixture(scope="module")
def found():
    return rounding_table.found_rows()


def test_beside_each_bound_in_float32_stands_what_a_search_finds_and_it_is_no_more(found):
    bounds = {
        (rule, order.title): bound
        for rule in rounding_table.WORST_RULES
        for order in rounding_table.ORDERS
        if (bound := rounding_table.worst_bound(rule, "float32", order)) < 1
    }
    assert bounds == {(row.what, row.order): row.bound for row in found if row.what in rounding_table.WORST_RULES}
    assert [row for row in found if not 2.0**-26 < row.found <= row.bound] == []


def test_bounds_of_sums_in_order_are_met_within_their_order_of_magnitude(found):
    sharp = [row for row in found if row.order == IN_ORDER and not row.what.startswith(("multi-round", "hierarchical"))]
    assert len(sharp) == 5 and all(row.bound < 9 * row.found for row in sharp)


def test_block_verifications_bounds_are_within_ten_times_what_is_found_where_sums_are_in_pairs_or_in_order(found):
    rows = [row for row in found if row.what.startswith("block") and row.order != CASCADE]
    assert len(rows) == 6 and all(row.bound < 10 * row.found for row in rows)


@pytest.mark.parametrize("what", ["relative error of one sum", "block verification, gamma 8"])
def test_a_bound_that_is_too_small_by_a_planted_factor_is_below_what_the_search_finds(what, found):
    """A quarter of the bound, or the bound of half as many additions for a sum, is exceeded."""
    row = next(row for row in found if row.what == what and row.order == IN_ORDER)
    assert row.bound / 4 < row.found < row.bound


@pytest.mark.parametrize("rule", ["multi-round rejection, 8 levels of 4", "k-SEQ, 8 levels of 4",
                                  "block verification, gamma 8"])  # fmt: skip
def test_sums_that_are_off_by_more_than_rounding_exceed_the_bounds(rule, monkeypatch):
    """Each sum is a hundredth too large."""
    for module in (search, short):
        monkeypatch.setattr(module, "in_order", lambda row: in_order(row) * np.float32(1.01))
    for order in rounding_table.ORDERS[:-1]:
        assert rounding_table.SEARCHED[rule](18) > rounding_table.worst_bound(rule, "float32", order)


@pytest.mark.parametrize("add", [in_pairs, short.cascade])
@pytest.mark.parametrize("up", [True, False])
def test_half_steps_at_their_places_round_in_pairs_and_in_the_cascade_as_in_order(add, up):
    places = short.places(add)
    steps, row = short.half_steps(-3, up, len(places)), np.zeros(VOCABULARY, np.float32)
    row[[0, *places]] = steps
    assert add(row) == in_order(steps)
    assert abs(float(in_order(steps)) / math.fsum(steps.tolist()) - 1) > 0.99 * len(places) * 2.0**-24


def test_the_cascade_and_torchs_sum_are_within_the_bound_of_the_cascade():
    torch = pytest.importorskip("torch")
    row = np.random.default_rng(0).dirichlet(np.full(VOCABULARY, 0.1)).astype(np.float32)
    for total in (short.cascade(row), torch.from_numpy(row).sum()):
        assert abs(float(total) / math.fsum(row.tolist()) - 1) < growth(2.0**-24, sum_depth(VOCABULARY, CASCADE))
