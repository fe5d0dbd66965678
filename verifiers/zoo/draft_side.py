"""Mutants that test with a q which is not the one the tokens were drawn from; everything else is right."""

import numpy as np

from .catalogue import ZooEntry
from .parts import normalised, token_by_token

KIND = "wrong q"


def softmax_for_greedy_draft(target, draft, tokens, rng):
    """Tests with a softmax, though the draft row is the sampler's own (one-hot where the draft is greedy)."""
    return token_by_token(target, normalised(np.exp(draft)), tokens, rng)


def q_before_truncation(target, draft, tokens, rng):
    """Tests with a raw q in which the tail that the draft's top-k cut off has its tenth of the mass back."""
    return token_by_token(target, 0.9 * draft + 0.1 / draft.shape[-1], tokens, rng)


def q_at_another_temperature(target, draft, tokens, rng):
    """Tests with q at half the temperature at which the tokens were drawn."""
    return token_by_token(target, normalised(draft**2), tokens, rng)


def q_of_the_best_beam(target, draft, tokens, rng):
    """Tests with flatter rows than those that a beam search, drawn to likely blocks, has in effect."""
    return token_by_token(target, normalised(np.sqrt(draft)), tokens, rng)


MUTANTS = (
    ZooEntry(
        "M17", softmax_for_greedy_draft, "softmax q for tokens drawn otherwise", KIND,
        "transformers: the assistant picked greedily and the test used its softmax (likewise speculative-sampling#3)",
        "https://github.com/huggingface/transformers/issues/32867",
    ),
    ZooEntry(
        "M18", q_before_truncation, "raw q for tokens drawn after top-k", KIND,
        "transformers: tokens drawn from processed logits, the raw ones returned for the test",
        "https://github.com/huggingface/transformers/issues/47932",
    ),
    ZooEntry(
        "M19", q_at_another_temperature, "q at another temperature than the draws", KIND,
        "dflash: the draft drew at its own temperature, and the test applied the request's",
        "https://github.com/z-lab/dflash/issues/74",
    ),
    ZooEntry(
        "M20", q_of_the_best_beam, "q of a sampler for tokens of a beam search", KIND,
        "recurrent drafter: beam-search candidates tested with the drafter's probabilities as if sampled",
        "https://github.com/apple/ml-recurrent-drafter/issues/6",
    ),
)  # fmt: skip
