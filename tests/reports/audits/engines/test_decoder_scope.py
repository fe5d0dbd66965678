"""What a verdict on a decoder says no more than it saw: lengths, rows, settings, drafts, and what is counted."""

from pathlib import Path

import pytest

from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.verifiers.adapters.engines import Engine

PLANTED = Path(__file__).parents[3] / "subjects" / "narrow_decoders.py"


def audited(name, **asked):
    engine = Engine(name, "planted", f"{PLANTED}:{name}", follows=True, forged=False)
    return audit_engine(engine, levels=("exact",), **asked)


@pytest.mark.engine
def test_what_is_counted_in_some_texts_alone_withholds_the_verdict():
    report = audited("counts_rejections", tokens=3)
    assert report.verdict == "inconclusive"
    assert "it keeps what changes with every call" in report.evidence[0].detail.reason
