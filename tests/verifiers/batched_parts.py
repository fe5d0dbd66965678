"""What the tests of the batched verifiers share: devices, the forms of rows, a batch on a large vocabulary."""

import pytest
import torch

from draftproof.verifiers.batched.keyed_uniforms import Seeds
from draftproof.verifiers.batched.rows import Probabilities, rows_of
from draftproof.verifiers.batched.sampling import Uniforms, uniforms
from draftproof.verifiers.batched.verification import block_verification, greedy_block_verification, token_verification

no_cuda = "needs a CUDA device and a torch that sees it; torch.cuda.is_available() is False"
ON_CUDA = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason=no_cuda)]
DEVICES = ["cpu", *([pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else [])]
VERIFIERS = {
    "token": token_verification,
    "block": block_verification,
    "greedy-block": lambda rows, chance: greedy_block_verification(rows, chance)[0],
}
LARGEST = 1 - 2**-53


def probabilities32(target, draft, tokens):
    return rows_of(target.float(), draft.float(), tokens, logits=False)


def probabilities64(target, draft, tokens):
    return rows_of(target, draft, tokens, logits=False)


def logits32(target, draft, tokens):
    """With an offset that the softmax must not see."""
    return rows_of(target.log().float() + 40, draft.log().float() - 40, tokens, logits=True)


def logits64(target, draft, tokens):
    return rows_of(target.log(), draft.log(), tokens, logits=True)


def in_torch(target, draft, tokens):
    """As where there is no numba."""
    return Probabilities(target.float(), draft.float(), tokens)


def as_on_cuda(target, draft, tokens):
    """Nothing is looked at on the way."""
    rows = in_torch(target, draft, tokens)
    rows.waits = True
    return rows


FORMS = [probabilities32, probabilities64, logits32, logits64, in_torch, as_on_cuda]


def on(device, chance):
    return Uniforms(*(x.to(device) for x in chance))


def large(size, vocabulary, gamma, seed=0):
    """A batch on a large vocabulary, with tokens that either model excludes."""
    make = torch.Generator().manual_seed(seed)
    target = torch.randn(size, gamma + 1, vocabulary, generator=make, dtype=torch.float64) * 3
    draft = target[:, :gamma] + torch.randn(size, gamma, vocabulary, generator=make, dtype=torch.float64)
    for rows in (target, draft):
        rows[torch.rand(rows.shape, generator=make) < 0.3] = -torch.inf
    target, draft = target.softmax(-1), draft.softmax(-1)
    flat = draft.reshape(-1, vocabulary)
    return target, draft, torch.multinomial(flat, 1, generator=make).view(size, gamma)


def kernel_inputs(form, size, vocabulary, gamma):
    """A batch for ``backends.verify``: blocks of all lengths, 0 included; of logits, temperatures from 0 to 2."""
    target, other, tokens = large(size, vocabulary, gamma)
    draft = (3 * target[:, :gamma] + other) / 4  # most tokens are accepted
    make = torch.Generator().manual_seed(1)
    if size > 3:
        tokens[1::4, 1:], tokens[3] = -1, -1
        tokens[2, gamma // 2] = -1  # what stands behind it does not count
    chance = uniforms(tokens, make, make)
    target, draft = target.float(), draft.float()
    if form in ("float16", "bfloat16"):
        target, draft = (x.to(getattr(torch, form)) for x in (target, draft))
    if form == "keyed":
        chance = Seeds(*(torch.randint(0, 2**k, (size,), generator=make) for k in (62, 40)))
    if form == "logits":
        heat = torch.rand(size, generator=make) * 2
        heat[::7] = 0
        return (target.log() + 3, draft.log() - 3, tokens, chance), {"logits": True, "temperature": heat}
    return (target, None if form == "one-hot" else draft, tokens, chance), {"logits": False}
