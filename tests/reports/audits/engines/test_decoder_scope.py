"""What a verdict on a decoder says no more than it saw: lengths, rows, settings, drafts, and what is counted."""

from pathlib import Path

import pytest

from draftproof.models.errors import InputError
from draftproof.models.setting_values import checked_settings
from draftproof.reports.audits.drafts import drafts_seen, nothing_drafted
from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.reports.audits.engines.cells import SEQUENCES, asked_cells, decoder_problem, zeros_problem
from draftproof.reports.audits.not_examined import _of_decoders
from draftproof.reports.audits.servers.remarks import Seen
from draftproof.tests.subjects import right_decoders
from draftproof.tests.subjects.right_decoders import RIGHT_DECODERS
from draftproof.verifiers.adapters.registry import ENGINES, Engine
from draftproof.verifiers.details import TextLawDetail
from draftproof.verifiers.evidence import HOLDS, Evidence, Method

PLANTED = Path(__file__).parents[3] / "subjects" / "narrow_decoders.py"


def audited(name, **asked):
    engine = Engine(name, "planted", f"{PLANTED}:{name}", follows=True, forged=False)
    return audit_engine(engine, levels=("exact",), **asked)


def said(*details):
    made = [
        Evidence(claim="lossless", method=Method.INTERCEPTION, verdict=HOLDS, problem="p", detail=TextLawDetail(**d))
        for d in details
    ]
    return _of_decoders(made)


def asked(v=3, tokens=3, **detail):
    return {"vocabulary": v, "tokens": tokens, "sampling": "speculative", "settings": {}} | detail


def test_texts_are_said_as_long_as_they_were():
    sentences = said(asked(), asked(v=2, tokens=5))
    assert "outputs of more than 5 tokens, and other caps than 3, 5" in sentences
    assert said(asked(tokens=2))[0] == "outputs of more than 2 tokens, and other caps than 2"
    assert any("some regions of the rows: of decoders they are not counted" in one for one in sentences)


def test_settings_that_leave_the_law_and_those_that_nobody_knows_are_said():
    idle = asked(settings={"min_p": 0.05}, without_effect=["min_p"])
    assert any(one.startswith("what min_p must do: the distribution is the same") for one in said(idle))
    assert not any("must do" in one for one in said(idle, asked(settings={"min_p": 0.4})))
    tied = asked(settings={"min_p": 0.05}, why="min_p 0.05 cuts within rounding")
    assert any(one.startswith("what min_p must do") for one in said(idle, tied)), "a tie shows nothing of a setting"
    assert not any("must do" in one for one in said(tied))
    assert "which tokens a cut-off must keep: min_p 0.05 cuts within rounding" in said(tied)
    sentences = said(asked(settings={"temprature": 0.5, "early_exit": 1}))
    (strange,) = [one for one in sentences if "distribution under" in one]
    assert strange.startswith("the distribution under temprature, which draftproof list settings does not have")


def test_that_outputs_alone_show_where_drafts_come_from_is_said_unless_nothing_is_drafted():
    sentence = "which row each draft is drawn from, where outputs do not show it: draftproof steps has the claim drafts"
    assert sentence in said(asked(), asked(sampling="plain")) and sentence not in said(asked(sampling="plain"))


def test_as_many_ways_as_without_a_draft_are_said():
    assert not any(one.startswith("speculation") for one in said(asked(), asked(ways_of_plain=False)))
    assert any(one.startswith("speculation: it has as many random") for one in said(asked(ways_of_plain=True)))
    few = said(asked(ways_of_plain=True), asked(ways_of_plain=False))
    assert any(one.startswith("speculation in 1 request of 2: ") for one in few)


def test_the_first_line_says_on_how_many_requests_drafts_were_seen():
    def evidence(ways):
        detail = TextLawDetail(**asked(ways_of_plain=ways))
        return Evidence(claim="lossless", method=Method.INTERCEPTION, verdict=HOLDS, problem="p", detail=detail)

    every = [evidence(ways) for ways in (True, False, None)]
    assert drafts_seen(every, None) == "; drafts seen on 1 of 3 requests" and not nothing_drafted(every)
    assert nothing_drafted(every[::2]) and not nothing_drafted(every[2:]) and drafts_seen(every[2:], None) == ""
    timed = {"speculation": {"seen": "in the answers' timings", "drafted": 1200, "accepted": 0}}
    assert drafts_seen([], timed) == "; 1,200 tokens drafted, 0 kept"
    assert drafts_seen([], {"speculation": Seen().speculation()}) == "; its answers show no drafts"
    assert drafts_seen([], {"speculation": Seen(streamed=30, events=10).speculation()}) == "; drafts seen in the stream"


