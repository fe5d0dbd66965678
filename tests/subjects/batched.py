"""The batched verifiers by the plain convention, with a batch of one or two, in every form; and with planted bugs."""

import torch

from draftproof.verifiers.adapters.batched_tensors import block as block_logits
from draftproof.verifiers.adapters.batched_tensors import greedy_block as greedy_logits
from draftproof.verifiers.adapters.batched_tensors import softmax
from draftproof.verifiers.adapters.batched_tensors import token as token_logits
from draftproof.verifiers.batched import sampling
from draftproof.verifiers.batched.rows import BatchRows, rows_of
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


def as_on_cuda(target, draft, tokens, *, logits):
    """Nothing is looked at on the way."""
    rows = rows_of(target, draft, tokens, logits=logits)
    rows.waits = True
    return rows


block = subject(block_verification)
greedy = subject(greedy_verification)
block_waits = subject(block_verification, logits=True, make=as_on_cuda)
token_chunks = subject(token_verification, logits=True, width=2)


def pair(verify, chance=uniforms):
    """A batch of two: the block, and its mirror image with the vocabulary reversed. Emits tau, tokens; tau, tokens."""

    def called(target_probs, draft_probs, draft_tokens, generator):
        target, draft = (torch.stack([x, x.flip(-1)]) for x in (target_probs, draft_probs))
        tokens = torch.stack([draft_tokens, target.shape[-1] - 1 - draft_tokens])
        given = verify(rows_of(target.log(), draft.log(), tokens, logits=True), chance(tokens, generator, generator))
        return torch.cat([given.accepted[:, None], given.tokens], 1).flatten()

    called.array, called.rows_in_use = "torch", softmax
    return called


block_pair = pair(block_verification)


# ---------------------------------------------------------------- planted bugs


class ResidualOfTheNextRow(BatchRows):
    def excess(self, at, kept):
        return super().excess((at + 1).clamp(max=kept.shape[1]), kept)


class ResidualWithoutSurvival(BatchRows):
    """The token's residual M_b - M_s after the block's coins."""

    def excess(self, at, kept):
        return super().excess(at, torch.ones_like(kept))


class CoinsWithoutSurvival(BatchRows):
    """h_i from max(M_b - M_s, 0)."""

    def acceptance(self, kept, open_):
        capped = torch.ones_like(kept)
        short = 1 - kept
        surplus = self._surplus(capped, open_)
        accept = torch.where(short > 0, surplus / (surplus + short), 1.0)
        accept[:, -1] = kept[:, -1]
        return accept


def holding(rows):
    """BatchRows held by a faulty class."""
    return lambda target, draft, tokens, *, logits: rows(target.double(), draft.double(), tokens)


def shared_in_the_batch(tokens, acceptance=None, residual=None):
    drawn = uniforms(tokens[:1], acceptance, residual)
    return Uniforms(*(x.expand(len(tokens), -1) for x in drawn))


def shared_with_the_residual(tokens, acceptance=None, residual=None):
    """The uniform that decided the first coin draws the token as well."""
    drawn = uniforms(tokens, acceptance, residual)
    return Uniforms(drawn.acceptance, drawn.acceptance[:, :1].expand(-1, 2))


block_next_row = subject(block_verification, make=holding(ResidualOfTheNextRow))
greedy_next_row = subject(greedy_verification, make=holding(ResidualOfTheNextRow))
greedy_without_survival = subject(greedy_verification, make=holding(ResidualWithoutSurvival))
block_coins = subject(block_verification, make=holding(CoinsWithoutSurvival))
greedy_coins = subject(greedy_verification, make=holding(CoinsWithoutSurvival))
token_noise = subject(token_verification, chance=shared_with_the_residual)
block_pair_noise = pair(block_verification, shared_in_the_batch)
