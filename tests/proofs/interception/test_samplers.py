"""Samplers that sort a row or go through it have a law; those that would take too long on wide rows are not decided."""

from pathlib import Path

import pytest

from draftproof.models.battery import toy
from draftproof.models.wide import WideProblem, wide
from draftproof.proofs.interception.answers import SLOW
from draftproof.proofs.interception.wide_laws import BUDGET
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.time_limits import ProcessorTime
from draftproof.tests.subjects import race_loops, scans
from draftproof.tests.subjects import wide as subjects

pytestmark = pytest.mark.interception


@pytest.fixture(scope="module")
def box():
    with Sandbox("", timeout=60) as shared:
        yield shared


def law_of(box, name, problem, module=subjects):
    box.load(f"{Path(module.__file__)}:{name}", [toy(1)])
    return measured_wide(problem, "float64", box.law(problem))


@pytest.mark.parametrize("name", ["by_sorted_rows", "by_rising_rows"])
@pytest.mark.parametrize("problem", [wide(127, 1), wide(257, 2, "tails"), wide(32_000, 1)], ids=lambda p: p.name)
def test_a_sampler_that_sorts_the_row_has_a_law(box, name, problem):
    law = law_of(box, name, problem)
    assert law.known and law.lossless.verdict == "holds", law.reason


def test_an_order_that_is_no_sorted_row_is_known_where_every_place_is_called(box):
    assert law_of(box, "by_other_orders", wide(127, 1)).lossless.verdict == "holds"
    unknown = law_of(box, "by_other_orders", wide(32_000, 1))
    assert not unknown.known and not unknown.lossless.refutes


@pytest.mark.parametrize("vocabulary", [127, 32_000])
def test_an_id_that_a_sorting_sampler_treats_specially_is_refuted_or_leaves_no_law(box, vocabulary):
    """Of the wide row id 64 is no end and no power that is called: as a live token it is called where it stands."""
    live = ((64, vocabulary - 1),)
    law = law_of(box, "by_sorted_rows_but_one_id", WideProblem(vocabulary, 1, "dense", live, 3))
    assert law.lossless.refutes if vocabulary == 127 else not law.known or law.lossless.refutes


SCANS = [
    "by_scan_of_sums",
    "by_scan_of_one_less",
    "by_scan_of_numpy_numbers",
    "by_scan_from_the_top",
    "by_scan_without_a_break",
    "by_while",
]
WRONG_SCANS = ["by_scan_up_to_999", "by_scan_that_skips", "by_scan_that_asks_again", "by_scan_without_the_last"]


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("problem", [wide(127, 1), wide(257, 2, "tails"), wide(32_000, 1)], ids=lambda p: p.name)
def test_a_loop_that_goes_through_the_row_has_a_law(box, name, problem):
    law = law_of(box, name, problem, scans)
    assert law.known and law.lossless.verdict == "holds", law.reason


@pytest.mark.parametrize("name", WRONG_SCANS)
@pytest.mark.parametrize("vocabulary", [127, 1003])
def test_a_wrong_loop_over_the_row_is_refuted(box, name, vocabulary):
    assert law_of(box, name, wide(vocabulary, 1), scans).lossless.refutes


@pytest.mark.parametrize("vocabulary", [300, 1003, 32_000])
def test_what_a_uniform_still_decides_after_it_was_looked_up_is_asked_at_both_ends(box, vocabulary):
    law = law_of(box, "asked_again_within_a_third_of_the_tokens", wide(vocabulary, 1), scans)
    assert not law.known or law.lossless.refutes
    for right in ("by_pieces", "by_single_tokens_and_pieces"):
        assert not law_of(box, right, wide(vocabulary, 1), scans).lossless.refutes


@pytest.mark.parametrize("problem", [wide(127, 1), wide(1103, 1), wide(257, 2, "tails")], ids=lambda p: p.name)
def test_the_last_of_a_sorted_row_takes_the_rest_of_its_sum(box, problem):
    right = law_of(box, "by_sums_of_sorted_rows", problem, scans)
    assert right.known and right.lossless.verdict == "holds"
    assert law_of(box, "by_sums_a_little_too_small_of_sorted_rows", problem, scans).lossless.refutes


@pytest.mark.parametrize("vocabulary", [1003, 32_000])
def test_a_uniform_that_decides_again_within_what_leads_to_a_token_is_never_cleared(box, vocabulary):
    law = law_of(box, "by_search_and_again_within", wide(vocabulary, 1), scans)
    assert law.lossless.refutes or not law.known


def test_a_draw_that_decides_the_weights_of_a_later_one_for_some_tokens_is_never_cleared(box):
    law = law_of(box, "by_choice_that_an_unused_bonus_decides", wide(1003, 2), scans)
    assert law.lossless.refutes or not law.known


@pytest.mark.parametrize("name", ["wrong_at_an_end", "wrong_at_an_end_but_on_one_token"])
def test_what_an_end_of_a_path_changes_is_seen_with_whichever_token_is_drawn_there(box, name):
    """Whether a number is a plain float is not what its law is of: the exact route has to withdraw it."""
    law = law_of(box, name, wide(32_000, 1), scans)
    assert not law.known and not law.lossless.refutes, law.reason
    assert law_of(box, "right_at_the_ends", wide(32_000, 1), scans).known


def test_a_loop_whose_cuts_depend_on_the_uniform_is_never_cleared(box):
    assert law_of(box, "by_scan_of_a_changing_row", wide(127, 1), scans).lossless.refutes
    assert not law_of(box, "by_scan_of_a_changing_row", wide(1003, 1), scans).known


def test_a_loop_that_meets_other_cuts_in_each_call_has_no_law(box):
    law = law_of(box, "by_scan_of_other_cuts_in_each_call", wide(1003, 1), scans)
    assert not law.known and "state" in law.findings


def test_a_hopeless_search_ends_early(box):
    time = ProcessorTime(1e6)
    law = law_of(box, "by_accumulated_edges", wide(32_000, 1))
    assert law.out_of_scope and "likeliest paths" in law.reason
    assert time.spent() < BUDGET


@pytest.mark.long
def test_a_race_that_is_slow_when_it_is_followed_is_not_decided_and_a_call_without_end_is_a_fault():
    with Sandbox(f"{Path(race_loops.__file__)}:by_a_margin", timeout=3) as box:
        box.start([toy(1)])
        law = measured_wide(wide(127, 1), "float64", box.law(wide(127, 1)))
        assert law.out_of_scope and law.reason.startswith(SLOW) and not law.findings
    with Sandbox(f"{Path(subjects.__file__)}:endless_where_wide", timeout=1) as box:
        box.start([toy(1)])
        law = measured_wide(wide(127, 1), "float64", box.law(wide(127, 1)))
        assert "never-returned" in law.findings and not law.out_of_scope and not law.known
