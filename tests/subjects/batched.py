"""The batched verifiers by the plain convention, with a batch of one or two, in every form; and with planted bugs."""

import torch

from draftproof.verifiers.adapters.batched_tensors import block as block_logits
from draftproof.verifiers.adapters.batched_tensors import greedy_block as greedy_logits
from draftproof.verifiers.adapters.batched_tensors import softmax
from draftproof.verifiers.adapters.batched_tensors import token as token_logits
from draftproof.verifiers.batched import sampling
from draftproof.verifiers.batched.rows import Probabilities, rows_of
from draftproof.verifiers.batched.sampling import Uniforms, uniforms
from draftproof.verifiers.batched.verification import block_verification, greedy_block_verification, token_verification

ADAPTED = (token_logits, block_logits, greedy_logits)
"""As the adapters have them; found here by these names."""


def greedy_verification(rows, chance):
    return greedy_block_verification(rows, chance)[0]


def subject(verify, logits=False, make=rows_of, chance=uniforms, width=None):
    """A plain verifier; make: how the rows are held; chance: how uniforms are drawn; width: tokens in a chunk."""

    def called(target_probs, draft_probs, draft_tokens, generator):
        target, draft, tokens = target_probs[None], draft_probs[None], draft_tokens[None]
        if logits:
            target, draft = target.log(), draft.log()
        before, sampling.CHUNK_WIDTH = sampling.CHUNK_WIDTH, width or sampling.CHUNK_WIDTH
        try:
            given = verify(make(target, draft, tokens, logits=logits), chance(tokens, generator, generator))
        finally:
            sampling.CHUNK_WIDTH = before
        return given.tokens[0, : int(given.accepted[0]) + 1]

    called.array = "torch"
    if logits:
        called.rows_in_use = softmax
    return called


def in_torch(target, draft, tokens, *, logits):
    """What is used where there is no numba, and on CUDA."""
    target, draft = (x.to(torch.promote_types(x.dtype, torch.float32)) for x in (target, draft))
    if logits:
        target, draft = target.softmax(-1), draft.softmax(-1)
    return Probabilities(target, draft, tokens)


def as_on_cuda(target, draft, tokens, *, logits):
    """Nothing is looked at on the way."""
    rows = in_torch(target, draft, tokens, logits=logits)
    rows.waits = True
    return rows


token = subject(token_verification)
block = subject(block_verification)
greedy = subject(greedy_verification)
token_torch = subject(token_verification, logits=True, make=in_torch)
block_torch = subject(block_verification, logits=True, make=in_torch)
greedy_torch = subject(greedy_verification, logits=True, make=in_torch)
block_waits = subject(block_verification, logits=True, make=as_on_cuda)
greedy_waits = subject(greedy_verification, logits=True, make=as_on_cuda)
token_chunks = subject(token_verification, logits=True, width=2)
block_chunks = subject(block_verification, make=in_torch, width=2)


# ---------------------------------------------------------------- planted bugs


class ResidualOfTheNextRow(Probabilities):
    def excess(self, at, kept):
        return super().excess((at + 1).clamp(max=kept.shape[1]), kept)


class ResidualOfTheRowBefore(Probabilities):
    def excess(self, at, kept):
        return super().excess((at - 1).clamp(min=0), kept)


class ResidualWithoutSurvival(Probabilities):
    """The token's residual M_b - M_s after the block's coins."""

    def excess(self, at, kept):
        return super().excess(at, torch.ones_like(kept))


class CoinsWithoutSurvival(Probabilities):
    """h_i from max(M_b - M_s, 0)."""

    def acceptance(self, kept, open_):
        capped = torch.ones_like(kept)
        short = 1 - kept
        surplus = self._surplus(capped, open_)
        accept = torch.where(short > 0, surplus / (surplus + short), 1.0)
        accept[:, -1] = kept[:, -1]
        return accept


def holding(rows):
    """Probabilities held by a faulty class."""
    return lambda target, draft, tokens, *, logits: rows(target.double(), draft.double(), tokens)


def shared_with_the_residual(tokens, acceptance=None, residual=None):
    """The uniform that decided the first coin draws the token as well."""
    drawn = uniforms(tokens, acceptance, residual)
    return Uniforms(drawn.acceptance, drawn.acceptance[:, :1].expand(-1, 2))


token_next_row = subject(token_verification, make=holding(ResidualOfTheNextRow))
block_next_row = subject(block_verification, make=holding(ResidualOfTheNextRow))
greedy_next_row = subject(greedy_verification, make=holding(ResidualOfTheNextRow))
token_row_before = subject(token_verification, make=holding(ResidualOfTheRowBefore))
block_row_before = subject(block_verification, make=holding(ResidualOfTheRowBefore))
greedy_row_before = subject(greedy_verification, make=holding(ResidualOfTheRowBefore))
block_without_survival = subject(block_verification, make=holding(ResidualWithoutSurvival))
greedy_without_survival = subject(greedy_verification, make=holding(ResidualWithoutSurvival))
block_coins = subject(block_verification, make=holding(CoinsWithoutSurvival))
greedy_coins = subject(greedy_verification, make=holding(CoinsWithoutSurvival))
token_noise = subject(token_verification, chance=shared_with_the_residual)
block_noise = subject(block_verification, chance=shared_with_the_residual)
greedy_noise = subject(greedy_verification, chance=shared_with_the_residual)
