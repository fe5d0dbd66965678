"""A Llama model in a GGUF file: its weights as what they were quantised to, exactly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..forge_gguf import LAYER_TENSORS
from ..libraries import reason, require

ARCHITECTURE = "llama"

Change = Callable[[str, np.ndarray], np.ndarray]
"""Function of a tensor's name in GGUF and its weights, [rows, columns] or [columns], that returns other weights."""


class GGUFCheckpoint(NamedTuple):
    """A checkpoint read from a GGUF file. configuration: fields of LlamaConfig. weights: by the names of transformers,
    float32.
    """

    configuration: dict[str, Any]
    weights: dict[str, np.ndarray]


def read_gguf(file: Path, change: Change = lambda name, weights: weights) -> GGUFCheckpoint:
    """Return the configuration and the weights of a Llama model.

    change: see ``Change``; by default the weights as they are.
    Guarantee: each weight is the number that its quantised block stands for, in float32.
    Raises: InputError in one line for what is no GGUF file, is cut short, is of another architecture, or lacks a part.
    """
    reader = _reader(file)
    architecture = _field(reader, file, "general.architecture")
    if architecture != ARCHITECTURE:
        raise InputError(f"{file}: its architecture is {architecture}; expected {ARCHITECTURE}")
    heads, kv_heads, hidden = (
        _field(reader, file, f"{ARCHITECTURE}.{name}")
        for name in ("attention.head_count", "attention.head_count_kv", "embedding_length")
    )
    layers = _field(reader, file, f"{ARCHITECTURE}.block_count")
    weights = {}
    for name, values in _tensors(reader, file):
        changed = change(name, values)
        if name.endswith((".attn_q.weight", ".attn_k.weight")):
            changed = _as_transformers(changed, heads if ".attn_q." in name else kv_heads)
        weights[_renamed(name, file)] = changed
    expected = 2 + layers * len(LAYER_TENSORS)
    if len(weights) < expected or "model.embed_tokens.weight" not in weights:
        raise InputError(f"{file}: has {len(weights)} tensors; expected {expected} of {layers} layers")
    configuration = {
        "vocab_size": len(weights["model.embed_tokens.weight"]), "hidden_size": hidden, "num_hidden_layers": layers,
        "intermediate_size": _field(reader, file, f"{ARCHITECTURE}.feed_forward_length"),
        "num_attention_heads": heads, "num_key_value_heads": kv_heads,
        "max_position_embeddings": _field(reader, file, f"{ARCHITECTURE}.context_length"),
        # Written in float32: 9.999999747e-06 is the nearest to 1e-05.
        "rms_norm_eps": float(np.format_float_positional(
            np.float32(_field(reader, file, f"{ARCHITECTURE}.attention.layer_norm_rms_epsilon")), trim="-")),
        "rope_theta": float(_field(reader, file, f"{ARCHITECTURE}.rope.freq_base", 10_000.0)),
        "tie_word_embeddings": "lm_head.weight" not in weights,
        **{f"{name}_token_id": _field(reader, file, f"tokenizer.ggml.{key}_token_id", None)
           for name, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"))},
    }  # fmt: skip
    return GGUFCheckpoint(configuration, weights)


def rounded(weights: np.ndarray, bits: int, group: int) -> np.ndarray:
    """Round every ``group`` weights of a row to 2^bits evenly spaced numbers from the least to the greatest of them.

    Guarantee: none is moved by more than (greatest - least) / (2 (2^bits - 1)).
    """
    parts = weights.reshape(-1, group)
    least = parts.min(1, keepdims=True)
    step = (parts.max(1, keepdims=True) - least) / (2**bits - 1)
    places = np.divide(parts - least, step, out=np.zeros_like(parts), where=step > 0)
    return (np.rint(places) * step + least).reshape(weights.shape).astype(weights.dtype)


def layer_of(name: str) -> int | None:
    """Return the layer of a matrix by its name in GGUF; None for norms, the embedding and the last layer."""
    place, *rest = name.removeprefix("blk.").split(".")
    return int(place) if name.startswith("blk.") and not rest[0].endswith("_norm") else None


def _reader(file: Path) -> Any:
    require("gguf")
    from gguf import GGUFReader

    try:
        return GGUFReader(file)
    except Exception as error:  # whatever a damaged file makes its parser raise
        raise InputError(f"{file}: no whole GGUF file ({reason(error)})") from None


def _tensors(reader: Any, file: Path) -> Any:
    from gguf.quants import dequantize

    for tensor in reader.tensors:
        try:
            yield tensor.name, np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        except (NotImplementedError, ValueError) as error:
            raise InputError(f"{file}: {tensor.name} cannot be dequantised ({reason(error)})") from None


_REQUIRED = object()


def _field(reader: Any, file: Path, name: str, default: Any = _REQUIRED) -> Any:
    if name in reader.fields:
        return reader.fields[name].contents()
    if default is _REQUIRED:
        raise InputError(f"{file}: has no {name}")
    return default


def _renamed(name: str, file: Path) -> str:
    """Return a tensor's name in transformers."""
    others = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    stem, _, kind = name.rpartition(".")
    if stem in others and kind == "weight":
        return f"{others[stem]}.weight"
    place, _, part = stem.removeprefix("blk.").partition(".")
    ours = next((ours for ours, theirs in LAYER_TENSORS.items() if theirs == part), None)
    if ours is None or kind != "weight" or not place.isdigit():
        raise InputError(f"{file}: has a tensor {name}, which a Llama model of transformers does not")
    return f"model.layers.{place}.{ours}.weight"


def _as_transformers(weights: np.ndarray, heads: int) -> np.ndarray:
    """Reorder the rows of a query or key matrix: transformers has the halves of a head apart, GGUF alternates."""
    rows, columns = weights.shape
    return weights.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)
