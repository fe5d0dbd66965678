"""Requests of one call: each has its law, given what the others drew, and one that reads its neighbours is refuted."""

from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.models.law import Markov
from draftproof.models.problem import Problem
from draftproof.proofs.interception.slots import DRAWN
from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.reports.audits.engines.cells import long_problem
from draftproof.tests.choices import long_unless
from draftproof.tests.subjects.right_decoders import RIGHT_DECODERS
from draftproof.verifiers.adapters.registry import ENGINES, Engine
from draftproof.verifiers.verdicts import Strength

pytestmark = pytest.mark.engine
SUBJECTS = Path(__file__).parents[3] / "subjects"
THREE = {"prompt": [1], "together": [{"prompt": [0]}, {"prompt": [0, 1]}]}
FOUR = {**THREE, "together": [*THREE["together"], {"prompt": [1, 1]}]}
ENDING = {"prompt": [1], "together": [{"eos": [0]}, {"temperature": 0.5}, {"prompt": [0]}]}
GREEDY = {"together": [{"temperature": 0}, {"temperature": 0.5}, {}, {"prompt": [0]}]}
EIGHT = {"prompt": [1], "together": [{"temperature": 0}, {"eos": [0]}, {"prompt": [0, 1, 1]}, {"temperature": 0.5},
                                     {"prompt": [0]}, {"stop": [[1, 0]]}, {}]}  # fmt: skip


def audited(sample, settings, tokens, engine=None, **limits):
    engine = engine or Engine("batch", "planted", sample, follows=True, forged=False)
    report = audit_engine(engine, [long_problem()], levels=("exact",), settings=settings, tokens=tokens, **limits)
    return report, {e.claim: str(e.verdict) for e in report.evidence}


@pytest.mark.parametrize(
    ("name", "settings", "tokens", "which"),
    [("greedy_if_the_slot_before_is", GREEDY, 2, "request 3 of 5"),
     *(pytest.param(*row, marks=pytest.mark.long) for row in (
         ("bonus_of_the_first", GREEDY, 2, "request 5 of 5"),
         ("row_of_the_slot_before", THREE, 3, "request 1 of 3"),
         ("shifted_by_an_end", ENDING, 2, "request 2 of 4"),
         ("text_of_the_slot_before", THREE, 3, "request 2 of 3"),
         ("ends_with_the_first", {**ENDING, "eos": [1]}, 2, "request 2 of 4"),
         ("row_of_the_slot_before_in_the_third", THREE, 3, "request 3 of 3"),
         ("one_uniform_for_two_slots", THREE, 3, "request 3 of 3"),
     ))],
)  # fmt: skip
def test_a_slot_that_depends_on_another_is_refuted_and_said(name, settings, tokens, which):
    report, verdicts = audited(f"{SUBJECTS / 'batched_decoders.py'}:{name}", settings, tokens)
    assert report.verdict == verdicts["batch"] == "refuted" and verdicts["lossless"] == "refuted"
    (witness,) = [e.witness for e in report.evidence if e.claim == "batch"]
    assert witness.why == f"{which} in one call, given what the others drew"


@pytest.mark.parametrize(
    ("sample", "settings", "tokens"),
    [("batched_decoders.py:draining", GREEDY, 2),
     *(pytest.param(f"batched_decoders.py:{name}", THREE, 3, marks=pytest.mark.long)
       for name in ("whole_blocks", "draining")),
     *(pytest.param(f"right_decoders.py:{name}", THREE, 3, marks=pytest.mark.long) for name in RIGHT_DECODERS)],
)  # fmt: skip
def test_a_right_batch_in_an_odd_style_holds(sample, settings, tokens):
    report, verdicts = audited(f"{SUBJECTS / sample}", settings, tokens)
    verdict = "inconclusive" if sample.endswith(":R01") else "holds"  # nothing shows that it drafts
    assert report.verdict == verdict and {*verdicts.values()} == {"holds"}


@pytest.mark.long
@pytest.mark.parametrize(("name", "verdict"), [("right", "holds"), ("without_temperature", "refuted")])
def test_three_requests_with_v_2_and_gamma_2_are_followed_together_exactly(name, verdict):
    settings = {**THREE, "temperature": 0.5}
    report, _ = audited(f"{SUBJECTS / 'wrong_without_drafts_too.py'}:{name}", settings, 3)
    assert report.verdict == verdict
    assert {(e.law.exactness, e.detail.drawn) for e in report.evidence} == {(Strength.LATTICE, 0)}
    assert max(e.law.paths for e in report.evidence) == 24**3


