"""Calls of torch's functions with random arguments, and what a function is seen to do to them."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .numbers import Traced
from .places import plain_key
from .tensors import TracedTensor, flatten, key_of, numbers_of
from .torch_probes import describes, entries

CLOSE = 32
"""Units of the last place by which a kernel may differ between one element and many."""

SMALL = 64
"""Entries of an argument up to which a call is known again by its numbers."""

LOOKED_AT = 64
"""Elements that are compared, at most, to see whether a function works element by element."""


class MovedPart(NamedTuple):
    """A tensor of what a function returned that moves entries.

    places: where each entry comes from among all random ones, -1 for a constant. constants: holds those.
    view_of: the argument, by its slot, whose memory it shows; None for a copy.
    """

    places: np.ndarray
    constants: Tensor
    view_of: int | None


class Effect(NamedTuple):
    """What a call does to its random entries.

    describes: whether its result is known without them. like: the one tensor that it returned of other entries.
    parts: of a function that moves entries, what it returns, in ``container``.
    """

    describes: bool = False
    like: Tensor | None = None
    parts: tuple[MovedPart, ...] | None = None
    container: Callable[[Iterator[Tensor]], Any] = next


class FollowedCall:
    """A call of a function of torch with random arguments.

    slots, build: its tensors and followed numbers, and what makes the arguments from others in their place.
    random: the slots that hold random tensors. starts: how many entries are in those before. count: in all.
    """

    def __init__(self, func: Callable, name: str, args: tuple, kwargs: dict):
        self.func, self.name = func, name
        self.slots, self.build = flatten((args, kwargs))
        self.random = [k for k, x in enumerate(self.slots) if isinstance(x, TracedTensor)]
        sizes = [self.slots[k].numel() for k in self.random]
        self.starts, self.count = [0, *itertools.accumulate(sizes)][:-1], sum(sizes)
        self.writes = getattr(func, "__name__", "").endswith("_")

    @property
    def kinds(self) -> set[torch.dtype]:
        """Return the dtypes of its random tensors."""
        return {self.slots[k].dtype for k in self.random}

    def given(self, tensors: list[Tensor]) -> list[Any]:
        """Return the slots with these in place of random tensors, and plain numbers in place of random ones."""
        slots = [x.at(_middle(x)) if isinstance(x, Traced) else x for x in self.slots]
        if self.writes:
            slots = [x.clone() if isinstance(x, torch.Tensor) else x for x in slots]
        for k, tensor in zip(self.random, tensors):
            slots[k] = tensor
        return slots

    def returned(self, slots: list[Any]) -> Any:
        """Call the function with these; what it returns one by one comes as a tuple."""
        args, kwargs = self.build(slots)
        result = self.func(*args, **kwargs)
        return tuple(result) if hasattr(result, "__next__") else result

    def entries(self, which: int) -> list[Tensor]:
        """Return tensors of entries without meaning in place of the random ones. which: row of ``Entries``."""
        pieces = []
        for k, start in zip(self.random, self.starts):
            slot = self.slots[k]
            row = entries(slot.dtype, self.count).rows[which]
            pieces.append(row[start : start + slot.numel()].reshape(slot.shape).clone())
        return pieces

    def in_the_middle(self) -> Any:
        """Return what the function returns where each random number is in the middle of what it can still be."""
        tensors = []
        for k in self.random:
            values = [x.at(_middle(x)) if isinstance(x, Traced) else x for x in numbers_of(self.slots[k]).flat]
            shape = tuple(self.slots[k].shape)
            tensors.append(
                torch.stack([x.reshape(()) for x in values]).reshape(shape) if values else torch.empty(shape)
            )
        return self.returned(self.given(tensors))


def _middle(number: Traced) -> int:
    return (number.source.low + number.source.high - 1) // 2


def _tensors(result: Any) -> list[Tensor]:
    """Return the tensors that a function returned; none if it returned anything else."""
    parts = [result] if isinstance(result, torch.Tensor) else result
    is_list = isinstance(parts, (tuple, list)) and all(isinstance(x, torch.Tensor) for x in parts)
    return [*parts] if is_list else []


def by_element(slots: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Return for each slot what it holds for each element of a result of this shape.

    Raises: RuntimeError or ValueError if a tensor does not have an entry for each.
    """
    columns: list[Any] = []
    for slot in slots:
        if isinstance(slot, TracedTensor):
            columns.append(np.broadcast_to(slot._numbers, shape).ravel())
        elif isinstance(slot, torch.Tensor) and slot.ndim:
            # A copy: what is recorded must not change when third-party code writes to its tensor later.
            columns.append(torch.broadcast_to(slot, shape).reshape(-1, 1).clone().unbind())
        else:
            columns.append(itertools.repeat(slot.clone() if type(slot) is torch.Tensor else slot))
    return columns


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def of_one_number(
    call: FollowedCall, operands: Sequence[Any], number: Traced, func: Callable | None = None
) -> tuple[Callable, tuple]:
    """Return what is done to the one random operand, and its key. func: in place of the function that was called."""
    func, where = func or call.func, next(k for k, x in enumerate(operands) if x is number)

    def apply(value: Any) -> Any:
        args, kwargs = call.build((*operands[:where], value, *operands[where + 1 :]))
        return func(*args, **kwargs)

    others = tuple(key_of(x) for k, x in enumerate(operands) if k != where)
    # The plain Python arguments (a scalar, min=, alpha=) are part of what is done.
    return apply, (func, where, plain_key(call.build(["?"] * len(operands))), *others)


