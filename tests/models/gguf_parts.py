"""A miniature of the architecture of SmolLM2 in GGUF: random weights, tied embedding, grouped queries, 8-bit blocks."""

from pathlib import Path

import numpy as np

LAYERS, HEADS, KV_HEADS, HIDDEN = 6, 2, 1, 64

OF_THE_WRITER = ("GGUF.", "general.architecture", "general.file_type", "general.quantization_version")
"""Beginnings of the fields that a writer writes by itself."""

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def miniature_gguf(file: Path, architecture: str = "llama", left_out: str = "") -> Path:
    """Write the file, and beside it the model that it was made of, in a folder ``source``."""
    import torch
    from gguf import GGMLQuantizationType, GGUFWriter
    from gguf.quants import quantize
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    from draftproof.models.forge_gguf import CONTROL, LAYER_TENSORS, NORMAL

    tokens = [*SPECIAL, *bytes_to_unicode().values(), "he", "th"]
    config = LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=HIDDEN,
        intermediate_size=96,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=128,
        rms_norm_eps=1e-5,
        rope_theta=1e5,
        tie_word_embeddings=True,
        initializer_range=0.2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = LlamaForCausalLM(config)
    model.save_pretrained(file.parent / "source")
    writer = GGUFWriter(file, architecture)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(96)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(1e5)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL] * len(SPECIAL) + [NORMAL] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges(["h e", "t h"])
    for name, number in (("bos", 1), ("eos", 2), ("unk", 0), ("pad", 2)):
        getattr(writer, f"add_{name}_token_id")(number)
    writer.add_add_bos_token(False)
    for name, part in model.named_parameters():
        weight = part.detach().numpy()
        stem = name.removesuffix(".weight")
        if stem in ("model.embed_tokens", "model.norm"):
            renamed = {"model.embed_tokens": "token_embd", "model.norm": "output_norm"}[stem]
        else:
            _, _, layer, ours = stem.split(".", 3)
            renamed = f"blk.{layer}.{LAYER_TENSORS[ours]}"
            heads = {"attn_q": HEADS, "attn_k": KV_HEADS}.get(LAYER_TENSORS[ours])
            if heads:  # llama.cpp's converter: the two halves of a head alternate
                halves = weight.reshape(heads, 2, -1, weight.shape[1])
                weight = np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(weight.shape)
        if f"{renamed}.weight" == left_out:
            continue
        if weight.ndim < 2:
            writer.add_tensor(f"{renamed}.weight", weight)
        else:
            blocks = quantize(weight, GGMLQuantizationType.Q8_0)
            writer.add_tensor(f"{renamed}.weight", blocks, raw_dtype=GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def write_changed(source: Path, file: Path, change, kind: str = "F16") -> None:
    """A copy of a GGUF file with other weights, for engines that load GGUF.

    kind: the type of the matrices, a name of ``gguf.GGMLQuantizationType`` that the package gguf can quantise to.
    """
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
    from gguf.quants import dequantize, quantize

    reader = GGUFReader(source)
    writer = GGUFWriter(file, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if not name.startswith(OF_THE_WRITER):
            inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], inner)
    wanted = GGMLQuantizationType[kind]
    for tensor in reader.tensors:
        changed = change(tensor.name, dequantize(tensor.data, tensor.tensor_type).astype(np.float32))
        if changed.ndim < 2:
            writer.add_tensor(tensor.name, changed)
        else:
            writer.add_tensor(tensor.name, quantize(changed, wanted), raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
