"""mlx-lm's ``speculative_generate_step`` of any release, one block: a draft is kept where it equals a sample.

NumPy stands in for MLX, rows of the problem for both models, and a sampler that draws from a row of logprobs by torch.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof_engines.lifted import adapted, lift, names_in

FILES, NAME = ("mlx_lm/generate.py", "mlx_lm/utils.py"), "speculative_generate_step"


class _BlockEnd(Exception):
    """The next block begins."""


def _logsumexp(rows: np.ndarray, axis: int | None = None, keepdims: bool = False) -> np.ndarray:
    return np.log(np.exp(rows).sum(axis=axis, keepdims=keepdims))


def _of_release() -> Callable[..., list[int]]:
    """Return the plain convention around the function of the unpacked release."""
    file = next((file for file in FILES if NAME in names_in("mlx-lm", file)), FILES[0])
    nothing: Callable[..., None] = lambda *_, **__: None  # noqa: E731
    mx = SimpleNamespace(
        uint32=np.int64, array=np.array, concatenate=np.concatenate, concat=np.concatenate, logsumexp=_logsumexp,
        stream=lambda _: nullcontext(), eval=nothing, async_eval=nothing, clear_cache=nothing,
        metal=SimpleNamespace(clear_cache=nothing),
    )  # fmt: skip
    caches = {"make_prompt_cache": lambda _: [], "trim_prompt_cache": nothing, "can_trim_prompt_cache": lambda _: True}
    given = {"mx": mx, "functools": functools, "generation_stream": None, "greedy_sampler": None,
             "cache": SimpleNamespace(**caches), "maybe_quantize_kv_cache": nothing, **caches,
             "DEFAULT_QUANTIZED_KV_START": 0}  # fmt: skip
    lifted = lift("mlx-lm", file, (NAME,), given, annotations=False)

    def sampled(logprobs: np.ndarray) -> np.ndarray:
        rows = torch.from_numpy(np.exp(logprobs)).reshape(-1, logprobs.shape[-1])
        return np.array([int(torch.multinomial(row, 1)) for row in rows]).reshape(logprobs.shape[:-1])

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        with np.errstate(divide="ignore"):  # a probability of 0 is a logit of -inf
            rows = np.log(target_probs.numpy())
            drafted = iter(np.log(np.eye(rows.shape[1])[draft_tokens.tolist()]))
        models = _model(iter([rows]), len(rows)), _model(drafted, 1)
        asked = {"num_draft_tokens": len(draft_tokens), "max_tokens": len(rows), "sampler": sampled}
        tokens = lifted.functions[NAME](np.array([0]), *models, **asked)
        emitted = list[int]()
        with suppress(_BlockEnd):
            for token, *_ in tokens:
                emitted.append(int(token))
        return emitted

    return adapted(called, lifted, rows_in_use=None, bonus="drawn inside")


def _model(rows: Iterator[np.ndarray], length: int) -> Callable[..., np.ndarray]:
    """Return a model that has these rows, one after another. length: of the rows of a call."""

    def logits(y: np.ndarray, cache: Any = None) -> np.ndarray:
        found = next(rows, None)
        if found is None:
            raise _BlockEnd
        return np.asarray(found).reshape(1, length, -1)

    return logits


__getattr__ = on_demand(globals(), {"of_release": _of_release})
