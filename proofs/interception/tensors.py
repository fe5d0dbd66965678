"""Torch tensors of random numbers, and what in-place functions and views mean for them."""

import math
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from .numbers import Traced
from .places import constant_key, place
from .tracer import give_up


class TracedTensor(torch.Tensor):
    """A tensor whose elements are random numbers.

    The tensor's own storage is NaN, so that a value that slipped through would show.
    _numbers: an object array of Traced, or of one-element tensors where an element is known.
    _origin: for a view, the tensor it looks into and the positions there.
    _views: who looks into this one.
    """

    _numbers: np.ndarray
    _origin: "tuple[TracedTensor, np.ndarray] | None"
    _views: weakref.WeakSet
    __torch_function__: Any = torch._C._disabled_torch_function_impl


def sized(number: Any, like_scalar: bool) -> Any:
    """Return an element in the dimension of its tensor: torch promotes 0-d and other tensors differently."""
    shape = () if like_scalar else (1,)
    if isinstance(number, Traced):
        return number.then(lambda v: v.reshape(shape) if v.numel() == 1 else v, "reshape", shape)
    return number.reshape(shape)


def tensor_of(numbers: np.ndarray, dtype: torch.dtype, traced: bool = False) -> torch.Tensor:
    """Return a traced tensor of these numbers, or a plain one if none is random and it need not be traced."""
    if not traced and not any(isinstance(x, Traced) for x in numbers.flat):
        values = [x.reshape(()) for x in numbers.flat]
        return (torch.stack(values) if values else torch.empty(0, dtype=dtype)).reshape(numbers.shape)
    if not dtype.is_floating_point:
        give_up(f"random numbers in a tensor of {dtype} at {place()}")
    return _dressed(torch.full(numbers.shape, math.nan, dtype=dtype), numbers)


def _dressed(tensor: Any, numbers: np.ndarray, origin: Any = None) -> TracedTensor:
    tensor.__class__ = TracedTensor
    tensor._numbers, tensor._origin, tensor._views = numbers, origin, weakref.WeakSet()
    if origin is not None:
        origin[0]._views.add(tensor)
    return tensor


