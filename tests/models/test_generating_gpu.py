"""Pairs and the decoding loop on a GPU: rows, laws and seeds as on the CPU."""

from collections import Counter

import pytest
import torch

from draftproof.models.battery import drawn_markov
from draftproof.models.generating.loop import generate
from draftproof.models.generating.loop_verifiers import loop_verifier
from draftproof.models.generating.settings import LoopSettings
from draftproof.models.pairs.loading import load_pair
from draftproof.stattests.design import assert_goodness
from draftproof.tests.models import generating_parts as parts
from draftproof.tests.models.pairs_parts import save

pytestmark = [
    pytest.mark.engine,
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none here"),
]

RAGGED = [[3], [4, 5, 6, 7, 8], [2, 3], [5, 5, 5, 5]]


@pytest.fixture(autouse=True)
def back_on_the_cpu():
    """Models are shared with the other tests."""
    yield
    for pair in (parts.attentive("gpt2"), parts.attentive("llama"), parts.forged(drawn_markov, 3, 2)[:2]):
        for model in pair:
            model.to("cpu", torch.float32)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
def test_rows_on_the_gpu_are_those_of_whole_texts(kind, name):
    target, draft = parts.attentive(kind)
    settings = LoopSettings(gamma=3, max_new_tokens=20, seed=3)
    running = parts.watched()(target, draft, RAGGED, loop_verifier(name), settings, None, "cuda")
    found = running.run()
    assert found.device.startswith("cuda")
    assert max(parts.furthest_rows(running.blocks, target, draft).values()) < 1e-4


@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
def test_texts_on_the_gpu_follow_the_target_and_a_seed_repeats_itself(name):
    target, draft, start = parts.forged(drawn_markov, 3, 2)
    settings = {"gamma": 2, "max_new_tokens": 3, "seed": 5, "device": "cuda"}
    found = generate(target, draft, [[start]] * 10_000, name, **settings)
    assert_goodness(Counter(map(tuple, found.tokens)), parts.law_of_text(drawn_markov(3, 2).target, 3))
    assert generate(target, draft, [[start]] * 10_000, name, **settings).tokens == found.tokens


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_runs_on_the_gpu_and_is_named(dtype):
    target, draft = (type(m)(m.config).to(getattr(torch, dtype)).eval() for m in parts.attentive("llama"))
    found = generate(target, draft, RAGGED, "block", gamma=3, max_new_tokens=8, device="cuda")
    assert found.dtype == dtype
    assert [len(tokens) for tokens in found.tokens] == [8] * 4


def test_a_pair_is_loaded_onto_the_gpu_in_the_precision_asked_for_and_decodes_there(tmp_path):
    folders = save(tmp_path / "target"), save(tmp_path / "draft", seed=1)
    pair = load_pair(*folders, device="cuda", dtype="bfloat16")
    assert {(p.device.type, p.dtype) for m in (pair.target, pair.draft) for p in m.parameters()} == {
        ("cuda", torch.bfloat16)
    }
    prompts = [pair.encode("def f(x):"), pair.encode("the quick")]
    found = generate(pair.target, pair.draft, prompts, "block", gamma=3, max_new_tokens=6, vocabulary=pair.vocabulary)
    assert (found.device, found.dtype) == ("cuda:0", "bfloat16")
    assert [len(tokens) for tokens in found.tokens] == [6, 6]


def test_greedy_block_verification_on_the_gpu_gives_the_text_of_the_cpu_token_by_token():
    """float64 on both: rounding moves no coin and no draw, unless one in 2^40 is that close."""
    target, draft, start = parts.forged(drawn_markov, 3, 2)
    texts = []
    for device in ("cpu", "cuda"):
        models = [model.double().to(device) for model in (target, draft)]
        texts.append(generate(*models, [[start]] * 200, "greedy-block", gamma=3, max_new_tokens=12, seed=1).tokens)
    assert texts[0] == texts[1]
