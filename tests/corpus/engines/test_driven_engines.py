"""vLLM's V1 engine on a CPU, driven: its law, bugs planted in it, and the noise of its compiled operator."""

import pytest

from draftproof.models.decoding_settings import ORDERS, text_law
from draftproof.models.errors import InputError
from draftproof.models.forge import forge
from draftproof.proofs.laws.text_laws import text_law_from
from draftproof.proofs.laws.text_masses import distance
from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.reports.audits.engines.cells import decoder_problem, grid_cells
from draftproof.verifiers.adapters.registry import ENGINES, decoder_python
from draftproof_engines import decoders
from draftproof_engines.decoders import DecoderProcesses, vllm_decoder

THERE = decoder_python("vllm").is_file()
installed = pytest.mark.skipif(not THERE, reason=f"needs {decoder_python('vllm')}: make decoders")

TOKENS = 3

PLANTED = {
    "bonus token without temperature": """
import vllm.v1.sample.sampler as plain
kept = plain.Sampler.forward
def forward(self, logits, sampling_metadata, predict_bonus_token=False, **how):
    from dataclasses import replace
    if predict_bonus_token:
        sampling_metadata = replace(sampling_metadata, temperature=sampling_metadata.temperature * 0 + 1)
    return kept(self, logits, sampling_metadata, predict_bonus_token=predict_bonus_token, **how)
plain.Sampler.forward = forward
""",
    "residual without max": """
import vllm.v1.sample.rejection_sampler as sampler
def recovered(most, counts, ends, tokens, draft, target, metadata, device, *_):
    left = (target - (0 if draft is None else draft)).abs()
    noise = sampler.torch.empty(len(counts), target.shape[1]).exponential_()
    rows = [k for k, count in enumerate(counts) for _ in range(count)]
    return (left / noise[rows]).argmax(-1).to(tokens.dtype)
sampler.sample_recovered_tokens = recovered
""",
    "accepts at u <= p / (0.98 q)": """
import vllm.v1.sample.rejection_sampler as sampler
uniforms = sampler.generate_uniform_probs
sampler.generate_uniform_probs = lambda *given: uniforms(*given) * 0.98
""",
    "temperature only in verification's target": """
import vllm.v1.spec_decode.llm_base_proposer as proposer
sampled = proposer.compute_probs_and_sample_next_token
def cold(logits, metadata, *given):
    token, probs = sampled(logits.clone(), metadata, *given)
    return token, logits.softmax(-1)
proposer.compute_probs_and_sample_next_token = cold
""",
}


WAYS = {
    "EAGLE head": {"eagle": True},
    "suffix tree": {"suffix": True, "prompt": [0, 1, 2, 0]},
    "known prompt": {"earlier": [[0, 1] * 20], "prompt": [0, 1] * 20},
}


@pytest.fixture(scope="module")
def forged(tmp_path_factory):
    pytest.importorskip("torch")
    return forge(decoder_problem(), tmp_path_factory.mktemp("forged") / "pair")


def law(forged, settings, edits="", tokens=TOKENS, gamma=1):
    processes = DecoderProcesses(vllm_decoder, edits)
    try:
        answer = processes.answer(forged.target, forged.draft, forged.start, tokens, gamma, settings, 300.0)
    finally:
        processes.end()
    return text_law_from(answer)


SETTINGS = {"temperature": 0.5, "repaired": True, "draft_sampled": True}


@installed
@pytest.mark.decoders
def test_the_law_is_exact_and_that_of_the_settings(forged):
    found = law(forged, SETTINGS)
    assert found.reason is None and found.confirmations == decoders.CONFIRMATIONS
    expected = text_law(decoder_problem().target, TOKENS, {"temperature": 0.5}, ORDERS["vllm"])
    assert distance(found.masses, expected) < 1e-6


@installed
@pytest.mark.decoders
@pytest.mark.parametrize("name", [*PLANTED])
def test_a_bug_planted_in_the_engine_is_refuted(forged, name):
    found = law(forged, SETTINGS, PLANTED[name])
    expected = text_law(decoder_problem().target, TOKENS, {"temperature": 0.5}, ORDERS["vllm"])
    assert found.masses is not None, found.reason
    assert distance(found.masses, expected) > 1e-3


@installed
@pytest.mark.decoders
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_heads_suffix_trees_and_known_prompts_have_the_law_of_the_settings_and_a_planted_bug_is_refuted(forged, way):
    settings = {"temperature": 0.5, "repaired": True, **way}
    expected = text_law(decoder_problem().target, TOKENS, settings, ORDERS["vllm"])
    right, wrong = law(forged, settings), law(forged, settings, PLANTED["bonus token without temperature"])
    assert right.reason is None and distance(right.masses, expected) < 1e-6
    assert distance(wrong.masses, expected) > 1e-3


BONUS_COUNTS_DRAFTS = """
import torch
import vllm.v1.sample.sampler as plain
from vllm.v1.sample.logits_processor.builtin import MinTokensLogitsProcessor
kept = plain.Sampler.apply_logits_processors
def apply(self, logits, metadata, predict_bonus_token):
    least = [p for p in metadata.logitsprocs.non_argmax_invariant if isinstance(p, MinTokensLogitsProcessor)]
    before = [p.logits_slice for p in least]
    for p in least if predict_bonus_token else ():
        left = [(k, t) for k, (most, text, stops, _) in p.min_toks.items() for t in stops
                if len(text) + len(metadata.spec_token_ids[k]) < most]
        p.logits_slice = tuple(torch.tensor([one[k] for one in left], dtype=torch.int32) for k in (0, 1))
    try:
        return kept(self, logits, metadata, predict_bonus_token)
    finally:
        for p, masked in zip(least, before):
            p.logits_slice = masked
plain.Sampler.apply_logits_processors = apply
"""


