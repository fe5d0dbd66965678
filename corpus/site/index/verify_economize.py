"""economize: its rejection verifier with its sampler: a row at a time, a batch, a draft looked up in the text."""

from types import SimpleNamespace

import torch
from wrapping import loaded, of_logits

verifiers = loaded("economize", "economize/decoding/verifiers.py")
from economize.decoding.protocols import Draft  # noqa: E402  after the folder is known
from economize.decoding.selectors import TopPSampler  # noqa: E402


def made():
    made_one = verifiers.RejectionVerifier.__new__(verifiers.RejectionVerifier)
    made_one.config = SimpleNamespace()
    selector = TopPSampler()
    selector.generator_for = lambda device: None  # torch's own generator in place of one seeded anew for each call
    return made_one, selector


@of_logits
def verify(target_probs, draft_probs, draft_tokens):
    verifier, selector = made()
    history = torch.zeros(len(draft_tokens) + 2, dtype=torch.long)
    count, token = verifier.verify(target_probs.log(), draft_tokens.tolist(), draft_probs, selector, history, 1)
    return [*draft_tokens[:count], token]


@of_logits
def batch(target_probs, draft_probs, draft_tokens):
    verifier, selector = made()
    draft = Draft(draft_tokens[None], [len(draft_tokens)], probs=draft_probs[None])
    count, token = verifier.verify_batch(target_probs.log()[None], draft, selector, draft_tokens[None], [1])
    return [*draft_tokens[: int(count)], token]


@of_logits
def lookup(target_probs, draft_probs, draft_tokens):
    verifier, selector = made()
    draft = Draft(draft_tokens[None], [len(draft_tokens)])
    count, token = verifier.verify_batch(target_probs.log()[None], draft, selector, draft_tokens[None], [1])
    return [*draft_tokens[: int(count)], token]