def works_by_element(call: FollowedCall, like: Tensor) -> bool:
    """Return whether a function does to each element what it does to it alone. like: what it returns of entries."""
    operands = by_element(call.given(call.entries(0)), tuple(like.shape))
    columns = [[*itertools.islice(column, like.numel())] for column in operands]
    places = np.unique(np.linspace(0, like.numel() - 1, LOOKED_AT).astype(int)) if like.numel() else ()
    tolerance = CLOSE * torch.finfo(like.dtype).eps if like.dtype.is_floating_point else 0.0
    for k in places:
        args, kwargs = call.build([column[k] for column in columns])
        alone = call.func(*args, **kwargs)
        if alone.numel() != 1 or alone.dtype != like.dtype:
            return False
        one, other = float(alone), float(like.flatten()[k])
        if not (one == other or abs(one - other) <= tolerance * abs(other) or (one != one and other != other)):
            return False
    return True


def effect_of(call: FollowedCall) -> Effect:
    """Return what a function is seen to do to entries without meaning."""
    pieces = call.entries(0)
    returned = call.returned(call.given(pieces))
    first, container = _tensors(returned), next if isinstance(returned, torch.Tensor) else type(returned)
    like = returned if isinstance(returned, torch.Tensor) else None
    if not first:
        results = returned, call.returned(call.given(call.entries(1)))
        return Effect(describes=describes(call.func, call.build, call.slots, results))
    if len(call.kinds) > 1 or any(isinstance(x, Traced) for x in call.slots):
        return Effect(like=like)
    known = entries(*call.kinds, call.count)
    places = [known.places(x) for x in first]
    for which in range(1, len(known.rows)):
        others = _tensors(call.returned(call.given(call.entries(which))))
        if not all(known.confirms(which, *same) for same in zip(places, first, others, strict=True)):
            return Effect(like=like)
    inputs = [(k, _memory(piece)) for k, piece in zip(call.random, pieces) if piece.numel()]
    views = [next((k for k, memory in inputs if x.numel() and memory == _memory(x)), None) for x in first]
    parts = tuple(MovedPart(came, x.clone(), view) for came, x, view in zip(places, first, views))
    return Effect(like=like, parts=parts, container=container)


def call_key(call: FollowedCall) -> tuple | None:
    """Return what is equal for calls that do the same to their random entries; None if it would be too long."""
    parts: list[tuple] = []
    for x in call.slots:
        if isinstance(x, TracedTensor):
            parts.append(("random", str(x.dtype), tuple(x.shape)))
        elif isinstance(x, torch.Tensor) and x.numel() <= SMALL:
            parts.append((tuple(x.shape), *key_of(x)))
        else:
            return None
    return (call.func, call.name, plain_key(call.build(["?"] * len(call.slots))), *parts)