@pytest.mark.long
def test_where_there_is_no_time_for_all_together_the_laws_by_slot_stay():
    report, _ = audited(f"{SUBJECTS / 'wrong_without_drafts_too.py'}:right", THREE, 3, timeout=8)
    assert report.verdict == "holds" and Strength.BY_CALLS in {e.law.exactness for e in report.evidence}


def test_four_requests_are_judged_by_few_calls_and_no_law_is_called_exact():
    report, verdicts = audited("", FOUR, 3, ENGINES["draftproof-reference"])
    assert report.verdict == "holds" and {*verdicts.values()} == {"holds"}
    assert {e.law.exactness for e in report.evidence} == {Strength.BY_CALLS}
    assert max(e.detail.calls for e in report.evidence) < 15_000  # all together: 331,776 ways
    assert {e.detail.drawn for e in report.evidence} == {DRAWN}
    assert max(e.total_variation or 0 for e in report.evidence) < 1e-12
    (said,) = [one for one in report.not_examined if one.startswith("what other requests of a call may draw")]
    assert f"except {DRAWN} ways" in said


@pytest.mark.parametrize("count", long_unless((1, 3, 8), {3}))
def test_greedy_sampled_and_ending_requests_of_several_lengths_hold_together(count):
    settings = {**EIGHT, "together": EIGHT["together"][: count - 1]}
    report, verdicts = audited("", settings, 3, ENGINES["draftproof-reference"])
    assert report.verdict == "holds" and {*verdicts.values()} == {"holds"}


def test_few_ways_of_all_requests_together_are_followed_together():
    report, _ = audited("", THREE, 1, ENGINES["draftproof-reference"])
    assert {str(e.verdict) for e in report.evidence if e.claim == "lossless"} == {"holds"}
    assert {e.detail.drawn for e in report.evidence} == {0}
    assert not any("together must do" in one for one in report.not_examined), "without it there are fewer outputs"
    assert report.verdict == "inconclusive", "before a cap of one token nothing is drafted"


COLD, TIED = {"temperature": 0.5}, {"top_k": 1}
HALF = Fraction(1, 2)
TIE = Problem(
    2,
    1,
    Markov((Fraction(7, 10), Fraction(3, 10)), ((HALF, HALF), (HALF, HALF))),
    Markov((Fraction(2, 5), Fraction(3, 5)), ((Fraction(3, 5), Fraction(2, 5)), (Fraction(1, 3), Fraction(2, 3)))),
    "a tie behind the first token",
)


@pytest.mark.parametrize(
    ("name", "first", "second", "verdict"),
    [("without_temperature", COLD, TIED, "refuted"), ("right", COLD, TIED, "holds"),
     ("without_temperature", TIED, COLD, "refuted"), ("right", TIED, COLD, "inconclusive")],
)  # fmt: skip
def test_a_request_next_to_one_whose_cut_is_within_rounding_is_judged_by_its_law(name, first, second, verdict):
    """Here nothing was judged but same-as-plain, which such a decoder holds."""
    engine = Engine(
        "batch", "planted", f"{SUBJECTS / 'wrong_without_drafts_too.py'}:{name}", follows=True, forged=False
    )
    settings = {**first, "together": [second]}
    report = audit_engine(engine, [TIE], levels=("exact",), settings=settings, tokens=2)
    assert report.verdict == verdict
    verdicts = {e.claim: str(e.verdict) for e in report.evidence}
    assert verdicts["same-as-plain"] == verdicts["batch"] == "holds"
    if verdict == "refuted":
        (witness,) = [e.witness for e in report.evidence if e.claim == "lossless"]
        assert witness.why == f"request {1 + (first is TIED)} of 2 in one call"
    else:
        part = "part of 1 call by" if verdict == "holds" else "but by"
        assert report.reading.endswith(f"{part} same-as-plain alone")
        why = f"request {1 + (first is COLD)}: top_k 1 cuts between tokens that are as likely, where engines may differ"
        assert any(f"which tokens a cut-off must keep: {why}" in one for one in report.not_examined)


def test_a_batch_larger_than_the_slots_is_one_line_in_its_cell():
    sample = f"{SUBJECTS / 'wrong_without_drafts_too.py'}:at_most_two"
    report, _ = audited(sample, THREE, 2)
    assert report.verdict == "error" and report.failure["message"].count("\n") == 0
    assert {e.detail.reason for e in report.evidence} == {"it raises ValueError: 3 requests, 2 slots"}
    assert audited(sample, {"together": [{}]}, 2)[0].verdict == "holds"
