"""Wrong, or not, by how they are called: the generator left out, arrays with gaps, tensors without gradients, old
results."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import answer, ratio, token_by_token

OUT = np.zeros(64, dtype=np.int64)


def greedy_by_itself(target_probs, draft_probs, draft_tokens, rng=None):
    """Without a generator the draft is accepted, and the most likely token follows."""
    if rng is None:
        return answer(draft_tokens, target_probs[-1].argmax())
    return token_by_token(target_probs, draft_probs, draft_tokens, rng)


def seeded_by_itself(target_probs, draft_probs, draft_tokens, rng=None):
    """Without a generator every call sees the same random numbers."""
    return token_by_token(target_probs, draft_probs, draft_tokens, rng or np.random.default_rng(0))


def random_by_itself(target_probs, draft_probs, draft_tokens, rng=None):
    """Right: without a generator it makes one."""
    return token_by_token(target_probs, draft_probs, draft_tokens, rng or np.random.default_rng())


def needs_one_after_all(target_probs, draft_probs, draft_tokens, rng=None):
    """Right where it gets one."""
    return token_by_token(target_probs, draft_probs, draft_tokens, rng)


def layout_mistaken(target, draft, tokens, rng):
    """The rows are read as they lie in memory."""
    lying = np.lib.stride_tricks.as_strided(target, target.shape, (8 * target.shape[1], 8))
    return token_by_token(lying, draft, tokens, rng)


def refuses_gaps(target, draft, tokens, rng):
    """Right: it says what it needs."""
    assert target.flags.c_contiguous
    return token_by_token(target, draft, tokens, rng)


def result_in_a_buffer(target, draft, tokens, rng):
    """Right, but what it returns is a view into an array that the next call fills anew."""
    emitted = token_by_token(target, draft, tokens, rng)
    OUT[: len(emitted)] = emitted
    return OUT[: len(emitted)]


def without_gradients(target_probs, draft_probs, draft_tokens, generator):
    """In torch: no coin where gradients are switched off, as they are in production."""
    import torch

    emitted = []
    for i, x in enumerate(map(int, draft_tokens)):
        coin = torch.rand((), generator=generator, dtype=torch.float64) < ratio(target_probs[i, x], draft_probs[i, x])
        if torch.is_grad_enabled() and not coin:
            rest = (target_probs[i] - draft_probs[i]).clamp(min=0)
            return [*emitted, int(torch.multinomial(rest, 1, generator=generator))]
        emitted.append(x)
    return [*emitted, int(torch.multinomial(target_probs[-1], 1, generator=generator))]


def with_cuda(target_probs, draft_probs, draft_tokens, generator):
    """In torch: another way where there is CUDA."""
    import torch

    if torch.cuda.is_available():
        return answer(draft_tokens, target_probs[-1].argmax())
    return without_gradients(target_probs, draft_probs, draft_tokens, generator)
