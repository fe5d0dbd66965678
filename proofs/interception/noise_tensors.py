"""Rows of noise in torch: a tensor of exponential noise that is followed as a whole, up to one argmax a row.

What torch does to it is kept as the steps of a ``NoiseRow``, whose law is found in NumPy. If a short row is used in
any other way, the call is followed again with each number by itself.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from .noise_rows import NoiseRow
from .tensors import HOLDERS_OF_ONE, TracedTensor, flatten, holders
from .torch_probes import describes, even

WHOLE = {torch.float64: np.float64, torch.float32: np.float32}
"""Dtypes of noise that is followed in rows."""

MOST_PLACES = {"float64": 2**53, "float32": 2**24}
"""Entries whose places a dtype can number."""


class NoiseTensor(torch.Tensor):
    """A tensor of noise; its own storage is NaN.

    noise: what is followed. shared: whether others look into it.
    """

    noise: NoiseRow
    shared: bool
    __torch_function__: Any = torch._C._disabled_torch_function_impl


class Spent(NoiseRow):
    """The scores of the winners of a race, of which nothing is known."""

    def then(self, apply: Callable, row: int | None = None) -> NoiseRow:
        return self.stop("what won an argmax is used again: a number")


def can_be_filled(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has memory of its own and a dtype that is followed in rows."""
    own = not tensor._is_view() and holders(tensor) <= HOLDERS_OF_ONE
    return type(tensor) is torch.Tensor and tensor.dtype in WHOLE and own


def filled(tensor: Any, noise: NoiseRow) -> NoiseTensor:
    """Make the tensor one of this noise."""
    tensor.fill_(math.nan)
    tensor.__class__ = NoiseTensor
    tensor.noise, tensor.shared = noise, False
    return tensor


def _tensor(noise: NoiseRow, shared: bool = False) -> NoiseTensor:
    made = filled(torch.empty(noise.shape, dtype=torch.from_numpy(np.empty(0, noise.dtype)).dtype), noise)
    made.shared = shared
    return made


def follow(func: Callable, name: str, args: tuple, kwargs: dict, in_place: bool) -> Any:
    """Return func(*args, **kwargs) where an argument is noise. name: without underscores."""
    slots, build = flatten((args, kwargs))
    which, *more = [k for k, x in enumerate(slots) if isinstance(x, NoiseTensor)]
    tensor = slots[which]
    noise = tensor.noise
    if more or any(isinstance(x, TracedTensor) for x in slots) or kwargs.get("out") is not None:
        return noise.stop(f"torch.{name}")
    if name in ("argmax", "argmin"):
        return _winners(noise, name == "argmax", *args[1:], **kwargs)
    if name in ("max", "min") and ((len(args) == 2 and type(args[1]) is int) or "dim" in kwargs):
        index = _winners(noise, name == "max", *args[1:], **kwargs)
        return torch.return_types.max((_tensor(Spent(noise.source, tuple(index.shape), noise.dtype)), index))
    if in_place:
        func = getattr(torch.Tensor, name, func)
    kept = [x.clone() if isinstance(x, torch.Tensor) and k != which else x for k, x in enumerate(slots)]

    def applied(values: np.ndarray, given: list[Any] = slots) -> Any:
        positional, named = build([*given[:which], torch.from_numpy(values), *given[which + 1 :]])
        return func(*positional, **named)

    probes = _probes(noise.shape, noise.dtype)
    seen = [applied(probe.copy()) for probe in probes[:2]]
    if not isinstance(seen[0], torch.Tensor):
        if not describes(func, build, slots, (seen[0], seen[1])):
            return noise.stop(f"torch.{name}")
        positional, named = build([*slots[:which], tensor.as_subclass(torch.Tensor), *slots[which + 1 :]])
        return func(*positional, **named)
    if not in_place and (places := _places(applied, probes, seen)) is not None:
        rows = _moved(tensor, places, applied) if which == 0 else None
        return noise.stop(f"torch.{name}") if rows is None else rows
    if not _each_by_itself(noise, applied, probes, seen, [x for k, x in enumerate(slots) if k != which]):
        return noise.stop(f"torch.{name}")
    after = noise.then(lambda values: applied(values, kept).numpy())
    if not in_place:
        return _tensor(after)
    changed = args[0]
    if after.dtype != np.dtype(WHOLE.get(changed.dtype, object)) or after.shape != tuple(changed.shape):
        return noise.stop(f"torch.{name}_")
    if changed is tensor and not tensor.shared and holders(tensor) <= HOLDERS_OF_ONE:
        tensor.noise = after
        return tensor
    return filled(changed, after) if can_be_filled(changed) else noise.stop(f"torch.{name}_")


@lru_cache(4)
def _probes(shape: tuple[int, ...], dtype: Any) -> tuple[np.ndarray, ...]:
    """Return noise to call a function with: two draws, a mixture of both, and which of its entries the first has."""
    size = math.prod(shape)
    one, other, third = (even(size, stream).reshape(shape) for stream in (0, 1, 2))
    one, other, first = -np.log(one).astype(dtype), -np.log(other).astype(dtype), third < 0.5
    return one, other, np.where(first, one, other), first


def _places(applied: Callable, probes: tuple[np.ndarray, ...], seen: list[torch.Tensor]) -> np.ndarray | None:
    """Return which entry each entry of a result is, if the function only moves them. seen: of the two draws."""
    one, other = probes[:2]
    if seen[0].numel() == 0 or one.size > MOST_PLACES[one.dtype.name] or str(seen[0].dtype) != f"torch.{one.dtype}":
        return None
    found = applied(np.arange(one.size, dtype=one.dtype).reshape(one.shape)).numpy()
    if not ((found >= 0) & (found < one.size)).all():
        return None
    places = found.astype(np.int64)
    same = all(np.array_equal(x.ravel()[places], result.numpy()) for x, result in zip((one, other), seen))
    return places if same and (places == found).all() else None


def _each_by_itself(
    noise: NoiseRow, applied: Callable, probes: tuple[np.ndarray, ...], seen: list[torch.Tensor], others: list[Any]
) -> bool:
    """Return whether each entry of a result depends on the same entry of the noise alone. seen: of the two draws."""
    one, other = seen
    if one.dtype not in WHOLE or one.numel() != noise.size or one.shape[-1:] != noise.shape[-1:]:
        return False
    wider = math.prod(np.broadcast_shapes(noise.shape, *(np.shape(x) for x in others))) > noise.size
    expected = torch.where(torch.from_numpy(probes[3]).reshape(one.shape), one, other)
    mixed = applied(probes[2].copy())
    return not wider and bool(((mixed == expected) | (mixed.isnan() & expected.isnan())).all())


def _moved(tensor: NoiseTensor, places: np.ndarray, applied: Callable) -> NoiseTensor | None:
    """Return whole rows of it, all in their order or one alone; None for anything else."""
    noise, size = tensor.noise, tensor.noise.shape[-1]
    rows = places.reshape(-1, size) if places.shape[-1:] == (size,) else None
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
