"""Caches of the decoding loop: what they read, drop and refuse. What a running loop makes of them is observed in
``tests/reports/audits/loops/test_e2e_forward_passes.py``."""

import pytest
import torch

from draftproof.models.errors import InputError
from draftproof.models.generating.caches import CachedModel
from draftproof.models.generating.generate import generate
from draftproof.tests.models import generating_parts as parts

pytestmark = pytest.mark.engine
one_thread = pytest.fixture(autouse=True, scope="module")(parts.one_thread)


@pytest.mark.parametrize(
    ("kind", "prompts", "said"),
    [
        (
            "mistral",
            [[3], [4, 5, 6, 7, 8]],
            "longer than its sliding window of 8; expected shorter ones or a batch of one",
        ),
        ("bloom", [[3], [4, 5]], "BloomForCausalLM takes no position_ids; expected a batch of one, got 2"),
        ("mamba", [[3]], "target: MambaForCausalLM keeps a state that cannot be rolled back; expected"),
    ],
)
def test_what_cannot_be_rolled_back_or_batched_is_refused(kind, prompts, said):
    with pytest.raises(InputError, match=said):
        generate(*parts.attentive(kind), prompts, gamma=3, max_new_tokens=20)
    if kind != "mamba":
        assert len(generate(*parts.attentive(kind), [[3]], gamma=3, max_new_tokens=20).tokens[0]) == 20


def test_a_text_fills_the_context_to_its_last_place_though_blocks_reach_beyond():
    """GPT-2's table of positions ends there; a position behind it would be an index error."""
    found = generate(*parts.attentive("gpt2"), [[1, 2, 3], [1] * 12], gamma=4, max_new_tokens=20)
    assert [len(tokens) for tokens in found.tokens] == [20, 20]


def test_a_cache_reads_only_what_it_lacks_and_rewinds_to_any_length():
    target, _ = parts.attentive("llama")
    cached = CachedModel(target, 2)
    tokens, real = cached.unread([[1, 2, 3], [4]])
    assert tokens.tolist() == [[1, 2, 3], [0, 0, 4]]
    assert real.tolist() == [[True] * 3, [False, False, True]]
    with torch.no_grad():
        cached.logits(tokens, real)
        cached.logits(torch.tensor([[5, 6], [7, 8]]))
    cached.rewind(torch.tensor([2, 2]))
    assert cached.read.tolist() == [2, 2]
    assert cached.filled.tolist() == [[True, True, False, False], [False, False, True, True]]
    assert cached.cache.layers[0].keys.shape[2] == 4
    assert cached.unread([[1, 2, 9], [4, 7]])[0].tolist() == [[9], [0]]
    cached.select([1])
    assert cached.read.tolist() == [2]
    assert cached.cache.layers[0].keys.shape[0] == 1