@installed
@pytest.mark.decoders
def test_with_a_minimum_length_a_bonus_token_never_ends_a_text_and_the_mend_of_the_issue_holds(forged):
    settings = {"eos": [1], "min_tokens": 2, "repaired": True}
    expected = text_law(decoder_problem().target, 4, settings, ORDERS["vllm"])
    seen, mended = (law(forged, settings, edits, tokens=4, gamma=2) for edits in ("", BONUS_COUNTS_DRAFTS))
    assert not seen.masses.get((0, 0, 0, 1)) and expected[0, 0, 0, 1] > 0 and distance(seen.masses, expected) > 0.03
    assert distance(mended.masses, expected) < 1e-6


AS_WITHOUT_SPECULATION = """
import copy, torch
import vllm.sampling_params as asked
import vllm.v1.worker.gpu_model_runner as runner
asked.SamplingParams._validate_spec_decode = lambda *_: None
made = runner.build_logitsprocs
def build(config, *given, **how):
    config = copy.copy(config)
    config.speculative_config = None
    return made(config, *given, **how)
runner.build_logitsprocs = build
"""
VERIFIED_ROWS_TOO = (
    AS_WITHOUT_SPECULATION
    + """
import vllm.v1.sample.rejection_sampler as sampler
kept = sampler.RejectionSampler.apply_logits_processors
def apply(self, logits, asked, metadata):
    logits = kept(self, logits, asked, metadata)
    for one in asked.logitsprocs.argmax_invariant:
        before, one.min_p = one.min_p, one.min_p.repeat_interleave(torch.tensor(metadata.num_draft_tokens), 0)
        logits = one.apply(logits)
        one.min_p = before
    return logits
sampler.RejectionSampler.apply_logits_processors = apply
"""
)


@installed
@pytest.mark.decoders
def test_min_p_is_refused_and_where_it_is_let_in_only_first_and_bonus_tokens_follow_it(forged):
    settings = {"min_p": 0.5, "repaired": True, "draft_sampled": True}
    expected = text_law(decoder_problem().target, TOKENS, settings, ORDERS["vllm"])
    assert "not yet supported with speculative decoding" in law(forged, settings).reason
    let_in, mended = (law(forged, settings, edits) for edits in (AS_WITHOUT_SPECULATION, VERIFIED_ROWS_TOO))
    assert distance(let_in.masses, expected) > 0.4 and distance(mended.masses, expected) < 1e-6


GRAMMAR = """
from vllm.v1.structured_output import StructuredOutputManager
def valid(self, request, tokens):
    allowed = request.sampling_params.allowed_token_ids
    return tokens[:next((k for k, token in enumerate(tokens) if token not in allowed), len(tokens))]
StructuredOutputManager.validate_tokens = valid
"""
"""A stand-in for a grammar, which lets in the tokens that a request allows."""


@installed
@pytest.mark.decoders
def test_sampled_drafts_that_a_grammar_refuses_bias_what_takes_their_place_and_the_mend_of_the_issue_holds(forged):
    settings = {"allowed": [0, 1], "repaired": True, "draft_sampled": True}
    expected = text_law(decoder_problem().target, TOKENS, settings, ORDERS["vllm"])
    one_more = GRAMMAR.replace(", len(tokens))]", ", len(tokens)) + 1]")
    trimmed, mended = (law(forged, settings, edits) for edits in (GRAMMAR, one_more))
    assert distance(trimmed.masses, expected) > 0.06 and distance(mended.masses, expected) < 1e-6
    likeliest = law(forged, settings | {"draft_sampled": False}, GRAMMAR)
    assert distance(likeliest.masses, expected) < 1e-6


@installed
@pytest.mark.decoders
def test_as_published_what_it_emits_depends_on_memory_that_was_never_written():
    report = audit_engine(ENGINES["vllm"], levels=("exact",), tokens=TOKENS)
    assert report.verdict == "refuted"
    assert "rejection_sampler.py:expand_batch_to_tokens" in report.evidence[0].witness.why


def test_its_grid_has_at_least_12_settings_with_two_ways_of_drafting():
    cells = grid_cells(ENGINES["vllm"], drafting={"repaired": True})
    by_way = [{cell.name for cell in cells if cell.sampling == way} for way in ("speculative", "lookup")]
    assert len(by_way[0] & by_way[1]) >= 12 and all(cell.settings["repaired"] and cell.tokens > 1 for cell in cells)


def test_an_environment_that_is_not_there_and_settings_that_it_has_not_are_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("DRAFTPROOF_DECODERS", str(tmp_path))
    with pytest.raises(InputError, match=r"vllm needs its environment .* \(make decoders\)"):
        audit_engine(ENGINES["vllm"], levels=("exact",))
    (tmp_path / "vllm" / "bin").mkdir(parents=True)
    (tmp_path / "vllm" / "bin" / "python").touch()
    with pytest.raises(InputError, match="expected --level exact"):
        audit_engine(ENGINES["vllm"], samples=100)
    with pytest.raises(InputError, match="it has no setting typical_p"):
        audit_engine(ENGINES["vllm"], levels=("exact",), settings={"typical_p": 0.5})
