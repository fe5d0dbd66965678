"""What one request leaves for the next: a distribution that it changes is refuted, with both outputs."""

from pathlib import Path

import pytest

from draftproof.models.errors import InputError
from draftproof.models.setting_values import checked_settings
from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.reports.audits.engines.cells import SEQUENCES, long_problem
from draftproof.verifiers.adapters.registry import Engine

PLANTED = Path(__file__).parents[3] / "subjects" / "stateful_decoders.py"


def audited(name, **asked):
    engine = Engine(name, "planted", f"{PLANTED}:{name}", follows=True, forged=False, settings=("eos", "prompt"))
    return audit_engine(engine, levels=("exact",), **asked)


def behind(name, sequence, **settings):
    return audited(name, problems=[long_problem()], tokens=3, settings={**settings, "earlier": SEQUENCES[sequence]})


@pytest.mark.engine
@pytest.mark.parametrize(
    ("name", "sequence", "ended"),
    [("behind_an_end", "behind an end token", "its output was [1]"),
     ("behind_a_cap", "behind a cap", "its output was [0, 0]"),
     ("of_a_cancelled", "behind a cancelled request", "it was cancelled")],
)  # fmt: skip
def test_what_a_request_leaves_is_refuted_with_both_outputs_and_the_requests(name, sequence, ended):
    report = behind(name, sequence)
    (evidence,) = [e for e in report.evidence if e.claim == "lossless"]
    assert report.verdict == "refuted" and evidence.witness.why == f"behind another request: {ended}"
    assert [entry.sequence for entry in evidence.witness.laws] == ["0", "1"]
    assert "--set 'earlier=" in evidence.replay


@pytest.mark.engine
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_slot_that_is_cleared_holds_behind_every_request(sequence):
    assert behind("cleared", sequence).verdict == "holds"


@pytest.mark.engine
@pytest.mark.long
@pytest.mark.parametrize(("name", "verdict"), [("behind_an_end", "refuted"), ("behind_a_cap", "refuted"),
                                               ("of_a_cancelled", "refuted"), ("cleared", "holds")])  # fmt: skip
def test_sequences_are_part_of_a_default_audit(name, verdict):
    report = audited(name)
    assert report.verdict == verdict
    assert any("(except in 3 sequences of requests)" in one for one in report.not_examined)


@pytest.mark.parametrize(
    ("earlier", "message"),
    [([1], "expected a list of lists of tokens, or of settings"), ([{"tokens": "2"}], "expected a whole number"),
     ([{"top_k": 2}], "it has no setting top_k")],
)  # fmt: skip
def test_earlier_requests_of_another_form_are_refused(earlier, message):
    with pytest.raises(InputError, match=message):
        checked_settings({"earlier": earlier}, ["eos", "earlier"])
