"""What torch's functions do to random tensors: each is followed in one of a few ways, or given up.

Elementwise functions run element by element with the real kernels on one-element tensors, so that precision and
promotion are torch's own; functions that only move elements run on positions; an argmax is a race.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .arrays import compared_with_row, traced_array
from .numbers import Traced
from .places import place, plain_key
from .race import race
from .sources import Lattice
from .tensors import (
    TracedTensor,
    flatten,
    is_traced,
    key_of,
    known,
    nested,
    numbers_of,
    plain,
    register_view,
    replaced,
    sized,
    tensor_of,
)
from .tracer import Tracer

COMPARE = {
    "lt": "lt", "less": "lt", "le": "le", "less_equal": "le", "gt": "gt", "greater": "gt", "ge": "ge",
    "greater_equal": "ge", "eq": "eq", "ne": "ne", "not_equal": "ne",
}  # fmt: skip
MONOTONE = {
    "add", "sub", "subtract", "rsub", "mul", "multiply", "div", "divide", "true_divide", "truediv", "rdiv", "rtruediv",
    "radd", "rmul", "neg", "negative", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "sqrt", "pow", "floor",
    "ceil", "round", "trunc", "clamp", "clamp_min", "clamp_max", "clip", "minimum", "maximum", "sigmoid", "tanh", "to",
    "float", "double", "half", "bfloat16", "type", "type_as", "logit", "positive", "pos", "long", "int", "short",
}  # fmt: skip
EVEN = {"abs", "absolute", "square", "reciprocal"}
DIVIDE = {"div", "divide", "true_divide", "truediv"}
JOIN = {"stack", "cat", "concat", "hstack", "vstack"}
MOVE = JOIN | {
    "getitem", "view", "reshape", "squeeze", "unsqueeze", "expand", "expand_as", "flatten", "transpose", "permute", "t",
    "T", "mT", "flip", "select", "narrow", "index_select", "gather", "repeat", "tile", "unbind", "split", "chunk",
    "broadcast_to", "contiguous", "clone", "detach", "movedim", "swapaxes", "diagonal", "take", "iter", "roll", "cpu",
    "view_as", "reshape_as", "atleast_1d",
}  # fmt: skip
PASSIVE = {
    "shape", "dtype", "device", "ndim", "size", "dim", "numel", "nelement", "len", "is_cuda", "layout", "requires_grad",
    "is_contiguous", "stride", "is_floating_point", "get_device", "element_size", "is_sparse", "is_complex", "is_meta",
    "is_quantized", "names", "storage_offset", "is_leaf", "grad_fn",
}  # fmt: skip
KEEPS_WHOLE = DIVIDE | {"to", "float", "double", "half", "bfloat16", "type", "type_as", "item", "tolist", "tensor"}
FINITE = {"isnan": False, "isinf": False, "isfinite": True}


def _looks(moved: torch.Tensor, original: Any) -> bool:
    """Whether a result of moving elements is a view of the argument and not a copy."""
    compared = isinstance(original, torch.Tensor) and moved.numel()
    return bool(compared) and moved.untyped_storage().data_ptr() == original.untyped_storage().data_ptr()


class Functions:
    """The functions of torch on random tensors, for one tracer."""

    def __init__(self, tracer: Tracer):
        self.tracer = tracer

    def follow(self, func: Callable, name: str, args: tuple[Any, ...], kwargs: dict, dunder: bool = False) -> Any:
        """func(*args, **kwargs) where some argument is random; name: without underscores."""
        if name in ("tensor", "as_tensor") and not isinstance(args[0], torch.Tensor):
            return self.tensor(*args, **kwargs)
        bare = replaced((args, kwargs), plain)
        if name in PASSIVE:
            return func(*bare[0], **bare[1])
        if not self._keeps_whole(name, args, kwargs):
            args, kwargs = replaced((args, kwargs), lambda t: t if t.is_floating_point() else known(t))
            return self.follow(func, name, args, kwargs, dunder) if is_traced((args, kwargs)) else func(*args, **kwargs)
        if name in ("item", "tolist", "numpy") or (dunder and name in ("float", "int", "bool", "index")):
            return self.take_out(name, args[0])
        if name in MOVE:
            return self.move(func, name, args, kwargs)
        if name == "where" and len(args) == 3:
            return self.select(args[0], args[1], args[2], func(*bare[0]))
        if name == "masked_fill" and len(args) == 3:
            return self.select(args[1], args[2], args[0], func(*bare[0]))
        if name in ("argmax", "argmin"):
            return self.winners(name == "argmax", *args, **kwargs)[1]
        if name in ("max", "min") and len(args) == 2 and isinstance(args[1], torch.Tensor):
            func, name = getattr(torch, name + "imum"), name + "imum"
        if name in ("max", "min") and (len(args) > 1 or "dim" in kwargs):
            return torch.return_types.max(self.winners(name == "max", *args, **kwargs))
        if name in ("searchsorted", "bucketize"):
            return self.searchsorted(name, *args, **kwargs)
        if name in FINITE:
            return torch.full(bare[0][0].shape, FINITE[name])
        if name in COMPARE or name in MONOTONE or name in EVEN:
            return self.elementwise(func, name, args, kwargs, func(*bare[0], **bare[1]))
        if name in ("repr", "format"):
            return "<random tensor>"
        return self.tracer.give_up(f"torch's {name} of random numbers at {place()} is not followed")

    def _keeps_whole(self, name: str, args: tuple, kwargs: dict) -> bool:
        """Whether random whole numbers stay random here: where they become floats, are compared or only moved."""
        whole = [x for x in flatten((args, kwargs))[0] if isinstance(x, TracedTensor) and not x.is_floating_point()]
        if not whole or name in COMPARE or name in KEEPS_WHOLE:
            return True
        return name in MOVE - JOIN and not is_traced((args[1:], kwargs))

    def tensor(self, data: Any, dtype: torch.dtype | None = None, **options: Any) -> Tensor:
        """torch.tensor of Python numbers, some of them random."""
        leaves = np.array(data, dtype=object)
        kind = dtype or torch.get_default_dtype()
        shape = (1,) if leaves.ndim else ()
        numbers = np.empty(leaves.shape, dtype=object)
        for where in np.ndindex(*leaves.shape):
            leaf = leaves[where]
            make = lambda v: torch.tensor(v, dtype=kind).reshape(shape)  # noqa: E731
            numbers[where] = leaf.then(make, "tensor", str(kind), shape) if isinstance(leaf, Traced) else make(leaf)
        return tensor_of(numbers, kind)

    def take_out(self, name: str, tensor: Tensor) -> Any:
        """Python or NumPy numbers out of a tensor: still followed, unless Python insists on a float."""
        numbers = numbers_of(tensor)
        if name == "tolist":
            return nested(numbers)
        if name == "numpy":
            taken = [x.then(lambda v: v.numpy().flat[0], "numpy") if isinstance(x, Traced) else x.numpy().flat[0]
                     for x in numbers.flat]  # fmt: skip
            return traced_array(taken, numbers.shape)
        if numbers.size != 1:
            raise RuntimeError(f"a Tensor with {numbers.size} elements cannot be converted to a number")
        number = numbers.flat[0]
        if not isinstance(number, Traced):
            return {"item": lambda v: v.item(), "float": float, "bool": bool}.get(name, int)(number)
        if name == "item":
            return number.then(lambda v: v.item(), "item")
        if name == "bool":
            return number.compare(0, "ne")
        return number.whole(int, "int") if name in ("int", "index") else float(number)

    def move(self, func: Callable, name: str, args: tuple, kwargs: dict) -> Any:
        """A function that only moves elements: run on their positions."""
        numbers: list[Any] = []
        origins: list[torch.Tensor] = []

        def positions(t):
            start, flat = len(numbers), numbers_of(t)
            numbers.extend(flat.flat)
            origins.append(t)
            return torch.arange(start, start + flat.size, dtype=torch.int64).reshape(flat.shape)

        moved_args, moved_kwargs = replaced((args, kwargs), positions, every=name in JOIN)
        moved = func(*moved_args, **moved_kwargs)
        dtype = origins[0].dtype
        for other in origins[1:]:
            dtype = torch.promote_types(dtype, other.dtype)
        if any(t.dtype != dtype for t in origins):
            self.tracer.give_up(f"tensors of different types are joined with random ones at {place()}")

        def restored(index):
            if not isinstance(index, torch.Tensor):
                return index
            taken = np.empty(tuple(index.shape), dtype=object)
            scalar = index.ndim == 0
            changes = scalar != (origins[0].ndim == 0)
            for where in np.ndindex(*taken.shape):
                number = numbers[int(index[where])]
                taken[where] = sized(number, scalar) if changes else number
            if not _looks(index, moved_args[0]):
                return tensor_of(taken, dtype)
            # A view has to be traced even if no element of it is random yet: it can be filled in place.
            return register_view(tensor_of(taken, dtype, traced=True), origins[0], index.numpy())

        if isinstance(moved, torch.Tensor):
            return restored(moved)
        if isinstance(moved, (tuple, list)):
            return type(moved)(map(restored, moved))
        return map(restored, moved)  # an iterator

    def select(self, condition: Tensor, yes: Any, no: Any, like: Tensor) -> Tensor:
        """torch.where and masked_fill: each element from one side or the other, by a condition that is known."""
        if isinstance(condition, TracedTensor):
            self.tracer.give_up(f"a random condition at {place()}")
        shape = tuple(like.shape)

        def side(x):
            if isinstance(x, Traced):
                self.tracer.give_up(f"a random Python number in torch.where at {place()}")
            tensor = x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=like.dtype)
            if tensor.dtype != like.dtype:
                if isinstance(tensor, TracedTensor):
                    self.tracer.give_up(f"a random tensor changes its type in torch.where at {place()}")
                tensor = tensor.to(like.dtype)
            return np.broadcast_to(numbers_of(tensor), shape)

        sides = side(no), side(yes)
        which = torch.broadcast_to(condition, shape)
        numbers = np.empty(shape, dtype=object)
        for where in np.ndindex(*shape):
            numbers[where] = sized(sides[bool(which[where])][where], shape == ())
        return tensor_of(numbers, like.dtype)

    def elementwise(self, func: Callable, name: str, args: tuple, kwargs: dict, like: Tensor) -> Tensor:
        """func element by element; ``like`` has the shape and type of the result."""
        shape = tuple(like.shape)
        if name in COMPARE and not kwargs and (passed := self._looked_up(func, COMPARE[name], *args)) is not None:
            return passed.reshape(shape)
        slots, build = flatten((args, kwargs))
        columns = []
        for slot in slots:
            if isinstance(slot, TracedTensor):
                columns.append(np.broadcast_to(slot._numbers, shape).ravel())
            elif isinstance(slot, torch.Tensor) and slot.ndim and name != "type_as":
                # A copy: what is recorded must not change when third-party code writes to its tensor later.
                columns.append(torch.broadcast_to(slot, shape).reshape(-1, 1).clone().unbind())
            else:
                columns.append(itertools.repeat(slot.clone() if type(slot) is torch.Tensor else slot))
        results = np.empty(math.prod(shape), dtype=object)
        for k, operands in zip(range(len(results)), zip(*columns)):
            results[k] = self._one(func, name, build, operands, like)
        if name in COMPARE or not like.dtype.is_floating_point:
            return torch.tensor([x.item() if isinstance(x, torch.Tensor) else x for x in results],
                                dtype=like.dtype).reshape(shape)  # fmt: skip
        return tensor_of(results.reshape(shape), like.dtype)

    def _looked_up(self, func: Callable, name: str, one: Any, other: Any) -> Tensor | None:
        """A random number compared with a row that is kept whole; None where it is no such comparison."""
        first = isinstance(one, TracedTensor)
        number, cuts = (one, other) if first else (other, one)
        if name in ("eq", "ne") or not isinstance(number, TracedTensor) or type(cuts) is not torch.Tensor:
            return None
        if cuts.numel() < self.tracer.whole_from or number.numel() > 1 or number.dtype != cuts.dtype:
            return None  # of another type a number without dimension takes the row's
        single = numbers_of(number).item()
        if not isinstance(single, Traced) or not isinstance(single.source, Lattice):
            return None
        row = cuts.reshape(-1).clone()

        def true(values: Tensor) -> np.ndarray:
            return (func(values, row) if first else func(row, values)).numpy()

        ascending = (name in ("gt", "ge")) == first
        return torch.from_numpy(compared_with_row(self.tracer, single, true, ascending, row.tolist))

    def _one(self, func: Callable, name: str, build: Callable, operands: tuple, like: Tensor) -> Any:
        random = [x for x in operands if isinstance(x, Traced)]
        if not random:
            args, kwargs = build(operands)
            return func(*args, **kwargs)
        number = random[0]
        if len(random) > 1:
            alone = len(random) == len(operands) == 2 and not build(operands)[1]
            return random[0].with_itself(random[1], func, name if alone else "", f"torch's {name}")
        where = next(k for k, x in enumerate(operands) if x is number)

        def applied(function):
            def apply(value):
                args, kwargs = build((*operands[:where], value, *operands[where + 1 :]))
                return function(*args, **kwargs)

            return apply

        others = tuple(key_of(x) for k, x in enumerate(operands) if k != where)
        # The plain Python arguments (a scalar, min=, alpha=) are part of what is done.
        key = (name, where, plain_key(build(["?"] * len(operands))), *others)
        if name in COMPARE:
            if any(isinstance(x, torch.Tensor) and bool(x.isnan().any()) for x in operands):
                self.tracer.notice("nan", f"a random number is compared with NaN at {place()}")
            if COMPARE[name] in ("eq", "ne"):
                below = number.decide(lambda v: bool(applied(torch.lt)(v)), "lt", *key)
                same = not below and number.decide(lambda v: bool(applied(torch.le)(v)), "le", *key)
                return same == (COMPARE[name] == "eq")
            return number.decide(lambda v: bool(applied(func)(v)), *key)
        turns = name in EVEN or (name in DIVIDE and where == 1) or name in ("rdiv", "rtruediv")
        if turns and number.sign_changes():
            self.tracer.give_up(f"torch's {name} of a random number that changes sign at {place()}")
        if name == "pow" and (where == 1 or min(number.ends()) < 0):
            self.tracer.give_up(f"a power of or with a random number that may be negative at {place()}")
        if not like.dtype.is_floating_point:
            return number.whole(lambda v: int(applied(func)(v)), name, *key)
        return number.then(applied(func), *key)

    def winners(self, largest: bool, tensor: Tensor, dim: int | None = None, keepdim: bool = False, *,
                axis: int | None = None, keepdims: bool = False) -> tuple[Any, Tensor]:  # fmt: skip
        """What the winners scored, which is spent noise (None: without a dimension), and where they are."""
        numbers = numbers_of(tensor)
        dim, keep = (axis if dim is None else dim), keepdim or keepdims
        if dim is None:
            return None, torch.tensor(race(list(numbers.ravel()), largest))
        rows = np.moveaxis(numbers, dim, -1)
        places = list(np.ndindex(*rows.shape[:-1]))
        chosen = [race(list(rows[w]), largest) for w in places]
        scores = np.empty(rows.shape[:-1], dtype=object)
        for w, k in zip(places, chosen):
            scores[w] = sized(rows[w][k], scores.ndim == 0 and not keep)
        index = torch.tensor(chosen, dtype=torch.int64).reshape(rows.shape[:-1])
        if keep:
            return tensor_of(np.expand_dims(scores, dim), tensor.dtype), index.unsqueeze(dim)
        return tensor_of(scores, tensor.dtype), index

    def searchsorted(self, name: str, *args: Any, out_int32: bool = False, right: bool = False,
                     side: str | None = None, **kwargs: Any) -> Tensor:  # fmt: skip
        cuts, values = args if name == "searchsorted" else args[::-1]
        if isinstance(cuts, TracedTensor):
            self.tracer.give_up(f"torch.searchsorted in random numbers at {place()}")
        right = right or side == "right"
        numbers = numbers_of(values) if isinstance(values, torch.Tensor) else np.array(values, dtype=object)
        places = np.zeros(numbers.shape, dtype=np.int64)
        above = torch.ge if right else torch.gt
        for where in np.ndindex(*numbers.shape):
            row = cuts if cuts.ndim == 1 else cuts[where[:-1]]
            number = numbers.item(where)
            if isinstance(number, Traced):
                found = self.tracer.look_up(number, lambda v, row=row: above(v, row).numpy(), row.tolist)
                if found is not None:
                    places[where] = found
                    continue
            for cut in row.unbind():
                if isinstance(number, Traced):
                    passed = number.decide(lambda v, c=cut: bool(above(v, c)), "search", right, key_of(cut))
                else:
                    passed = bool(above(number, cut))
                if not passed:
                    break
                places[where] += 1
        return torch.tensor(places, dtype=torch.int32 if out_int32 else torch.int64)
