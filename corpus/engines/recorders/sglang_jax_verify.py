"""Record the verification steps of sglang-jax in its own process: in its jitted verifier of chains, and in its trees.

    from draftproof_engines.recorders.sglang_jax_verify import install
    install("steps")  # before the first request: what JAX has compiled is not recorded

Drafts are the likeliest tokens of the drafter, so they are certain. Rows come after temperature, top-k and top-p.
Greedy batches are verified without rows, and are not recorded. A jitted verifier does not know its requests: their
number is the place in the batch. The rows of each step go to the host, recorded or not: a callback takes them.
"""

import atexit
import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from draftproof.recording import Recorder

from .sibling_trees import parents_of

CHAIN, TREE = "_verify_rejection_sampling", "tree_speculative_sampling_target_only"
"""Its verifiers: of chains, inside a jitted function, and of trees, in eager JAX."""


def install(folder: str, one_of: int = 1) -> "JaxRecording":
    """Put the recorder around sglang-jax's verifiers."""
    from sgl_jax import __version__
    from sgl_jax.srt.speculative import draft_extend_fused, eagle_info

    recording = JaxRecording(folder, one_of=one_of, engine_version=__version__, seed=os.getpid())
    recording.around(vars(draft_extend_fused), vars(eagle_info))
    return recording


class JaxRecording:
    """A writer of the steps of sglang-jax. options: of ``Recorder``."""

    def __init__(self, folder: str | os.PathLike, **options: Any):
        self.folder, self.options = folder, options
        self.recorder: Recorder | None = None

    def around(self, *modules: dict[str, Any]) -> None:
        """Replace the verifiers in these modules. modules: what their names are bound to."""
        for names in modules:
            if CHAIN in names:
                names[CHAIN] = self._chain(names[CHAIN], names)
            if TREE in names:
                names[TREE] = self._tree(names[TREE])

    def close(self) -> None:
        """Write what waits."""
        jax.effects_barrier()
        if self.recorder is not None:
            self.recorder.close()

    def _chain(self, verify: Callable[..., Any], names: dict[str, Any]) -> Callable[..., Any]:
        def recorded(**given: Any) -> Any:
            own, seen = names["jnp"], list[Any]()
            names["jnp"] = _Numpy(own, seen)
            try:
                result = verify(**given)
            finally:
                names["jnp"] = own
            cuts = [given[name] if given[f"enable_{name[:-1]}"] else None for name in ("top_ks", "top_ps")]
            thresholds = given["threshold_single"], given["threshold_acc"]
            jax.debug.callback(
                self._on_host, seen[-1], given["draft_tokens"], result.verified_id, result.accept_lens,
                given["target_logits"], given["seq_lens"], given["temperatures"], *cuts,
                lenient=min(thresholds) < 1,
            )  # fmt: skip
            return result

        return recorded

    def _on_host(
        self, rows: Any, tokens: Any, verified: Any, lengths: Any, logits: Any, places: Any, temperatures: Any,
        top_ks: Any, top_ps: Any, lenient: bool,
    ) -> None:  # fmt: skip
        """Record a batch of chains. rows: [requests, slots, V], as the kernel took its last token from them."""
        try:
            recorder = self._made(rows, lenient)
            tokens, emitted = (np.asarray(x).reshape(len(rows), -1) for x in (tokens, verified))
            logits = np.asarray(logits, dtype=np.float32).reshape(rows.shape)
            for k in np.flatnonzero(np.asarray(places) > 0):  # the others are padding
                if recorder.chosen():
                    settings = {"order": "vllm", "temperature": float(np.reshape(temperatures, -1)[k])}
                    settings |= {} if top_ks is None else {"top_k": int(top_ks[k])}
                    settings |= {} if top_ps is None else {"top_p": round(float(top_ps[k]), 7)}
                    recorder.step(
                        rows[k], tokens[k, 1:], emitted[k, : lengths[k]], request=int(k), place=int(places[k]),
                        slot=int(k), settings=settings, logits=logits[k],
                    )  # fmt: skip
        except Exception as error:  # an engine must not fail for this
            if self.recorder is not None:
                self.recorder.count_failure(error)

    def _tree(self, verify: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(**given: Any) -> Any:
            result = verify(**given)
            try:
                index, count, predicted = map(np.asarray, result)
                tokens = np.asarray(given["candidates"])
                rows = np.asarray(given["target_probs"]).reshape(*tokens.shape, -1)
                recorder = self._made(rows, min(given["threshold_single"], given["threshold_acc"]) < 1)
                pointers = [np.asarray(given[f"retrive_next_{to}"]) for to in ("token", "sibling")]
                for k in range(len(tokens)):
                    if recorder.chosen():
                        recorder.step(
                            rows[k], tokens[k, 1:], predicted[index[k, : count[k] + 1]], request=k,
                            parents=parents_of(*(pointer[k].tolist() for pointer in pointers)),
                            place=recorder.seen, slot=k,
                        )  # fmt: skip
            except Exception as error:  # an engine must not fail for this
                if self.recorder is not None:
                    self.recorder.count_failure(error)
            return result

        return recorded

    def _made(self, rows: Any, lenient: bool) -> Recorder:
        if self.recorder is None:
            about = {"engine": "sglang-jax", "device": jax.default_backend(), "dtype": "float32",
                     "siblings": "top"}  # fmt: skip
            rule = "unknown" if lenient else "token"
            self.recorder = Recorder(self.folder, rows.shape[-1], rule=rule, **{**about, **self.options})
            atexit.register(self.recorder.close)
        return self.recorder


class _Numpy:
    """``jax.numpy`` that notes the rows from which the last token of each request is taken, [requests, slots, V]."""

    def __init__(self, own: Any, seen: list[Any]):
        self._own, self._seen = own, seen

    def take_along_axis(self, values: Any, indices: Any, axis: int, **named: Any) -> Any:
        if axis == 1 and values.ndim == 3:
            self._seen.append(values)
        return self._own.take_along_axis(values, indices, axis=axis, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)
