"""tpu-inference: ``rejection_sample`` of vLLM's backend for TPUs, JAX on a CPU, with the rows that its runner makes.

Driven: uniforms (float32, 23 bits) and one row of exponential noise a request; the bonus token comes from outside. Its
runner hands in no draft rows, whatever drafted: a drafted token x is kept with probability p(x), and replaced from p
without x. Batches are as the runner pads them: lengths 0, temperature -1 and the first row of logits behind the last.
The bonus row is what its plain sampler makes of the logits.
"""

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof.verifiers.adapters.protocol import Row
from draftproof.verifiers.adapters.registry import engine_folder, not_installed
from draftproof_engines.lifted import Edit, engine_file, lift, require_parameters
from draftproof_engines.ragged import BONUS, NOISE, UNIFORM, RaggedAdapter, ragged

ENGINE = "tpu-inference"
SAMPLER = "tpu_inference/layers/jax/sample/rejection_sampler.py"
PLAIN = "tpu_inference/layers/jax/sample/sampling.py"
MASKS = "tpu_inference/layers/common/binary_search.py"
NAMES = (
    "PLACEHOLDER_TOKEN_ID", "RejectionSampler", "_compute_probs", "_get_segment_info", "_sample_recovered_tokens",
    "rejection_sample", "_random_rejection_sample_with_segment", "_greedy_rejection_sample_with_segment",
)  # fmt: skip
PARAMETERS = ("draft_token_ids", "num_draft_tokens", "draft_probs", "target_probs", "bonus_token_ids", "do_sampling")
EDITS = (
    Edit("jax.random.uniform(uniform_key, shape=(total_tokens, ))", "DRIVEN.uniforms", "the uniforms are an input"),
    Edit("jax.random.exponential(key, shape=new_dist.shape)", "DRIVEN.noise",
         "the noise is an input, one row for all tokens of a request: one of them is used"),
)  # fmt: skip
GREEDY_TEMPERATURE = -1.0
"""What its InputBatch writes for a greedy request, and for those behind the last."""


def use_jax() -> Any:
    """JAX, installed or in its own folder. Raises: NotASubject if it is in neither."""
    if not_installed(["jax"]):
        engine_file("jax", "jax/__init__.py")
        sys.path.append(str(engine_folder("jax")))
    import jax  # pyright: ignore[reportMissingImports]

    return jax


def padded_size(size: int) -> int:
    """Return the size that the runner compiles for: the next power of two, at least 8."""
    return max(8, 1 << (size - 1).bit_length())


class TpuInference(RaggedAdapter):
    """temperature, top_p: of every sampled request."""

    random = ({**UNIFORM, "bits": 23}, NOISE, BONUS)
    placeholders = seeded = False
    batch = 64

    def __init__(self, temperature: float = 1.0, top_p: float = 1.0):
        super().__init__()
        self.temperature, self.top_p = temperature, top_p
        self.jax = jax = use_jax()
        masks = lift(ENGINE, MASKS, (), {"jax": jax, "jnp": jax.numpy, "lax": jax.lax}, annotations=False)
        given = {"jax": jax, "jnp": jax.numpy, "np": np, "DRIVEN": self.driven}
        given |= {name: masks.functions[name] for name in ("topk_mask", "topp_mask")}
        lifted = lift(ENGINE, SAMPLER, NAMES, given, EDITS, annotations=False)
        plain = lift(ENGINE, PLAIN, ["_SAMPLING_EPS", "_apply_sampling_transforms"], given, annotations=False)
        self.verifier, self.plain = SimpleNamespace(**lifted.functions), SimpleNamespace(**plain.functions)
        require_parameters(self.verifier.rejection_sample, PARAMETERS, f"{ENGINE}: rejection_sample")
        self.compiled = jax.jit(self._forward, static_argnames="sampling")
        self.describe(masks, plain, lifted, jax=jax.__version__, bonus="drawn outside")

    def _forward(self, batch: dict[str, Any], sampling: bool) -> Any:
        """What its runner does with a batch on one device: the bonus tokens, then ``RejectionSampler.forward``."""
        numpy, metadata = self.jax.numpy, SimpleNamespace(do_sampling=sampling, **batch["metadata"])
        self.driven.uniforms, self.driven.noise = batch["uniforms"], batch["noise"]
        probabilities, bonus = batch["logits"], numpy.argmax(batch["last"], axis=-1)
        if sampling:
            weights = self.jax.nn.softmax(self.plain._apply_sampling_transforms(batch["last"], metadata))
            drawn = numpy.argmax(weights / batch["bonus"], axis=-1)
            bonus = numpy.where(metadata.temperature < self.plain._SAMPLING_EPS, bonus, drawn)
            probabilities = self.verifier._compute_probs(probabilities, batch["lengths"], metadata)
        key = self.jax.random.PRNGKey(0)  # split, and nothing is drawn with it
        return self.verifier.rejection_sample(
            batch["tokens"], batch["lengths"], None, probabilities, bonus.astype(numpy.int32), sampling, key=key
        )

    def together(self, rows: Sequence[Row]) -> list[list[int]]:
        given = ragged(rows)
        size, requests = padded_size(len(given.tokens)), padded_size(len(rows))
        logits, lengths = given.target.log().numpy(), np.array(given.lengths, dtype=np.int32)
        last = np.stack([row.target[-1].float().log().numpy() for row in rows])
        greedy = np.array([row.greedy for row in rows])
        metadata = {
            "temperature": _padded(
                np.where(greedy, GREEDY_TEMPERATURE, self.temperature), requests, GREEDY_TEMPERATURE
            ),
            "top_k": _padded(np.zeros(len(rows)), requests, 0).astype(np.int32),
            "top_p": _padded(np.full(len(rows), self.top_p), requests, 1.0),
        }
        padded = _padded(lengths, requests, 0).astype(np.int32)
        batch = {
            "tokens": _padded(given.tokens, size, 0).astype(np.int32), "lengths": padded, "metadata": metadata,
            "logits": _padded(logits, size, logits[0]), "last": _padded(last, requests, logits[0]),
            "uniforms": _padded(given.uniforms, size, 0.5),
            "noise": _padded(given.noise.numpy().repeat(lengths, axis=0), size, 1.0),
            "bonus": _padded(np.stack([row.random["bonus"] for row in rows]), requests, 1.0),
        }  # fmt: skip
        output, one_device = self.compiled(batch, sampling=not greedy.all()), {0: range(len(rows))}
        parse = self.verifier.RejectionSampler.parse_output
        return parse(output, logits.shape[-1], padded, len(rows), size, 1, one_device)


def _padded(array: Any, count: int, value: Any) -> np.ndarray:
    array = np.asarray(array, dtype=np.float32)
    return np.concatenate([array, np.broadcast_to(np.float32(value), (count - len(array), *array.shape[1:]))])


__getattr__ = on_demand(globals(), {"token": TpuInference, "settings": lambda: TpuInference(0.5, 0.75)})
