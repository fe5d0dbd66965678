"""Pairs of small models, and the exact law and the rows of a decoding loop, for the tests of models/generating."""

import tempfile
from fractions import Fraction
from functools import cache

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from draftproof.models.forge import forge
from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop import DecodingLoop
from draftproof.models.libraries import torch_threads
from draftproof.proofs.enumeration import Branching, EnumeratedChance
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
    law, scripts = {}, [((), 1.0)]
    while scripts:
        walks = []
        for script in scripts:
            walks.append(Branching(1.0))
            walks[-1].pending = [script]
            walks[-1].begin()
        chances = [EnumeratedChance(walk) for walk in walks for _ in range(prompts)]
        texts = generate(target, draft, [[start]] * len(chances), verifier, chance=chances, **settings).tokens
        for at, walk in enumerate(walks):
            outcome = tuple(map(tuple, texts[at * prompts : (at + 1) * prompts]))
            outcome = outcome[0] if prompts == 1 else outcome
            law[outcome] = law.get(outcome, 0.0) + walk.probability
        scripts = [script for walk in walks for script in walk.pending]
    return law


def law_of_text(model, length):
    """The law of a model's first tokens as floats."""
    return {text: float(p) for text, p in joint_law(model, length, Fraction(1)).items()}


def distance(law, other):
    """Total variation of two laws of floats."""
    return sum(abs(law.get(x, 0.0) - other.get(x, 0.0)) for x in law.keys() | other.keys()) / 2


def watched(loop=DecodingLoop):
    """The same loop, which notes the texts and the rows of every verification."""

    class Watched(loop):
        def verified(self, drafted):
            self.__dict__.setdefault("blocks", []).append(([list(self.texts[row]) for row in self.open], drafted))
            return super().verified(drafted)

    return Watched


def furthest_rows(blocks, target, draft):
    """The largest difference between rows that were verified and those of forward passes over whole texts.

    For the target and for the draft, of probabilities.
    """
    worst = {"target": 0.0, "draft": 0.0}
    with torch.no_grad():
        for texts, drafted in blocks:
            for row, text in enumerate(texts):
                whole = torch.tensor([text + drafted.tokens[row].tolist()], device=drafted.tokens.device)
                for name, model in (("target", target), ("draft", draft)):
                    given = getattr(drafted, name)[row]
                    expected = model(whole).logits[0, len(text) - 1 : len(text) - 1 + len(given)]
                    off = (given.softmax(-1) - expected.softmax(-1)).abs().max().item()
                    worst[name] = max(worst[name], off)
    return worst
