"""vLLM's model runner V2 on a CPU, its kernels under Triton's interpreter, recorded by its plugin."""

import pytest

from draftproof.reports.audits.steps.run import audit_steps
from draftproof.verifiers.adapters.registry import decoder_python
from draftproof_engines.recorders.small_pair import forged_pair
from draftproof_engines.recorders.vllm_recordings import run_vllm

pytestmark = [
    pytest.mark.decoders,
    pytest.mark.skipif(not decoder_python("vllm").is_file(), reason="needs vLLM: make decoders"),
]
BLOCK = """
from draftproof_engines.recorders import vllm_run
vllm_run.METHODS["draft_model, sampled"]["rejection_sample_method"] = "block"
"""
FLAT_DRAFT = """
import vllm.v1.worker.gpu.spec_decode.rejection_sampler as module
own = module.rejection_sample
module.rejection_sample = lambda target, draft, *given, **named: own(target, draft * 0.3, *given, **named)
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return forged_pair(tmp_path_factory.mktemp("forged") / "pair")


def recorded(pair, folder, edit="", texts=12, settings=None):
    settings = settings or {"temperature": 1.0}
    run_vllm(pair, folder, texts=texts, edit=edit, settings=settings, steps=folder / "steps", runner="vllm_v2_run")
    report = audit_steps(folder / "steps")
    assert "recording-failed" not in report.findings
    return report


MIXED = [{"temperature": 0}, {"temperature": 0.7, "top_k": 9, "top_p": 0.93}, {"temperature": 1.0}]


@pytest.mark.parametrize(("edit", "rule"), [("", "token"), (BLOCK, "block")], ids=["token", "block"])
def test_as_published_it_is_not_refuted(edit, rule, pair, tmp_path):
    report = recorded(pair, tmp_path, edit, settings=MIXED)
    verdicts = {e.claim: e.verdict for e in report.evidence}
    assert report.verdict != "refuted" and verdicts["rows"] == "holds" and verdicts["follows-rule"] == "no-evidence"
    assert report.steps["rule"] == rule and report.steps["judged"]["greedy"] > 20


def test_another_draft_row_in_the_kernels_is_refuted(pair, tmp_path):
    report = recorded(pair, tmp_path, FLAT_DRAFT)
    assert [e.claim for e in report.evidence if e.refuted] == ["follows-rule"]
