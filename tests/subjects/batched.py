"""The batched verifiers by the plain convention, with a batch of one or two, in every form; and with planted bugs."""

import torch

from draftproof.verifiers.adapters.batched_tensors import Together, softmax
from draftproof.verifiers.adapters.batched_tensors import block as block_logits
from draftproof.verifiers.adapters.batched_tensors import greedy_block as greedy_logits
from draftproof.verifiers.adapters.batched_tensors import token as token_logits
from draftproof.verifiers.batched import sampling
from draftproof.verifiers.batched.independent_paths import DraftPaths, by_descent, k_seq, multi_round
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


def pair(verify, chance=uniforms):
    """A batch of two: the block, and its mirror image with the vocabulary reversed. Emits tau, tokens; tau, tokens."""

    def called(target_probs, draft_probs, draft_tokens, generator):
        target, draft = (torch.stack([x, x.flip(-1)]) for x in (target_probs, draft_probs))
        tokens = torch.stack([draft_tokens, target.shape[-1] - 1 - draft_tokens])
        given = verify(rows_of(target.log(), draft.log(), tokens, logits=True), chance(tokens, generator, generator))
        return torch.cat([given.accepted[:, None], given.tokens], 1).flatten()

    called.array, called.rows_in_use = "torch", softmax
    return called


token_pair, block_pair, greedy_pair = map(pair, (token_verification, block_verification, greedy_verification))


def of_paths(step):
    """A verifier of trees of independent paths, whose nodes stand level by level, by a rule of the batched form."""

    def called(target_probs, draft_probs, draft_tokens, parents, generator):
        paths = int((parents == -1).sum())
        nodes = torch.arange(len(parents)).view(-1, paths).T
        rows = torch.cat([torch.zeros(paths, 1, dtype=torch.int64), nodes + 1], 1)
        given = DraftPaths(target_probs[rows][None], draft_probs[nodes][None], draft_tokens[nodes][None])
        verdict = by_descent(given, uniforms(given.tokens[0], generator, generator), step)
        return verdict.tokens[0, : int(verdict.accepted[0]) + 1]

    called.array, called.drafting = "torch", ("iid",)
    return called


paths_spec_infer, paths_k_seq = of_paths(multi_round), of_paths(k_seq)


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


def shared_in_the_batch(tokens, acceptance=None, residual=None):
    drawn = uniforms(tokens[:1], acceptance, residual)
    return Uniforms(*(x.expand(len(tokens), -1) for x in drawn))


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
token_pair_noise, block_pair_noise, greedy_pair_noise = (
    pair(verify, shared_in_the_batch) for verify in (token_verification, block_verification, greedy_verification)
)


def drawn_from_the_target(siblings):
    """Y from the target's row after all rejections."""
    return multi_round(siblings)[0], siblings.target


paths_spec_infer_target = of_paths(drawn_from_the_target)


class FirstRowsCoins(Together):
    """A bug planted on purpose: every row is tested with the coins of the first."""

    def _verified(self, rows):
        coins = rows[0].random["acceptance"]
        return super()._verified([row._replace(random={**row.random, "acceptance": coins}) for row in rows])


block_of_the_first_row = FirstRowsCoins(block_verification)
