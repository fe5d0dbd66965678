"""Rows of noise in torch: a tensor of exponential noise that is followed as a whole, up to one argmax for each row.

What torch does to it is kept as the steps of a ``NoiseRow``, whose law is looked at in NumPy. Any other use, of
a row that is not too long, has the call followed again with each number for itself.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .noise_rows import NoiseRow
from .tensors import HOLDERS_OF_ONE, TracedTensor, flatten, holders
from .torch_functions import EVEN, JOIN, MONOTONE, MOVE, PASSIVE

ELEMENTWISE = (MONOTONE - {"long", "int", "short", "minimum", "maximum"}) | EVEN | {"where", "masked_fill"}
MOVED = MOVE - JOIN - {"iter", "unbind", "split", "chunk"}
WHOLE = {torch.float64: np.float64, torch.float32: np.float32}


class NoiseTensor(torch.Tensor):
    """A tensor of noise; its own storage is NaN. noise: what is followed. shared: whether others look into it."""

    noise: NoiseRow
    shared: bool
    __torch_function__: Any = torch._C._disabled_torch_function_impl


class Spent(NoiseRow):
    """What the winners of a race scored: nothing is known of it."""

    def then(self, apply: Callable, row: int | None = None) -> NoiseRow:
        return self.stop("what won an argmax is used again: a number")


def can_be_filled(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a whole one of its own, of a type that is followed in rows."""
    own = not tensor._is_view() and holders(tensor) <= HOLDERS_OF_ONE
    return type(tensor) is torch.Tensor and tensor.dtype in WHOLE and own


def filled(tensor: Any, noise: NoiseRow) -> NoiseTensor:
    """The tensor itself, of this noise from now on."""
    tensor.fill_(math.nan)
    tensor.__class__ = NoiseTensor
    tensor.noise, tensor.shared = noise, False
    return tensor


def _tensor(noise: NoiseRow, shared: bool = False) -> NoiseTensor:
    made = filled(torch.empty(noise.shape, dtype=torch.from_numpy(np.empty(0, noise.dtype)).dtype), noise)
    made.shared = shared
    return made


def is_noise(tree: Any) -> bool:
    """Whether some of the arguments are noise."""
    if isinstance(tree, dict):
        return any(map(is_noise, tree.values()))
    return isinstance(tree, NoiseTensor) or (type(tree) in (tuple, list) and any(map(is_noise, tree)))


def follow(func: Callable, name: str, args: tuple, kwargs: dict, in_place: bool) -> Any:
    """func(*args, **kwargs) where one argument is noise; name: without underscores."""
    slots, build = flatten((args, kwargs))
    which = [k for k, x in enumerate(slots) if isinstance(x, NoiseTensor)]
    tensor = slots[which[0]]
    noise = tensor.noise
    if name in PASSIVE:
        given, named = build(
            [torch.Tensor.as_subclass(x, torch.Tensor) if k in which else x for k, x in enumerate(slots)]
        )
        return func(*given, **named)
    if len(which) > 1 or any(isinstance(x, TracedTensor) for x in slots) or kwargs.get("out") is not None:
        return noise.stop(f"torch.{name}")
    if in_place:
        func = getattr(torch.Tensor, name, func)

    def applied(values: np.ndarray) -> Any:
        given, named = build([torch.from_numpy(values) if k in which else x for k, x in enumerate(slots)])
        return func(*given, **named)

    if name in ("argmax", "argmin"):
        return _winners(noise, name == "argmax", *args[1:], **kwargs)
    if name in ("max", "min") and ((len(args) == 2 and type(args[1]) is int) or "dim" in kwargs):
        index = _winners(noise, name == "max", *args[1:], **kwargs)
        return torch.return_types.max((_tensor(Spent(noise.source, tuple(index.shape), noise.dtype)), index))
    if name in MOVED and not in_place and which == [0]:
        rows = _moved(tensor, applied)
        return noise.stop(f"torch.{name}") if rows is None else rows
    if name not in ELEMENTWISE:
        return noise.stop(f"torch.{name}")
    blank = applied(np.ones(noise.shape, dtype=noise.dtype))
    if blank.dtype not in WHOLE or blank.numel() != noise.size or blank.shape[-1:] != noise.shape[-1:]:
        return noise.stop(f"torch.{name}")
    kept = [x.clone() if isinstance(x, torch.Tensor) and not isinstance(x, NoiseTensor) else x for x in slots]

    def step(values: np.ndarray) -> np.ndarray:
        given, named = build([torch.from_numpy(values) if k in which else x for k, x in enumerate(kept)])
        return func(*given, **named).numpy()

    after = noise.then(step)
    if not in_place:
        return _tensor(after)
    changed = args[0]
    if blank.dtype != changed.dtype or blank.shape != changed.shape:
        return noise.stop(f"torch.{name}_")
    if changed is tensor and not tensor.shared and holders(tensor) <= HOLDERS_OF_ONE:
        tensor.noise = after
        return tensor
    return filled(changed, after) if can_be_filled(changed) else noise.stop(f"torch.{name}_")


def _moved(tensor: NoiseTensor, applied: Callable[[np.ndarray], torch.Tensor]) -> NoiseTensor | None:
    """Whole rows of it, in their order or one alone; None where it is anything else."""
    noise, size = tensor.noise, tensor.noise.shape[-1]
    places = applied(np.arange(noise.size).reshape(noise.shape))
    rows = places.reshape(-1, size).numpy() if places.numel() and places.shape[-1] == size else None
    if rows is None or not np.array_equal(rows - rows[:, :1], np.broadcast_to(np.arange(size), rows.shape)):
        return None
    first = rows[:, 0] // size
    if (rows[:, 0] % size).any() or not (len(first) == 1 or np.array_equal(first, np.arange(noise.size // size))):
        return None
    row = int(first[0]) if len(first) == 1 and noise.size > size else None
    tensor.shared = True
    return _tensor(noise.then(lambda values: applied(values).numpy(), row), shared=True)


def _winners(
    noise: NoiseRow, largest: bool, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None,
    keepdims: bool = False,
) -> torch.Tensor:  # fmt: skip
    dim, keep = (axis if dim is None else dim), keepdim or keepdims
    if noise.ndim > 2 or (dim not in (None, -1, noise.ndim - 1)) or (dim is None and noise.size > noise.shape[-1]):
        return noise.stop("an argmax along another dimension")
    chosen = noise.argmax(-1) if largest else noise.argmin(-1)
    index = torch.from_numpy(np.asarray(chosen, dtype=np.int64).copy())
    if dim is None:
        return index.reshape([1] * noise.ndim if keep else [])
    return index.unsqueeze(-1) if keep else index
