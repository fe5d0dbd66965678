"""SmolLM2 and its rounded drafter in vLLM on a CPU, recorded: as published, and repaired (make recorded)."""

import pytest

from draftproof.models.pairs.packaged_pair import packaged_pair
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.verifiers.adapters.registry import decoder_python
from draftproof_engines.decoders.vllm_decoder import REPAIR
from draftproof_engines.recorders.vllm_recordings import NGRAM, SAMPLED, run_vllm, smollm2_prompts

pytestmark = [
    pytest.mark.decoders,
    pytest.mark.smollm2,
    pytest.mark.skipif(not decoder_python("vllm").is_file(), reason="needs vLLM: make decoders"),
]
PLAIN, PROMPT_SETTINGS = {"temperature": 1.0}, {"temperature": 0.7, "top_k": 50, "top_p": 0.9}
MOST_BYTES = 40_000
"""Bytes of a recorded step at V = 49,152."""


def recorded(folder, **asked):
    run_vllm(packaged_pair()[0], folder, steps=folder / "steps", prompts=smollm2_prompts(8), longest=256, at_once=4,
             **{"tokens": 24} | asked)  # fmt: skip
    return audit_steps(folder / "steps")


def refuted(report):
    return {e.claim: e for e in report.evidence if e.refuted}


def test_as_published_it_is_refuted_within_50_steps_and_the_cause_named(tmp_path):
    rows = refuted(recorded(tmp_path, settings=PLAIN))["rows"]
    assert int(rows.witness.sequence.split(",")[1].split()[1]) < 50 and rows.witness.why == "not a number"


@pytest.mark.parametrize(
    ("method", "settings"), [(SAMPLED, PLAIN), (SAMPLED, PROMPT_SETTINGS), (NGRAM, PLAIN), (NGRAM, PROMPT_SETTINGS)]
)
def test_repaired_it_is_not_refuted_and_a_step_is_small(method, settings, tmp_path):
    report = recorded(tmp_path, method=method, edit=REPAIR, settings=settings)
    assert not refuted(report) and {e.claim: e.verdict for e in report.evidence}["rows"] == "holds"
    size = sum(file.stat().st_size for file in (tmp_path / "steps").glob("*.safetensors"))
    assert size / report.steps["counts"]["recorded"] <= MOST_BYTES