def test_where_nothing_but_the_engine_is_named_rows_with_zeros_are_asked():
    cells = asked_cells(ENGINES["draftproof-reference"], [], {}, None, False)
    assert [cell.name for cell in cells] == ["none", "more blocks", "rows with zeros", *SEQUENCES]
    own = Engine("own", "", "own.py:decode", follows=True)
    assert [cell.name for cell in asked_cells(own, [], {}, None, False)][3:] == [*SEQUENCES][1:]


@pytest.mark.parametrize(
    "settings, cells",
    [({"temperature": 0.5}, 2), ({"eos": [1]}, 2), ({"eos": [2]}, 1), ({"top_p": 0.55}, 1), ({"top_p": 0.6}, 1),
     ({"n": 2}, 1), ({"logit_bias": {"2": 1.0}}, 1), ({"grammar": {"0": [1, 2]}}, 1), ({"stop": [[0, 2]]}, 1)],
)  # fmt: skip
def test_with_settings_texts_of_more_blocks_are_asked_where_two_tokens_do(settings, cells):
    asked = asked_cells(ENGINES["draftproof-reference"], [], settings, None, False)
    assert len(asked) == cells and all(cell.settings == settings for cell in asked)
    assert [cell.problem.vocabulary for cell in asked] == [3, 2][:cells]


@pytest.mark.engine
def test_an_end_token_behind_a_whole_block_is_seen_under_a_setting_alone():
    report = audited("bonus_goes_on_behind_eos", settings={"eos": [1]})
    usual, *_, more_blocks = [str(e.verdict) for e in report.evidence if e.claim == "lossless"]
    assert (usual, more_blocks) == ("holds", "refuted")


def test_requests_together_are_looked_at_like_one_and_logprobs_of_several_texts_refused():
    with pytest.raises(InputError, match="temperature 'hot': expected a number"):
        checked_settings({"together": [{"temperature": "hot"}]})
    with pytest.raises(InputError, match="logprobs of several outputs are not judged"):
        checked_settings({"logprobs": True, "n": 2})


@pytest.mark.engine
@pytest.mark.parametrize("name", ["kept_where_ruled_out", "largest_where_alike"])
def test_what_goes_wrong_at_zeros_and_at_rows_that_are_alike_is_refuted(name):
    report = audited(name, problems=[zeros_problem()])
    assert {str(e.verdict) for e in report.evidence if e.claim != "support"} == {"refuted"}


@pytest.mark.engine
def test_a_setting_without_effect_and_a_decoder_that_drafts_nothing_are_in_the_report():
    report = audited("short_texts_plainly", tokens=2, settings={"min_p": 0.05}, problems=[decoder_problem()])
    assert report.verdict == "inconclusive", "a decoder that never drafts has not shown that it verifies"
    assert report.reading.endswith("of 1 problem (V to 3), but nothing shows that tokens were drafted")
    sentences = " ".join(report.not_examined)
    assert "what min_p must do" in sentences and "speculation: it has as many random numbers" in sentences
    assert "tokens that the target gives probability 0: no problem has one" in report.not_examined


@pytest.mark.engine
@pytest.mark.parametrize(("name", "verdict"), [("R01", "inconclusive"), ("R08", "holds")])
def test_drafts_that_are_certain_are_seen_although_there_are_no_more_ways(name, verdict):
    """Each token of a certain draft is kept, or one of the others drawn: as many ways as without a draft."""
    entry = RIGHT_DECODERS[name]
    engine = Engine(name, "planted", f"{right_decoders.__name__}:{name}", follows=True, forged=False)
    report = audit_engine(engine, levels=("exact",), settings=entry.settings, tokens=entry.tokens)
    assert report.verdict == verdict, entry.title


@pytest.mark.engine
def test_what_is_counted_in_some_texts_alone_withholds_the_verdict():
    report = audited("counts_rejections", tokens=3)
    assert report.verdict == "inconclusive"
    assert "it keeps what changes with every call" in report.evidence[0].detail.reason


@pytest.mark.engine
def test_rows_that_another_request_left_are_seen():
    report = audited("rows_of_any_request", tokens=2, settings={"temperature": 0.5})
    assert {str(e.verdict) for e in report.evidence if e.claim == "lossless"} == {"refuted"}
