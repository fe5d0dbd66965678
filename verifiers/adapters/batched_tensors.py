"""draftproof's own batched tensor verifiers, called by the plain convention with a batch of one.

They are a second implementation of the algorithms, and audited like anybody else's code.
"""

import torch

from ..batched.block_verification import block_verification
from ..batched.rows import rows_of
from ..batched.sampling import uniforms
from ..batched.token_verification import token_verification


def softmax(probabilities):
    """The rows that are verified with, where logits are given: their softmax in float32, or in float64."""
    kind = torch.promote_types(probabilities.dtype, torch.float32)
    return probabilities.log().to(kind).softmax(dim=-1)


def plain(verify, logits: bool):
    """The plain calling convention around a batched verifier; logits are log-probabilities."""

    def called(target_probs, draft_probs, draft_tokens, generator):
        target, draft, tokens = target_probs[None], draft_probs[None], draft_tokens[None]
        if logits:
            target, draft = target.log(), draft.log()
        given = verify(rows_of(target, draft, tokens, logits=logits), uniforms(tokens, generator, generator))
        return given.tokens[0, : int(given.accepted[0]) + 1]

    called.array = "torch"
    called.published = lambda: verify
    if logits:
        called.rows_in_use = softmax
    return called


token = plain(token_verification, logits=False)
block = plain(block_verification, logits=False)
token_logits = plain(token_verification, logits=True)
block_logits = plain(block_verification, logits=True)