def register_view(view: torch.Tensor, parent: torch.Tensor, positions: np.ndarray) -> torch.Tensor:
    """Note that ``view`` shows the elements of ``parent`` at these positions: writing to it writes there."""
    if isinstance(view, TracedTensor) and isinstance(parent, TracedTensor):
        view._origin = (parent, positions)
        parent._views.add(view)
    return view


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor without what it remembers; its values are NaN."""
    return torch.Tensor.as_subclass(tensor, torch.Tensor)


def numbers_of(tensor: torch.Tensor) -> np.ndarray:
    if isinstance(tensor, TracedTensor):
        return tensor._numbers
    numbers = np.empty(tuple(tensor.shape), dtype=object)
    for where in np.ndindex(*numbers.shape):
        numbers[where] = tensor[where].reshape(() if tensor.ndim == 0 else (1,)).clone()
    return numbers


def become(tensor: torch.Tensor, numbers: np.ndarray) -> torch.Tensor:
    """Change a tensor in place, for everyone who holds it or a view of it."""
    fresh = tensor_of(numbers, tensor.dtype)
    if isinstance(tensor, TracedTensor):
        if any(view is not tensor for view in tensor._views):
            give_up(f"a random tensor is changed in place at {place()} while a view of it is held")
        tensor._numbers = numbers
        _write_back(tensor)
        return tensor
    if not isinstance(fresh, TracedTensor):
        return tensor.copy_(fresh)
    if not tensor._is_view():
        if holders(tensor) > HOLDERS_OF_ONE:
            give_up(f"a tensor that others look into is filled with random numbers at {place()}")
        return _dressed(tensor, numbers)
    base = tensor._base
    assert base is not None
    held = isinstance(base, TracedTensor) or holders(base) > HOLDERS_OF_ONE + 1
    if held or not base.is_contiguous() or base.storage_offset():
        give_up(f"a view into another tensor is filled with random numbers at {place()}")
    everywhere = torch.arange(base.numel())
    positions = everywhere.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset()).numpy().copy()
    _dressed(base, numbers_of(base))
    _write_back(_dressed(tensor, numbers, (base, positions)))
    return tensor


def _write_back(tensor: TracedTensor) -> None:
    """Pass a change on to the tensor that this one looks into, and further."""
    while tensor._origin is not None:
        parent, positions = tensor._origin
        if any(view is not tensor for view in parent._views):
            give_up(f"a view of a random tensor is changed in place at {place()} while another is held")
        for where, number in zip(positions.flat, tensor._numbers.flat):
            parent._numbers.flat[int(where)] = sized(number, parent._numbers.ndim == 0)
        tensor = parent


def holders(tensor: torch.Tensor) -> int:
    """Return how many tensors share the storage."""
    count = getattr(torch._C, "_storage_Use_Count", None)
    return count(tensor.untyped_storage()._cdata) if count else 1


HOLDERS_OF_ONE = holders(torch.empty(1))
"""References to a tensor that nothing else holds."""


def nested(numbers: np.ndarray) -> Any:
    """Return nested lists of Python numbers, as tolist() does."""
    if numbers.ndim == 0:
        x = numbers[()]
        return x.then(lambda v: v.item(), "item") if isinstance(x, Traced) else x.item()
    return [nested(numbers[k : k + 1].reshape(numbers.shape[1:])) for k in range(numbers.shape[0])]


def flatten(tree: Any) -> tuple[list[Any], Callable]:
    """Return the tensors and Traced numbers of (args, kwargs), and a function that puts others in their places."""
    slots: list[Any] = []

    def plan(x):
        if isinstance(x, (torch.Tensor, Traced)):
            slots.append(x)
            at = len(slots) - 1
            return lambda values: values[at]
        if isinstance(x, dict):
            parts = {k: plan(v) for k, v in x.items()}
            return lambda values: {k: p(values) for k, p in parts.items()}
        if type(x) in (tuple, list):
            kind, inner = type(x), [plan(v) for v in x]
            return lambda values: kind(p(values) for p in inner)
        if type(x) is slice:
            start, stop, step = plan(x.start), plan(x.stop), plan(x.step)
            return lambda values: slice(start(values), stop(values), step(values))
        return lambda values: x

    return slots, plan(tree)


TRACED = (TracedTensor, Traced)
"""Classes of random numbers and of tensors of them."""

PLAIN = {int, float, bool, str, type(None), torch.Tensor, torch.dtype, torch.device, torch.Generator}
"""Types of values that are not followed: most calls have no others, and those are not looked at one by one."""


def holds(args: tuple | list, kwargs: dict, kinds: type | tuple[type, ...]) -> bool:
    """Return whether something in (args, kwargs) is of one of these classes."""
    return _among(args, kinds) or (bool(kwargs) and _among(kwargs.values(), kinds))


def _among(values: Iterable[Any], kinds: type | tuple[type, ...]) -> bool:
    for x in values:  # a loop, which is faster here than any()
        if type(x) in PLAIN:
            continue
        if isinstance(x, (tuple, list, dict, slice)):
            parts = x.values() if isinstance(x, dict) else (x.start, x.stop, x.step) if type(x) is slice else x
            if _among(parts, kinds):
                return True
        elif isinstance(x, kinds):
            return True
    return False


def key_of(x: Any) -> tuple:
    """Return what makes two operands the same: type, dimension and value to the bit."""
    if isinstance(x, torch.Tensor):
        return (str(x.dtype), x.ndim, float(x).hex()) if x.numel() == 1 else (str(x.dtype), str(x.tolist()))
    return constant_key(x)


def equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors are equal, past any mode that is in force."""
    with torch._C.DisableTorchFunction():
        return one.equal(other)
