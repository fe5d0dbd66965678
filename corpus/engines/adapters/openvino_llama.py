"""A Llama checkpoint as an OpenVINO model: what openvino-genai loads.

Built operation by operation from the checkpoint's weights, with the inputs and the state that the engine expects of an
exported model; the usual exporter asks for older releases of transformers. Read as Hugging Face saves it: unsharded,
float32 or float16, as many key heads as query heads, no biases.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

# openvino reports its use over the network when it is imported, unless this package is missing.
sys.modules.setdefault("openvino_telemetry", None)  # pyright: ignore[reportArgumentType]  # None means missing

import openvino as ov  # noqa: E402
from openvino import opset6  # noqa: E402
from openvino import opset13 as op  # noqa: E402


def convert(folder: Path) -> None:
    """Write folder/openvino_model.xml and .bin beside the checkpoint.

    Raises: ValueError if it is not a Llama of the kind above.
    """
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    expected = {"model_type": "llama", "hidden_act": "silu", "attention_bias": False, "mlp_bias": False}
    expected |= {"num_key_value_heads": config.get("num_attention_heads"), "rope_scaling": None, "rope_type": "default"}
    config |= {"rope_type": (config.get("rope_parameters") or {}).get("rope_type", "default")}
    for name, value in expected.items():
        if config.get(name, value) != value:
            raise ValueError(f"{folder}: {name} is {config[name]!r}, expected {value!r}")
    weights = {name: w.astype(np.float32) for name, w in load_file(folder / "model.safetensors").items()}
    ov.save_model(Llama(config, weights).model(), folder / "openvino_model.xml", compress_to_fp16=False)


class Llama:
    """The graph. Shapes: B sequences, L new tokens, T with those in the cache, h heads of d dimensions, H = h d."""

    def __init__(self, config: dict[str, Any], weights: dict[str, np.ndarray]):
        self.config, self.weights = config, weights
        self.heads = config["num_attention_heads"]
        self.size = config["hidden_size"] // self.heads
        self.ids = _input("input_ids", 2)
        self.mask = _input("attention_mask", 2)
        self.positions = _input("position_ids", 2)
        self.beams = _input("beam_idx", 1, np.int32)
        self.sinks: list = []

    def model(self) -> ov.Model:
        config = self.config
        x = op.gather(_floats(self.weights["model.embed_tokens.weight"]), self.ids, _ints(0))
        self.cosine, self.sine = self._rotation()
        bias = self._bias()
        for layer in range(config["num_hidden_layers"]):
            name = f"model.layers.{layer}."
            x = op.add(x, self._attention(self._norm(x, name + "input_layernorm"), bias, layer))
            y = self._norm(x, name + "post_attention_layernorm")
            gate, up = (self._linear(y, f"{name}mlp.{part}_proj") for part in ("gate", "up"))
            x = op.add(x, self._linear(op.multiply(op.swish(gate), up), name + "mlp.down_proj"))
        head = "model.embed_tokens" if config.get("tie_word_embeddings") else "lm_head"
        logits = op.result(self._linear(self._norm(x, "model.norm"), head))
        logits.output(0).get_tensor().set_names({"logits"})
        inputs = [self.ids, self.mask, self.positions, self.beams]
        return ov.Model([logits], self.sinks, inputs, "llama")  # pyright: ignore[reportGeneralTypeIssues]  # wrong stub

    def _linear(self, x, name: str):
        return op.matmul(x, _floats(self.weights[name + ".weight"]), False, True)

    def _norm(self, x, name: str):
        """x / sqrt(mean x^2 + epsilon), times the weight."""
        mean = op.reduce_mean(op.multiply(x, x), _ints([-1]), keep_dims=True)
        scaled = op.divide(x, op.sqrt(op.add(mean, _floats(self.config["rms_norm_eps"]))))
        return op.multiply(scaled, _floats(self.weights[name + ".weight"]))

    def _rotation(self):
        """Cosine and sine of position * base^(-2i/d), [B, 1, L, d]."""
        base = (self.config.get("rope_parameters") or self.config)["rope_theta"]
        speeds = base ** (-np.arange(0, self.size, 2) / self.size)
        angles = op.multiply(op.convert(op.unsqueeze(self.positions, _ints([1, 3])), "f32"), _floats(speeds))
        angles = op.concat([angles, angles], -1)
        return op.cos(angles), op.sin(angles)

    def _rotated(self, x):
        low, high = op.split(x, _ints(-1), 2).outputs()
        return op.add(op.multiply(x, self.cosine), op.multiply(op.concat([op.negative(high), low], -1), self.sine))

    def _bias(self):
        """0 where a token may look, the lowest float elsewhere, [B, 1, L, T]."""
        widths = (op.gather(op.shape_of(x), _ints([1]), _ints(0)) for x in (self.ids, self.mask))
        new, all_ = (op.squeeze(width, _ints([0])) for width in widths)
        columns = op.range(_ints(0), all_, _ints(1), "i64")
        rows = op.add(op.range(_ints(0), new, _ints(1), "i64"), op.subtract(all_, new))
        causal = op.less_equal(op.unsqueeze(columns, _ints([0])), op.unsqueeze(rows, _ints([1])))
        allowed = op.logical_and(causal, op.convert(op.unsqueeze(self.mask, _ints([1, 2])), "boolean"))
        return op.select(allowed, _floats(0.0), _floats(np.finfo(np.float32).min))

    def _attention(self, x, bias, layer: int):
        name = f"model.layers.{layer}.self_attn."
        apart, together = _ints([0, 0, self.heads, self.size]), _ints([0, 0, self.heads * self.size])
        turn = _ints([0, 2, 1, 3])
        q, k, v = (op.transpose(op.reshape(self._linear(x, f"{name}{part}_proj"), apart, True), turn) for part in "qkv")
        k = self._cached(self._rotated(k), f"past_key_values.{layer}.keypresent.{layer}.key")
        v = self._cached(v, f"past_key_values.{layer}.valuepresent.{layer}.value")
        seen = op.scaled_dot_product_attention(self._rotated(q), k, v, bias)
        return self._linear(op.reshape(op.transpose(seen, turn), together, True), name + "o_proj")

    def _cached(self, new, name: str):
        """What the state of that name holds, in the order of the beams, followed by what is new: [B, h, T, d]."""
        shape = ov.PartialShape([-1, self.heads, -1, self.size])
        batch = op.gather(op.shape_of(self.ids), _ints([0]), _ints(0))
        empty = op.broadcast(_floats(0.0), op.concat([batch, _ints([self.heads, 0, self.size])], 0))
        past = op.gather(opset6.read_value(empty, name, ov.Type.f32, shape), self.beams, _ints(0))
        both = op.concat([past, new], 2)
        self.sinks.append(opset6.assign(both, name))
        return both


def _input(name: str, axes: int, dtype: type = np.int64):
    parameter = op.parameter([-1] * axes, dtype, name=name)
    parameter.output(0).get_tensor().set_names({name})
    return parameter


def _ints(values):
    return op.constant(np.array(values, np.int64))


def _floats(values):
    return op.constant(np.array(values, np.float32))
