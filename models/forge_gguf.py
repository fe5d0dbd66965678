"""Forged checkpoints as a GGUF file, for engines that load that: the same weights, and a tokenizer of characters."""

import json
from pathlib import Path

from .forge_llama import BOS, CHAT_TEMPLATE, EOS
from .libraries import require

CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-"
"""Token k is the character k: words would need blanks, which llama.cpp's tokenizers do not split at."""

LAYER_TENSORS = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip

_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
    **{f"model.layers.0.{ours}.weight": f"blk.0.{theirs}.weight" for ours, theirs in LAYER_TENSORS.items()},
}  # fmt: skip

NORMAL, CONTROL, UNUSED = 1, 3, 5
"""Kinds of tokens in GGUF."""


def save_gguf(checkpoint: Path, file: Path) -> None:
    """Write a forged checkpoint as GGUF, in float32, with its ids: 0..V-1 the ``CHARACTERS``, <s>, </s>, and padding.

    Raises: InputError without the package gguf; OSError.
    """
    require("gguf")
    from gguf import GGUFWriter
    from safetensors.numpy import load_file

    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    vocabulary, size = config["bos_token_id"], config["vocab_size"]
    padding = size - vocabulary - 2
    writer = GGUFWriter(file, "llama")
    writer.add_name(config["forged_from"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(1)
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(size)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*CHARACTERS[:vocabulary], BOS, EOS, *(f"<unused{k}>" for k in range(padding))])
    writer.add_token_scores([-1.0] * vocabulary + [0.0] * (size - vocabulary))
    writer.add_token_types([NORMAL] * vocabulary + [CONTROL] * 2 + [UNUSED] * padding)
    writer.add_bos_token_id(vocabulary)
    writer.add_eos_token_id(vocabulary + 1)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)
    for name, weight in load_file(checkpoint / "model.safetensors").items():
        writer.add_tensor(_NAMES[name], weight.astype("float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
