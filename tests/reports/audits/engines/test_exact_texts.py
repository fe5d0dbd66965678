"""Decoders followed: the exact law of their first tokens under settings, and what is said where there is none."""

from pathlib import Path

import pytest

from draftproof.models.errors import InputError
from draftproof.reports.audits.engines.audit import audit_engine, engine_from
from draftproof.verifiers.adapters.engines import ENGINES

PLANTED = Path(__file__).parents[3] / "subjects" / "engines.py"

pytestmark = pytest.mark.engine


def verdicts(report):
    return {e.claim: str(e.verdict) for e in report.evidence}


def exact(name, **settings):
    tokens = settings.pop("tokens", 2)
    return audit_engine(engine_from(f"{PLANTED}:{name}"), levels=("exact",), tokens=tokens, settings=settings)


def test_a_right_decoder_holds_exactly_and_a_wrong_one_is_refuted_with_its_laws_side_by_side():
    report = exact("speculative")
    assert report.verdict == "holds"
    assert verdicts(report) == {"lossless": "holds", "same-as-plain": "holds", "support": "holds"}
    assert report.evidence[0].total_variation < 1e-6 and report.evidence[0].bound < 1e-6
    report = exact("replaced_by_the_target")
    assert verdicts(report) == {"lossless": "refuted", "same-as-plain": "refuted", "support": "holds"}
    witness = report.evidence[0].witness
    assert (witness.sequence, witness.expected, witness.observed[:5]) == ("0", "0.55", "0.415")
    assert "--level exact --tokens 2" in report.evidence[0].replay


def test_levels_that_cannot_be_had_and_settings_that_an_engine_has_not_are_refused_in_one_line():
    with pytest.raises(InputError, match="cannot be followed; expected --level statistical"):
        audit_engine(_without_packages(), levels=("exact",))
    with pytest.raises(InputError, match="it has no setting mirostat"):
        audit_engine(ENGINES["transformers"], levels=("exact",), settings={"mirostat": 2})


def _without_packages():
    import msgspec

    return msgspec.structs.replace(ENGINES["openvino-genai"], packages=())
