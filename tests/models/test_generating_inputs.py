"""What the decoding loop refuses, in one line, before anything is run."""

import pytest
import torch

from draftproof.models.errors import InputError
from draftproof.models.generating.draft_length import Adaptive
from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop import DecodingLoop
from draftproof.models.generating.sampling import warp
from draftproof.models.generating.settings import MIN_TEMPERATURE, checked_device
from draftproof.tests.models import generating_parts as parts
from draftproof.tests.refusals import one_line
from draftproof.verifiers.chance import RandomChance

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 0}, "gamma 0: expected a whole number of at least 1"),
        ({"gamma": 65}, "gamma 65: expected a whole number of at most 64"),
        ({"gamma": Adaptive(longest=65)}, "adaptive gamma: longest 65: expected a whole number of at most 64"),
        ({"temperature": 1e-30}, "temperature 1e-30: expected 0 or at least 1e-06"),
        ({"temperature": -0.1}, "temperature -0.1: expected a number of at least 0"),
        ({"temperature": float("nan")}, "temperature nan: expected a number of at least 0"),
        ({"top_k": -1}, "top_k -1: expected a whole number of at least 0"),
        ({"top_p": 0.0}, "top_p 0.0: expected a number above 0 and at most 1"),
        ({"max_new_tokens": 0}, "max_new_tokens 0: expected a whole number of at least 1"),
        ({"seed": -1}, "seed -1: expected a whole number of at least 0"),
        ({"max_new_tokens": 31}, "prompt 0: 2 tokens and 31 new ones are more than the 32 of the target's context"),
        ({"prompts": []}, "no prompts; expected at least one"),
        ({"prompts": [[1], []]}, "prompt 1: is empty; expected at least one token"),
        ({"prompts": [[1, 10]]}, "prompt 0: token 10 is outside the vocabulary, expected 0 to 9"),
        ({"vocabulary": 11}, "vocabulary 11: the target has 10 ids, expected 1 to 10"),
        ({"verifier": "tokn"}, "no verifier 'tokn'; expected one of token, block, greedy-block, block-stream"),
        ({"verifier": "lenient-token:0"}, "lenience 0.0: expected a number above 0 and at most 1"),
        ({"verifier": "lenient-token:1.5"}, "lenience 1.5: expected a number above 0 and at most 1"),
        ({"chance": [RandomChance()] * 2}, "2 chances for 1 prompts; expected one each"),
        ({"chance": [RandomChance()]}, "a batched verifier draws uniforms"),
        ({"device": "nowhere"}, "device 'nowhere': not available here; expected one of cpu"),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_bad_settings_are_refused_in_one_line(options, message):
    settings = {"prompts": [[1, 2]], "max_new_tokens": 4, **options}
    assert message in one_line(generate, *parts.attentive("gpt2"), **settings)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("temperature", [MIN_TEMPERATURE, 1e-36])
def test_the_law_near_temperature_0_is_the_argmax_and_does_not_overflow(temperature, dtype):
    logits = torch.tensor([[3.0, 50000.0, -2.0], [-50000.0, -1.0, -torch.inf]], dtype=dtype)
    assert (logits[0].float() / 1e-36).max() == torch.inf  # what the division alone gives
    law = warp(temperature, top_k=2, top_p=0.9)(logits).softmax(-1)
    assert law.tolist() == [[0, 1, 0], [0, 1, 0]]


def test_vocabularies_that_differ_are_refused_unless_the_padding_is_said():
    target, draft = parts.attentive("gpt2")[0], parts.attentive("gpt2", 12)[1]
    with pytest.raises(InputError, match=r"vocabularies differ: the target 10, the draft 12 ids; .* say vocabulary="):
        generate(target, draft, [[1]], max_new_tokens=4)
    found = generate(target, draft, [[1]] * 50, max_new_tokens=8, vocabulary=8)
    assert {token for tokens in found.tokens for token in tokens} == set(range(8))


def test_cuda_asked_for_where_there_is_none_is_refused(monkeypatch):
    def none_here(*_, **__):
        raise AssertionError("Torch not compiled with CUDA enabled")

    monkeypatch.setattr(torch, "empty", none_here)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(InputError, match=r"device 'cuda': not available here; expected one of cpu$"):
        checked_device("cuda", None)


def test_memory_that_runs_out_is_told_in_one_line():
    class Greedy(DecodingLoop):
        def drafts(self, texts, gamma):
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nand more")

    with pytest.raises(InputError, match=r"^out of memory on cpu with 1 prompts; expected fewer or shorter ones$"):
        generate(*parts.attentive("gpt2"), [[1]], loop=Greedy, max_new_tokens=4)


def test_a_model_that_drops_units_is_refused():
    target = parts.attentive("gpt2")[0]
    target.train()
    try:
        with pytest.raises(InputError, match=r"the target is in training mode, with dropout; expected model.eval\(\)"):
            generate(target, None, [[1]])
    finally:
        target.eval()
