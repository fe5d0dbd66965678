"""vLLM's V1 rejection sampler on a CPU, recorded by its plugin: as published, repaired, and with planted bugs."""

import pytest

from draftproof.reports.audits.steps.run import audit_steps
from draftproof.verifiers.adapters.registry import decoder_python
from draftproof_engines.decoders.vllm_decoder import REPAIR
from draftproof_engines.recorders.small_pair import forged_pair
from draftproof_engines.recorders.vllm_recordings import SAMPLED, run_vllm

pytestmark = [
    pytest.mark.decoders,
    pytest.mark.skipif(not decoder_python("vllm").is_file(), reason="needs vLLM: make decoders"),
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return forged_pair(tmp_path_factory.mktemp("forged") / "pair")


@pytest.fixture
def recorded(pair, tmp_path):
    """The report on so many texts of vLLM, with an edit to it."""

    def run(edit="", texts=60, method=SAMPLED, **settings):
        run_vllm(pair, tmp_path, method, texts, 32, edit, {"temperature": 1.0, **settings}, tmp_path / "steps")
        return audit_steps(tmp_path / "steps")

    return run


def refuted(report):
    return {e.claim for e in report.evidence if e.refuted}


def test_as_published_with_a_draft_model_its_rows_are_not_those_of_the_settings(recorded):
    report = recorded()
    assert report.verdict == "refuted" and "rows" in refuted(report)
    [rows] = [e for e in report.evidence if e.claim == "rows"]
    shard, step = rows.witness.sequence.split(",")[:2]
    assert shard == "steps-000000.safetensors" and int(step.split()[1]) < 50


@pytest.mark.parametrize("method", [SAMPLED, "draft_model", "ngram"])
def test_repaired_it_is_not_refuted(method, recorded):
    report = recorded(REPAIR, texts=120, method=method)
    assert not refuted(report) and report.steps["judged"]["rows"] > 1000 and "recording-failed" not in report.findings


def test_repaired_with_settings_it_is_not_refuted(recorded):
    report = recorded(REPAIR, temperature=0.7, top_p=0.93, top_k=9)
    assert not refuted(report) and {e.claim: e.verdict for e in report.evidence}["rows"] == "holds"


PLANTED = {
    "follows-rule": REPAIR + """
uniforms = sampler.generate_uniform_probs
sampler.generate_uniform_probs = lambda *given: uniforms(*given) * 0.5
""",
    "rows": REPAIR + """
kept = sampler.apply_sampling_constraints
sampler.apply_sampling_constraints = lambda logits, *given: kept(logits, *given) / 1.3
""",
    "drafts": REPAIR + """
import vllm.v1.spec_decode.llm_base_proposer as proposer
sampled = proposer.compute_probs_and_sample_next_token
def cold(logits, metadata, *given):
    token, probs = sampled(logits.clone(), metadata, *given)
    return token, (logits / 0.6).softmax(-1)
proposer.compute_probs_and_sample_next_token = cold
""",
}  # fmt: skip


@pytest.mark.parametrize("claim", PLANTED)
def test_a_planted_bug_is_refuted_by_the_claim_that_it_breaks(claim, recorded):
    assert claim in refuted(recorded(PLANTED[claim], texts=120))
