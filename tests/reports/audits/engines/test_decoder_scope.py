"""What a verdict on a decoder says no more than it saw: lengths, rows, settings, drafts, and what is counted."""

from pathlib import Path

import pytest

from draftproof.models.decoding_settings import checked_settings
from draftproof.models.errors import InputError
from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.reports.audits.engines.exact_texts import asked_cells, zeros_problem
from draftproof.verifiers.adapters.engines import ENGINES, Engine

PLANTED = Path(__file__).parents[3] / "subjects" / "narrow_decoders.py"


def audited(name, **asked):
    engine = Engine(name, "planted", f"{PLANTED}:{name}", follows=True, forged=False)
    return audit_engine(engine, levels=("exact",), **asked)


def test_where_nothing_but_the_engine_is_named_rows_with_zeros_are_asked():
    cells = asked_cells(ENGINES["draftproof-reference"], [], {}, None, False)
    assert [cell.name for cell in cells] == ["none", "more blocks", "rows with zeros"]


@pytest.mark.parametrize(
    "settings, cells",
    [({"temperature": 0.5}, 2), ({"eos": [1]}, 2), ({"eos": [2]}, 1), ({"top_p": 0.55}, 1), ({"n": 2}, 1),
     ({"logit_bias": {"2": 1.0}}, 1), ({"grammar": {"0": [1, 2]}}, 1), ({"stop": [[0, 2]]}, 1)],
)  # fmt: skip
def test_with_settings_texts_of_more_blocks_are_asked_where_two_tokens_do(settings, cells):
    asked = asked_cells(ENGINES["draftproof-reference"], [], settings, None, False)
    assert len(asked) == cells and all(cell.settings == settings for cell in asked)
    assert [cell.problem.vocabulary for cell in asked] == [3, 2][:cells]


@pytest.mark.engine
def test_an_end_token_behind_a_whole_block_is_seen_under_a_setting_alone():
    report = audited("bonus_goes_on_behind_eos", settings={"eos": [1]})
    assert [str(e.verdict) for e in report.evidence if e.claim == "lossless"] == ["holds", "refuted"]


def test_requests_together_are_looked_at_like_one_and_logprobs_of_several_texts_refused():
    with pytest.raises(InputError, match="temperature 'hot': expected a number"):
        checked_settings({"together": [{"temperature": "hot"}]})
    with pytest.raises(InputError, match="logprobs of several texts are not judged"):
        checked_settings({"logprobs": True, "n": 2})


@pytest.mark.engine
@pytest.mark.parametrize("name", ["kept_where_ruled_out", "largest_where_alike"])
def test_what_goes_wrong_at_zeros_and_at_rows_that_are_alike_is_refuted(name):
    report = audited(name, problems=[zeros_problem()])
    assert {str(e.verdict) for e in report.evidence if e.claim != "support"} == {"refuted"}


@pytest.mark.engine
def test_what_is_counted_in_some_texts_alone_withholds_the_verdict():
    report = audited("counts_rejections", tokens=3)
    assert report.verdict == "inconclusive"
    assert "it keeps what changes with every call" in report.evidence[0].detail.reason
