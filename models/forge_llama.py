"""The weights of a forged checkpoint.

Attention and MLP are zero, so the residual stream is the embedding of the last token: 128 in one dimension of the H
hidden ones, a dimension for each token of the problem and one for "start". RMSNorm makes sqrt(H) of it (its epsilon
is then below the rounding of float32), and that dimension's column of the last layer is log P / sqrt(H).
"""

from collections.abc import Callable
from math import log, sqrt
from pathlib import Path
from typing import Any

from .errors import InputError
from .law import Markov
from .libraries import save_tokenizer

HEAD_SIZE = 64
"""Hidden dimensions to an attention head; the hidden size is a multiple of it that holds V + 1 dimensions."""

EMBEDDING = 128.0
"""Exact in every precision, and so is its square; their mean, 128 or more, hides an epsilon of 1e-6."""

IMPOSSIBLE_LOGIT = -8192.0
"""The logit of an impossible token: finite in float16, and exp(-8192 / T) is 0 in float64 for T up to 10."""


def save_checkpoint(law: Markov, folder: Path, size: int, dtype: str, name: str, shards: int = 1) -> None:
    """Write a Llama checkpoint with this law, its generation settings and its tokenizer.

    logits(after token k) = log P(. | k), and IMPOSSIBLE_LOGIT for probability 0 and for every id from V on.
    law: rows of V rationals.
    size: number of ids.
    name: what the checkpoint was forged from, recorded in its configuration.
    shards: number of devices that the heads and the MLP can be divided over.
    """
    import torch

    vocabulary, precision = len(law.after), getattr(torch, dtype)
    heads = -(-(vocabulary // HEAD_SIZE + 1) // shards) * shards
    configuration = {
        "vocab_size": size, "hidden_size": heads * HEAD_SIZE, "intermediate_size": HEAD_SIZE * shards,
        "num_hidden_layers": 1,
        "num_attention_heads": heads, "num_key_value_heads": heads, "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-6, "tie_word_embeddings": False, "forged_from": name,
        "bos_token_id": vocabulary, "eos_token_id": vocabulary + 1, "pad_token_id": vocabulary + 1,
    }  # fmt: skip

    def weights(model: Any) -> dict[str, Any]:
        shapes = {n: p.shape for n, p in model.named_parameters()}
        flat = {n: torch.full(s, float(n.endswith("norm.weight")), dtype=precision) for n, s in shapes.items()}
        _write_law(law, flat["model.embed_tokens.weight"], flat["lm_head.weight"])
        return flat

    save_llama(configuration, weights, folder)
    save_word_tokenizer(folder, vocabulary)


def save_llama(configuration: dict[str, Any], weights: Callable[[Any], dict[str, Any]], folder: Path) -> None:
    """Write a Llama checkpoint whose settings truncate nothing.

    weights: function of the model without weights that returns its weights by name. Raises: InputError if one lacks.
    """
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(**configuration))
    model.load_state_dict(weights(model), assign=True, strict=False)
    model.tie_weights()
    if absent := [name for name, part in model.named_parameters() if part.is_meta]:
        raise InputError(f"the checkpoint has no {absent[0]}, which its configuration asks for")
    ids = {name: value for name, value in configuration.items() if name.endswith("_token_id") and value is not None}
    # top_k = 0 and top_p = 1: no truncation, whatever an engine's defaults are.
    model.generation_config = GenerationConfig(do_sample=True, temperature=1.0, top_k=0, top_p=1.0, **ids)
    model.save_pretrained(folder)


def _write_law(law: Markov, embedding, head) -> None:
    """Write the law into the weights. embedding, head: [ids, H], zero so far; their precision rounds each entry
    once.
    """
    vocabulary, root = len(law.after), sqrt(embedding.shape[1])
    for token in range(vocabulary):
        embedding[token, token] = EMBEDDING
    embedding[vocabulary:, vocabulary] = EMBEDDING
    head[:, : vocabulary + 1] = IMPOSSIBLE_LOGIT / root
    for dimension, row in enumerate((*law.after, law.start)):
        for token, p in enumerate(row):
            if p > 0:
                head[token, dimension] = (log(p.numerator) - log(p.denominator)) / root


BOS, EOS = "<s>", "</s>"

CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""Template by which a chat with one message has the tokens of a prompt with its content."""


def save_word_tokenizer(folder: Path, vocabulary: int) -> None:
    """Write a word-level tokenizer: "0 2 1" <-> [V, 0, 2, 1], the text split at blanks.

    Tokens 0..V-1 are the words "0", "1", ...; <s> is V and is put before every text, </s> is V + 1. Ids beyond are
    padding of the model's vocabulary and have no word; a word that is not a token is </s>, since some engines (mlx-lm)
    try words of their own when they load a tokenizer.
    """
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing

    words = [*map(str, range(vocabulary)), BOS, EOS]
    tokenizer = Tokenizer(WordLevel({word: token for token, word in enumerate(words)}, unk_token=EOS))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, vocabulary)])
    save_tokenizer(tokenizer, folder, BOS, EOS, CHAT_TEMPLATE)
