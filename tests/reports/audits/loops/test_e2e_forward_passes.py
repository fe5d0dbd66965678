"""Forward passes of our own, what models were given to read, and a loop that is watched: rows off, and none off."""

import random

import pytest
import torch

from draftproof.models.generating.caches import cache_argument
from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop import DecodingLoop
from draftproof.models.generating.sampling import warp
from draftproof.models.generating.several_paths import SeveralPaths
from draftproof.reports.audits.loops.forward_passes import (
    chunked_passes,
    full_pass,
    measure_drift,
    padded_pass,
    row_distance,
)
from draftproof.reports.audits.loops.observed_loop import Observations, observed
from draftproof.tests.models import generating_parts as parts
from draftproof.tests.subjects import wrong_loops
from draftproof.verifiers.chance import RandomChance
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.engine
one_thread = pytest.fixture(autouse=True, scope="module")(parts.one_thread)

TEXTS = [[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7], [2, 7, 1, 8, 2, 8, 1, 8, 2]]
RAGGED = [[3], [4, 5, 6, 7, 8], [2, 3], [5, 5, 5, 5]]
EVERY = ["gpt2", "llama", "qwen2", "gpt_neox"]


@pytest.mark.parametrize("kind", [*EVERY, "bloom"])
def test_a_text_has_the_same_rows_in_one_pass_in_chunks_and_beside_others_in_a_padded_batch(kind):
    target = parts.attentive(kind)[0]
    whole = [full_pass(target, text, 10) for text in TEXTS]
    batch = padded_pass(target, TEXTS, 10)
    for text, rows, padded in zip(TEXTS, whole, batch, strict=True):
        assert rows.shape == padded.shape == (len(text), 10)
        for other in (chunked_passes(target, text, 1, 10), chunked_passes(target, text, 3, 10), padded):
            assert row_distance(rows, other).max() < 1e-5
    assert row_distance(whole[0], full_pass(target, [3, 1, 4, 1, 5, 9, 2, 5], 10))[-1] > 1e-3
    assert row_distance(whole[0][:6], whole[1]).min() > 1e-3


def test_drift_is_larger_in_half_precision_and_names_the_shapes():
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=200, initializer_range=0.2, **sizes)
    torch.manual_seed(0)
    target = LlamaForCausalLM(config).eval()
    half = LlamaForCausalLM(config).eval()
    half.load_state_dict(target.state_dict())
    half.to(torch.bfloat16)
    texts = [list(range(3, 40)), list(range(50, 80)), list(range(90, 130))]
    fine, coarse = (measure_drift(model, texts, 3, 200, warp(0.7, 4)) for model in (target, half))
    assert [each.shape for each in fine] == ["one token", "blocks of 3", "padded rows"]
    assert [each.positions for each in fine] == [37 + 30 + 40, 37 + 30 + 40, 37 + 25 + 27]
    for each in fine:
        for part in (each.log_p, each.total_variation, each.warped):
            assert 0 <= part["median"] <= part["q99"] <= part["max"] < 1e-4
        assert each.gap < 1e-4
        assert 0 < each.rounding < 1e-4
    for small, large in zip(fine[:2], coarse[:2], strict=True):
        assert large.total_variation["max"] > 100 * small.total_variation["max"]
        assert large.log_p["mean"] > 100 * small.log_p["mean"]
        assert large.gap > small.gap
        assert large.rounding == pytest.approx(2.0**16 * small.rounding, rel=0.05)


class Swapped(torch.nn.Module):
    """A model whose cached passes see the tokens of a chunk in the wrong order."""

    def __init__(self, model):
        super().__init__()
        self.model, self.device, self.dtype, self.config = model, model.device, model.dtype, model.config

    def forward(self, input_ids, past_key_values=None, use_cache=False, **given):
        if past_key_values is not None:
            input_ids = input_ids.flip(1)
        given |= {cache_argument(self.model): past_key_values, "use_cache": use_cache}
        return self.model(input_ids=input_ids, **given)


def test_passes_that_are_really_different_are_far_apart():
    drifts = {each.shape: each for each in measure_drift(Swapped(parts.attentive("llama")[0]), TEXTS, 3, 10, warp())}
    assert drifts["blocks of 3"].total_variation["max"] > 0.05
    assert drifts["one token"].total_variation["max"] < 1e-5


def watched(loop=DecodingLoop, verifier="block", prompts=RAGGED, models=None, **settings):
    """What is observed of a loop, and its run."""
    observations = Observations()
    run = generate(*(models or parts.attentive("llama")), prompts, verifier, loop=observed(loop, observations),
                   **{"gamma": 3, "seed": 3, "max_new_tokens": 20, **settings})  # fmt: skip
    return observations, run


VERIFIERS = ["token", "block", "greedy-block", "block-stream"]


RIGHT = [("llama", name) for name in VERIFIERS] + [(kind, "block") for kind in ("gpt2", "qwen2", "gpt_neox", "mistral")]


