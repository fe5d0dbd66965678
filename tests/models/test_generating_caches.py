"""Caches of the decoding loop: what they read, drop and refuse. What a running loop makes of them is observed in
``tests/reports/audits/loops/test_e2e_forward_passes.py``."""

import pytest
import torch

from draftproof.models.errors import InputError
from draftproof.models.generating.caches import CachedModel, can_be_cropped, crop, select
from draftproof.models.generating.loop import generate
from draftproof.tests.models import generating_parts as parts

pytestmark = pytest.mark.engine
one_thread = pytest.fixture(autouse=True, scope="module")(parts.one_thread)


@pytest.mark.parametrize(
    ("kind", "prompts", "said"),
    [
        (
            "mistral",
            [[3], [4, 5, 6, 7, 8]],
            "outgrown its sliding window of 8; expected shorter ones or a batch of one",
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


def keys(cached):
    """The first layer's keys, [B, heads, columns, size]; a cache's layers came with transformers 4.54."""
    cache = cached.cache
    return cache.layers[0].keys if hasattr(cache, "layers") else cache[0][0]


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
    assert keys(cached).shape[2] == 4
    assert cached.unread([[1, 2, 9], [4, 7]])[0].tolist() == [[9], [0]]
    cached.select([1])
    assert cached.read.tolist() == [2]
    assert keys(cached).shape[0] == 1


class Croppable:
    """Cache.crop of transformers 4 (a length to keep, or a negative number of tokens) and of 5 (negative only)."""

    def __init__(self, old):
        self.old, self.length = old, 7

    def crop(self, tokens):
        if tokens > 0 and not self.old:
            raise ValueError("positive")
        self.length = tokens if tokens > 0 else self.length + tokens


@pytest.mark.parametrize("old", [True, False])
def test_cropping_means_the_same_before_and_after_the_change_of_crop(old):
    cache = Croppable(old)
    assert crop(cache, 0).length == 7
    assert crop(cache, 2).length == 5
    assert crop(cache, 5).length == 0


def test_caches_that_are_tuples_are_cropped_and_selected_too():
    layer = tuple(torch.arange(24.0).view(3, 1, 4, 2) + k for k in range(2))
    shorter = crop((layer,), 1)
    assert torch.equal(shorter[0][1], layer[1][:, :, :3])
    assert torch.equal(select(shorter, torch.tensor([2, 0]))[0][0], layer[0][[2, 0], :, :3])
    assert crop(None, 2) is None
    assert select(None, torch.tensor([0])) is None
    assert can_be_cropped(shorter)
    assert not any(map(can_be_cropped, (((layer[0][0],),), None, object())))
