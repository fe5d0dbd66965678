"""Pairs of small models, and the exact law and the rows of a decoding loop, for the tests of models/generating."""

import tempfile
from fractions import Fraction
from functools import cache

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from draftproof.models.forge import forge
from draftproof.models.generating.generate import generate
from draftproof.models.libraries import torch_threads
from draftproof.proofs.enumeration import batched_law_of
from draftproof.proofs.laws.reference_laws import joint_law


def one_thread():
    """Small models are faster on one thread than on two that other programs need as well."""
    with torch_threads(1):
        yield


@cache
def forged(problem_of, *arguments):
    """Target, draft and start token of a problem's forged checkpoints; problem_of(*arguments) is the problem."""
    with tempfile.TemporaryDirectory() as folder:
        pair = forge(problem_of(*arguments), folder)
        return (*(AutoModelForCausalLM.from_pretrained(where).eval() for where in pair[:2]), pair.start)


SIZES = {
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32},
    "llama": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
}
SIZES["mistral"] = {**SIZES["llama"], "num_key_value_heads": 2, "sliding_window": 8}
SIZES["qwen2"] = {**SIZES["llama"], "num_key_value_heads": 2}
SIZES["gpt_neox"] = SIZES["llama"]
SIZES["bloom"] = {"hidden_size": 16, "n_layer": 2, "n_head": 4}
SIZES["mamba"] = {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}


@cache
def attentive(kind, vocabulary=10):
    """A random target whose rows depend on all of the text, and a draft near it."""
    torch.manual_seed(0)
    sizes = dict(SIZES[kind], vocab_size=vocabulary, pad_token_id=None, bos_token_id=0, eos_token_id=1)
    sizes.setdefault("max_position_embeddings", sizes.get("n_positions", 32))
    config = AutoConfig.for_model(kind, **sizes)
    target, draft = (AutoModelForCausalLM.from_config(config).eval() for _ in range(2))
    with torch.no_grad():
        for p, q in zip(target.parameters(), draft.parameters(), strict=True):
            p.copy_(torch.randn_like(p) * 0.4 if p.ndim > 1 else 1 + torch.randn_like(p) * 0.1)
            q.copy_(p + torch.randn_like(p) * 0.15)
    return target, draft


def exact_law(pair, verifier, prompts=1, **settings):
    """The law of what the loop emits, by running it for every way chance can fall, all open paths in one batch.

    prompts: rows that are decoded with one chance in turn; an outcome is then a tuple of their texts.
    """
    target, draft, start = pair

    def outcomes(chances):
        chances = [chance for chance in chances for _ in range(prompts)]
        found = generate(target, draft, [[start]] * len(chances), verifier, chance=chances, **settings).tokens
        texts = [*map(tuple, found)]
        return texts if prompts == 1 else [tuple(texts[at : at + prompts]) for at in range(0, len(texts), prompts)]

    return batched_law_of(outcomes)


def law_of_text(model, length):
    """The law of a model's first tokens as floats."""
    return {text: float(p) for text, p in joint_law(model, length, Fraction(1)).items()}