@pytest.mark.parametrize(("kind", "name"), RIGHT)
def test_a_right_loop_reads_its_texts_is_given_the_models_rows_and_uses_numbers_once(kind, name):
    prompts = RAGGED[:1] if kind == "mistral" else RAGGED  # a window of 8 columns, which no batch may outgrow
    models = parts.attentive(kind)
    observations, run = watched(verifier=name, prompts=prompts, models=models)
    assert observations.misread == [] and observations.numbers.reused == []
    assert max(seen.distance for seen in observations.rows) < 1e-5
    assert max(seen.distance for seen in observations.laws) == 0
    assert observations.blocks == len(run.iterations)
    assert observations.passes == sum(len(each.rows) * (each.gamma + 1) for each in run.iterations)
    assert {seen.place.model for seen in observations.rows} == {"target", "draft"}
    assert observations.numbers.by_purpose.total() > sum(len(each.rows) * each.gamma for each in run.iterations)
    assert not any(m._forward_pre_hooks or m._forward_hooks for one in models for m in (one, one.base_model))
    if kind == "llama":
        unwatched = generate(*models, prompts, name, gamma=3, seed=3, max_new_tokens=20)
        assert run.tokens == unwatched.tokens, "to be watched changes nothing"


BOTH = {"target", "draft"}
MISREAD = {
    "L01": ({"target"}, "tokens", True), "L02": ({"target"}, "tokens", True), "L03": ({"draft"}, "tokens", True),
    "L04": (BOTH, "positions", False), "L05": (BOTH, "tokens", False), "L15": (BOTH, "tokens", True),
    "L16": ({"target"}, "positions", True), "L17": (set(), None, False), "L18": (set(), None, False),
    None: (set(), None, False),
}  # fmt: skip
"""Wrong loops: the models that misread their texts, in which part, and whether exactly their rows are looked at."""


@pytest.mark.parametrize("name", MISREAD)
def test_a_cache_that_is_off_shows_in_what_was_read_and_in_the_rows(name):
    loop, (models, part, rows) = getattr(wrong_loops, name) if name else SeveralPaths, MISREAD[name]
    several = {"verifier": "spec-infer", "paths": 2} if issubclass(loop, SeveralPaths) else {}
    observations, _ = watched(loop, **several)
    assert {wrong.place.model for wrong in observations.misread} == models
    assert {wrong.part for wrong in observations.misread} == ({part} if part else set())
    off = {seen.place.model for seen in observations.rows if seen.distance > 1e-3}
    assert not rows or (off and off <= models)
    assert part or not off
    assert {seen.place.prompt for seen in observations.rows} == {0, 1, 2, 3}
    assert (max(seen.distance for seen in observations.laws) > 1e-3) == (name == "L17")
    assert bool(observations.numbers.reused) == (name == "L18")


@pytest.mark.parametrize("loop", [DecodingLoop, wrong_loops.L01])
def test_a_model_that_does_not_call_its_base_model_is_recorded(loop):
    """OPT calls the base model's decoder, and so passes it by."""
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(vocab_size=10, hidden_size=16, ffn_dim=32, num_hidden_layers=1, num_attention_heads=2,
                       word_embed_proj_dim=16, max_position_embeddings=64, init_std=0.3)  # fmt: skip
    torch.manual_seed(0)
    observations, run = watched(loop, models=[OPTForCausalLM(config).eval() for _ in range(2)])
    assert observations.unobserved == {}
    assert observations.passes == sum(len(each.rows) * (each.gamma + 1) for each in run.iterations)
    assert bool(observations.misread) == (loop is wrong_loops.L01)


def test_passes_that_were_not_recorded_are_left_out_with_a_notice():
    observations = Observations()

    class Deaf(observed(DecodingLoop, observations)):
        def verified(self, drafted):
            self.recorders["draft"].passes.clear()
            return super().verified(drafted)

    generate(*parts.attentive("llama"), RAGGED, loop=Deaf, gamma=3, max_new_tokens=8)
    assert observations.unobserved["draft reading"].startswith("fewer passes of the draft were recorded than a block")
    assert observations.passes > 0


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("L12", "a draft token of row 0 in iteration 0", "a draft token of row 1 in iteration 0"),
        ("L13", "a draft token of row 0 in iteration 0", "a coin of row 0 in iteration 0"),
        ("L14", "a coin of row 0 in iteration 0", "the last token of a block of row 0 in iteration 0"),
    ],
)
def test_a_number_that_is_used_twice_has_both_of_its_uses(name, first, second):
    observations, _ = watched(getattr(wrong_loops, name))
    assert observations.numbers.reused[0][1:] == (first, second)


def test_numbers_of_a_chance_that_is_given_are_not_logged():
    observations, _ = watched(verifier=reference("token"), prompts=RAGGED[:1], chance=[RandomChance(random.Random(1))])
    assert not observations.numbers.uses
    assert observations.passes > 0
