"""``torch``: random tensors whose elements are followed, through torch's own dispatch of functions.

A TorchFunctionMode sees every torch call of the traced function, however it was imported. Random factories hand
out a TracedTensor: a tensor (of NaN, so that a value that slipped through would show) with one Traced number an
element. Elementwise functions are followed element by element with the real kernels on one-element tensors, so
that precision and promotion are torch's own; functions that only move elements are run on indices.
"""

import itertools
import math
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from .numbers import Traced, handed_out
from .race import race
from .sources import Exponential, Lattice
from .tracer import Tracer, active, place, rational

BITS = {torch.float64: 53, torch.float32: 24}
"""Bits of torch's uniform on the CPU: as many as the significand has."""

COMPARE = {
    "lt": "lt", "less": "lt", "le": "le", "less_equal": "le", "gt": "gt", "greater": "gt", "ge": "ge",
    "greater_equal": "ge", "eq": "eq", "ne": "ne", "not_equal": "ne",
}  # fmt: skip
MONOTONE = {
    "add", "sub", "subtract", "rsub", "mul", "multiply", "div", "divide", "true_divide", "truediv", "rdiv", "rtruediv",
    "radd", "rmul", "neg", "negative", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "sqrt", "pow", "floor",
    "ceil", "round", "trunc", "clamp", "clamp_min", "clamp_max", "clip", "minimum", "maximum", "sigmoid", "tanh", "to",
    "float", "double", "half", "bfloat16", "type", "type_as", "logit", "positive", "pos",
}  # fmt: skip
EVEN = {"abs", "absolute", "square", "reciprocal"}
MOVE = {
    "getitem", "view", "reshape", "squeeze", "unsqueeze", "expand", "expand_as", "flatten", "transpose", "permute", "t",
    "T", "mT", "flip", "select", "narrow", "index_select", "gather", "repeat", "tile", "unbind", "split", "chunk",
    "stack", "cat", "concat", "hstack", "vstack", "broadcast_to", "contiguous", "clone", "detach", "movedim",
    "swapaxes", "diagonal", "take", "iter", "roll", "cpu", "view_as", "reshape_as", "where", "masked_fill", "atleast_1d",
}  # fmt: skip
PASSIVE = {"shape", "dtype", "device", "ndim", "size", "dim", "numel", "nelement", "len", "is_cuda", "layout",
           "requires_grad", "is_contiguous", "stride", "is_floating_point", "get_device", "element_size", "is_sparse",
           "is_complex", "dim_order", "is_meta", "is_quantized", "names", "storage_offset", "is_leaf", "grad_fn"}  # fmt: skip
FINITE = {"isnan": False, "isinf": False, "isfinite": True}
UNFOLLOWED = {"randn", "randn_like", "normal", "normal_", "randperm", "cauchy_", "log_normal_", "geometric_", "random_",
              "poisson", "binomial", "dropout", "gumbel_softmax", "rrelu", "feature_dropout", "alpha_dropout"}  # fmt: skip


class TracedTensor(torch.Tensor):
    """A tensor whose elements are random numbers (``_numbers``: an object array of Traced or one-element tensors)."""

    __torch_function__ = torch._C._disabled_torch_function_impl


def tensor_of(numbers: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """A traced tensor of these numbers, or a plain one where none of them is random."""
    if not any(isinstance(x, Traced) for x in numbers.flat):
        values = [x.reshape(()) for x in numbers.flat]
        return (torch.stack(values) if values else torch.empty(0, dtype=dtype)).reshape(numbers.shape)
    tensor = torch.full(numbers.shape, math.nan, dtype=dtype).as_subclass(TracedTensor)
    tensor._numbers = numbers
    return tensor


def _after(number, apply, *key):
    return number.then(apply, *key) if isinstance(number, Traced) else apply(number)


def become(tensor: torch.Tensor, numbers: np.ndarray) -> torch.Tensor:
    """Turn a tensor that exists into a traced one: in-place functions change the object others hold."""
    plain = tensor_of(numbers, tensor.dtype)
    if not isinstance(plain, TracedTensor):
        return tensor.copy_(plain)
    tensor.__class__ = TracedTensor
    tensor._numbers = numbers
    return tensor


def _fill(shape, make) -> np.ndarray:
    numbers = np.empty(shape, dtype=object)
    for where in np.ndindex(*shape):
        numbers[where] = make()
    return numbers


def uniform_source(tracer: Tracer, dtype: torch.dtype) -> Lattice:
    """torch's uniform on the CPU.

    In float64 and float32 it is k / 2^bits. In float16 and bfloat16 it is the float32 uniform rounded to the type,
    and what rounds up to 1 becomes 0 (so that 0 comes with probability 2^-9 + 2^-24 in bfloat16): the points are
    those of float32, with the ones that wrap around put first, which keeps the values in order.
    """
    if dtype in BITS:
        step = 2.0 ** -BITS[dtype]
        return Lattice(tracer, BITS[dtype], lambda k: torch.tensor([k * step], dtype=dtype), str(dtype))
    if dtype not in WRAPPING:
        tracer.give_up(f"a uniform of {dtype} at {place()}")
    wrapped = WRAPPING[dtype]
    value = lambda k: torch.tensor([max(k - wrapped, 0) * 2.0**-24], dtype=torch.float32).to(dtype)  # noqa: E731
    return Lattice(tracer, 24, value, str(dtype))


def _half_types() -> dict[torch.dtype, int]:
    """For float16 and bfloat16 how many of the 2^24 points wrap around to 0; only where this torch does so."""
    found = {}
    for dtype, digits in ((torch.float16, 11), (torch.bfloat16, 8)):
        single = torch.rand(20_000, generator=scratch()).to(dtype)
        single[single == 1] = 0
        if bool((torch.rand(20_000, dtype=dtype, generator=scratch()) == single).all()):
            found[dtype] = 2 ** (24 - digits - 1)
    return found


class Following(TorchFunctionMode):
    """The mode that is in force while a function is traced."""

    def __init__(self, tracer: Tracer):
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__"):
            name = func.__self__.__name__ if name == "__get__" else "set"
        plain = name.strip("_") if name.startswith("__") else name.removesuffix("_")
        involved = _traced_in((args, kwargs))
        if name in RANDOM and not involved:
            return RANDOM[name](self, func, *args, **kwargs)
        if name in UNFOLLOWED and not (name == "dropout" and not kwargs.get("training", True)):
            self.tracer.give_up(f"torch's {name} at {place()} is not followed")
        if not involved:
            return func(*args, **kwargs)
        if name.endswith("_") and not name.startswith("__"):
            outcome = self.follow(getattr(torch.Tensor, plain, func), plain, args, kwargs)
            return become(args[0], np.broadcast_to(_numbers(outcome), tuple(args[0].shape)).copy())
        return self.follow(func, plain, args, kwargs)

    # ---------------------------------------------------------------- what random factories hand out

    def source_of(self, generator) -> Tracer | None:
        """The tracer, or None if this generator was seeded during the present call: then it is no chance at all."""
        state = generator if generator is not None else GLOBAL
        return None if getattr(state, "seeded_in_run", None) == (id(self.tracer), self.tracer.run) else self.tracer

    def uniform(self, shape, dtype, low=0.0, high=1.0) -> np.ndarray:
        if (low, high) != (0.0, 1.0) and dtype not in BITS:
            self.tracer.give_up(f"a uniform of {dtype} between {low} and {high} at {place()}")

        def make():
            number = handed_out(uniform_source(self.tracer, dtype))
            return number if (low, high) == (0.0, 1.0) else _after(number, lambda v: v * (high - low) + low, low, high)

        return _fill(shape, make)

    def exponential(self, shape, dtype, rate=1.0) -> np.ndarray:
        epsilon = torch.finfo(dtype).eps

        def make():
            value = lambda e: torch.tensor([e], dtype=dtype)  # noqa: E731
            number = handed_out(Exponential(self.tracer, value, str(dtype), epsilon))
            return number if rate == 1.0 else _after(number, lambda v: v / rate, rate)

        return _fill(shape, make)

    def rand(self, func, *args, generator=None, **kwargs):
        if self.source_of(generator) is None:
            return func(*args, generator=generator, **kwargs)
        like = torch.empty(*args, **kwargs)
        return tensor_of(self.uniform(tuple(like.shape), like.dtype), like.dtype)

    def rand_like(self, func, input, *, generator=None, **kwargs):
        if self.source_of(generator) is None:
            return func(input, **kwargs)
        like = torch.empty_like(input, **kwargs)
        return tensor_of(self.uniform(tuple(like.shape), like.dtype), like.dtype)

    def uniform_(self, func, tensor, a=0.0, b=1.0, *, generator=None, **kwargs):
        low, high = kwargs.pop("from", a), kwargs.pop("to", b)
        if self.source_of(generator) is None:
            return func(tensor, low, high, generator=generator)
        return become(tensor, self.uniform(tuple(tensor.shape), tensor.dtype, low, high))

    def exponential_(self, func, tensor, lambd=1.0, *, generator=None):
        if self.source_of(generator) is None:
            return func(tensor, lambd, generator=generator)
        return become(tensor, self.exponential(tuple(tensor.shape), tensor.dtype, lambd))

    def bernoulli(self, func, input, p=None, *, generator=None, **kwargs):
        if self.source_of(generator) is None:
            return func(input, *([] if p is None else [p]), generator=generator)
        probabilities = input if p is None else torch.full_like(input, p)
        func(input, *([] if p is None else [p]), generator=scratch())  # raises what torch raises
        drawn = [1 - self.tracer.choose([q, 1 - q]) for q in map(rational, probabilities.double().flatten().tolist())]
        return torch.tensor(drawn, dtype=input.dtype).reshape(input.shape)

    def bernoulli_(self, func, tensor, p=0.5, *, generator=None):
        if self.source_of(generator) is None:
            return func(tensor, p, generator=generator)
        probabilities = p if isinstance(p, torch.Tensor) else torch.full(tensor.shape, float(p), dtype=torch.float64)
        rows = torch.broadcast_to(probabilities, tensor.shape).double().flatten().tolist()
        drawn = [1 - self.tracer.choose([q, 1 - q]) for q in map(rational, rows)]
        return tensor.copy_(torch.tensor(drawn, dtype=tensor.dtype).reshape(tensor.shape))

    def multinomial(self, func, input, num_samples, replacement=False, *, generator=None, out=None):
        if self.source_of(generator) is None:
            return func(input, num_samples, replacement, generator=generator)
        func(input, num_samples, replacement, generator=scratch())  # raises what torch raises
        rows = input.double().reshape(-1, input.shape[-1]).tolist()
        drawn = []
        for row in rows:
            left = [rational(w) for w in row]
            for _ in range(num_samples):
                total = sum(left)
                if total == 0:
                    self.tracer.give_up(f"torch.multinomial from weights of zero at {place()}")
                drawn.append(self.tracer.choose([w / total for w in left]))
                if not replacement:
                    left[drawn[-1]] *= 0
        return torch.tensor(drawn, dtype=torch.int64).reshape((*input.shape[:-1], num_samples))

    def randint(self, func, *args, generator=None, **kwargs):
        if self.source_of(generator) is None:
            return func(*args, generator=generator, **kwargs)
        sample = func(*args, generator=scratch(), **kwargs)
        bounds = [x for x in args if isinstance(x, int)]
        low, high = (
            bounds if len(bounds) == 2 else (kwargs.get("low", 0), kwargs.get("high", bounds[-1] if bounds else None))
        )
        drawn = [low + self.tracer.pick(high - low) for _ in range(sample.numel())]
        return torch.tensor(drawn, dtype=sample.dtype).reshape(sample.shape)

    # ---------------------------------------------------------------- what happens to traced tensors

    def follow(self, func, name, args, kwargs):
        payload = _map((args, kwargs), lambda t: torch.Tensor.as_subclass(t, torch.Tensor))
        if name in ("tensor", "as_tensor") and not isinstance(args[0], torch.Tensor):
            return self.tensor(*args, **kwargs)
        if name in PASSIVE:
            return func(*payload[0], **payload[1])
        if name in ("item", "tolist", "float", "int", "bool", "index") and not kwargs and len(args) == 1:
            taken = self.take_out(name, args[0], func)
            if taken is not None:
                return taken
        if name in MOVE:
            return self.move(func, args, kwargs)
        if name in ("argmax", "argmin"):
            return self.argmax(name == "argmax", payload[0][0], args[0], *args[1:], **kwargs)
        if name in ("max", "min") and (len(args) > 1 or "dim" in kwargs):
            index = self.argmax(name == "max", payload[0][0], args[0], *args[1:], **kwargs)
            dim, keep = _dim(*args[1:], **kwargs)
            values = torch.gather(payload[0][0], dim, index if keep else index.unsqueeze(dim))
            return torch.return_types.max((values if keep else values.squeeze(dim), index))
        if name in ("searchsorted", "bucketize"):
            return self.searchsorted(name, *args, **kwargs)
        if name in FINITE:
            return torch.full(args[0].shape, FINITE[name])
        if name in COMPARE or name in MONOTONE or name in EVEN:
            return self.elementwise(func, name, args, kwargs, func(*payload[0], **payload[1]))
        if name == "repr" or name == "format":
            return "<random tensor>"
        self.tracer.give_up(f"torch's {name} of random numbers at {place()} is not followed")
        raise AssertionError

    def tensor(self, data, dtype=None, **options):
        """torch.tensor of Python numbers, some of them random."""
        leaves = np.array(data, dtype=object)
        kind = dtype or torch.get_default_dtype()
        numbers = np.empty(leaves.shape, dtype=object)
        for where in np.ndindex(*leaves.shape):
            leaf = leaves[where]
            make = lambda v: torch.tensor([v], dtype=kind)  # noqa: E731
            numbers[where] = leaf.then(make, "tensor", str(kind)) if isinstance(leaf, Traced) else make(leaf)
        return tensor_of(numbers, kind)

    def take_out(self, name, tensor, func):
        """A Python number out of a tensor: still followed where Python allows anything but a float."""
        numbers = _numbers(tensor)
        if name == "tolist":
            return _nested(numbers)
        if numbers.size != 1:
            return func(torch.Tensor.as_subclass(tensor, torch.Tensor))  # raises what torch raises
        number = numbers.flat[0]
        if not isinstance(number, Traced):
            return func(number.reshape(()))
        if name == "item":
            return number.then(lambda v: v.item(), "item")
        if name == "bool":
            return number.compare(0, "ne")
        if name in ("int", "index"):
            return number.whole(int, "int")
        return None if tensor.ndim == 0 and name == "float" and tensor is None else float(number)

    def move(self, func, args, kwargs):
        """A function that only moves elements: run on their positions."""
        numbers: list[Any] = []
        dtypes = []

        def positions(t):
            start = len(numbers)
            flat = _numbers(t)
            numbers.extend(flat.flat)
            dtypes.append(t.dtype)
            return torch.arange(start, start + flat.size, dtype=torch.int64).reshape(flat.shape)

        joins = getattr(func, "__name__", "") in ("stack", "cat", "concat", "hstack", "vstack", "where", "masked_fill")
        moved_args, moved_kwargs = _map((args, kwargs), positions, plain=joins)
        moved = func(*moved_args, **moved_kwargs)

        def restored(index):
            if not isinstance(index, torch.Tensor):
                return index
            taken = np.empty(tuple(index.shape), dtype=object)
            for where in np.ndindex(*taken.shape):
                taken[where] = numbers[int(index[where])]
            return tensor_of(taken, dtypes[0])

        if isinstance(moved, torch.Tensor):
            return restored(moved)
        if isinstance(moved, (tuple, list)):
            return type(moved)(map(restored, moved))
        return map(restored, moved)  # an iterator

    def elementwise(self, func, name, args, kwargs, like):
        """func element by element; ``like`` has the shape and type of the result."""
        shape = tuple(like.shape)
        slots, build = _flatten((args, kwargs))
        columns = []
        for slot in slots:
            if isinstance(slot, TracedTensor):
                columns.append(np.broadcast_to(slot._numbers, shape).ravel())
            elif isinstance(slot, torch.Tensor) and slot.ndim and name != "type_as":
                columns.append(torch.broadcast_to(slot, shape).reshape(-1, 1).unbind())
            else:
                columns.append(itertools.repeat(slot))
        results = np.empty(math.prod(shape), dtype=object)
        for k, operands in zip(range(len(results)), zip(*columns)):
            results[k] = self.one(func, name, build, operands)
        if name in COMPARE:
            return torch.tensor([bool(x) for x in results]).reshape(shape)
        return tensor_of(results.reshape(shape), like.dtype)

    def one(self, func, name, build, operands):
        random = [x for x in operands if isinstance(x, Traced)]
        if not random:
            args, kwargs = build(operands)
            return func(*args, **kwargs)
        number = random[0]
        if len(random) > 1:
            self.tracer.give_up(f"two random numbers meet in torch's {name} at {place()}")
        where = next(k for k, x in enumerate(operands) if x is number)

        def apply(value, operands=operands, where=where):
            args, kwargs = build((*operands[:where], value, *operands[where + 1 :]))
            return func(*args, **kwargs)

        key = (name, where, *(_key(x) for k, x in enumerate(operands) if k != where))
        if name in COMPARE:
            if any(isinstance(x, torch.Tensor) and bool(x.isnan().any()) for x in operands):
                self.tracer.notice("nan", f"a random number is compared with NaN at {place()}")
            return self.compare(number, COMPARE[name], apply, func, key, where)
        turns = name in EVEN or (name in ("div", "divide", "true_divide", "truediv") and where == 1)
        if (turns or name in ("rdiv", "rtruediv")) and number.sign_changes():
            self.tracer.give_up(f"torch's {name} of a random number that changes sign at {place()}")
        if name == "pow" and where == 0 and number.ends()[0] < 0:
            self.tracer.give_up(f"a power of a negative random number at {place()}")
        return number.then(apply, *key)

    def compare(self, number, name, apply, func, key, where):
        if name in ("eq", "ne"):
            self.tracer.give_up(f"a random tensor is tested for equality at {place()}")
        return number.decide(lambda value: bool(apply(value)), *key)

    def argmax(self, largest, payload, tensor, *args, **kwargs):
        numbers = _numbers(tensor)
        dim, keep = _dim(*args, **kwargs)
        if dim is None:
            return torch.tensor(race(list(numbers.ravel()), largest))
        rows = np.moveaxis(numbers, dim, -1)
        winners = np.array([race(list(rows[w]), largest) for w in np.ndindex(*rows.shape[:-1])], dtype=np.int64)
        index = torch.from_numpy(winners.reshape(rows.shape[:-1]))
        return index.unsqueeze(dim) if keep else index

    def searchsorted(self, name, *args, out_int32=False, right=False, side=None, **kwargs):
        cuts, values = args if name == "searchsorted" else args[::-1]
        if isinstance(cuts, TracedTensor):
            self.tracer.give_up(f"torch.searchsorted in random numbers at {place()}")
        right = right or side == "right"
        numbers = _numbers(values) if isinstance(values, torch.Tensor) else np.array(values, dtype=object)
        found = np.zeros(numbers.shape, dtype=np.int64)
        for where in np.ndindex(*numbers.shape):
            row = cuts if cuts.ndim == 1 else cuts[where[:-1]]
            for cut in row.unbind():
                op = torch.ge if right else torch.gt
                above = numbers[where].decide(lambda v, cut=cut, op=op: bool(op(v, cut)), "search", right, _key(cut))
                if not above:
                    break
                found[where] += 1
        return torch.tensor(found, dtype=torch.int32 if out_int32 else torch.int64)


RANDOM = {
    name: getattr(Following, name)
    for name in ("rand", "rand_like", "uniform_", "exponential_", "bernoulli", "bernoulli_", "multinomial", "randint")
}


def _dim(dim=None, keepdim=False, **rest):
    return rest.get("axis", dim), rest.get("keepdims", keepdim)


def _numbers(tensor) -> np.ndarray:
    if isinstance(tensor, TracedTensor):
        return tensor._numbers
    numbers = np.empty(tuple(tensor.shape), dtype=object)
    for where in np.ndindex(*numbers.shape):
        numbers[where] = tensor[where].reshape(1)
    return numbers


def _nested(numbers):
    if numbers.ndim == 0:
        x = numbers[()]
        return x.then(lambda v: v.item(), "item") if isinstance(x, Traced) else x.item()
    return [
        _nested(row) if isinstance(row, np.ndarray) else _nested(np.array(row, dtype=object)) for row in _rows(numbers)
    ]


def _rows(numbers):
    for k in range(numbers.shape[0]):
        row = numbers[k : k + 1].reshape(numbers.shape[1:])
        yield row


def _flatten(tree):
    """The tensors and Traced numbers of (args, kwargs), and a function that puts others in their places."""
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
        return lambda values: x

    return slots, plan(tree)


def _map(tree, change, plain=False):
    slots, build = _flatten(tree)
    floats = lambda t: t.dtype.is_floating_point  # noqa: E731
    return build([
        change(x) if isinstance(x, TracedTensor) or (plain and isinstance(x, torch.Tensor) and floats(x)) else x
        for x in slots
    ])  # fmt: skip


def _traced_in(tree) -> bool:
    if isinstance(tree, (TracedTensor, Traced)):
        return True
    if isinstance(tree, dict):
        return any(map(_traced_in, tree.values()))
    return type(tree) in (tuple, list) and any(map(_traced_in, tree))


def _key(x) -> tuple:
    if isinstance(x, torch.Tensor):
        return (str(x.dtype), x.ndim, float(x).hex()) if x.numel() == 1 else (str(x.dtype), str(x.tolist()))
    return (type(x).__name__, repr(x))


def with_number(name: str, tensor: torch.Tensor, number: Traced):
    """tensor.__name__(number) for a Python number that is followed."""
    if name == "rfloordiv" or not hasattr(torch.Tensor, f"__{name}__"):
        number.source.tracer.give_up(f"a tensor and a random number in '{name}' at {place()}")
    func = getattr(torch.Tensor, f"__{name}__")
    plain = torch.Tensor.as_subclass(tensor, torch.Tensor)
    return Following(number.source.tracer).elementwise(func, name, (tensor, number), {}, func(plain, 0.5))


class _Global:
    """Stands for torch's default generator."""

    seeded_in_run: object = None


GLOBAL = _Global()
PlainGenerator = torch.Generator


class TracedTorchGenerator(PlainGenerator):
    """torch.Generator that knows whether it was made or seeded during the call that draws from it.

    A generator that is made anew and not seeded by ``seed()`` starts from a constant.
    """

    def __init__(self, device="cpu"):
        self.seeded_in_run = None
        _seeded(self, "a new torch.Generator, which starts from a fixed seed,")

    def manual_seed(self, seed):
        _seeded(self, "torch.Generator.manual_seed")
        return super().manual_seed(seed)

    def set_state(self, state):
        _seeded(self, "torch.Generator.set_state")
        return super().set_state(state)

    def seed(self):
        self.seeded_in_run = None
        return super().seed()


def _seeded(generator, how):
    tracer = active()
    if tracer is not None:
        tracer.notice("reseeds", f"{how} at {place()}: every call sees the same random numbers")
        generator.seeded_in_run = (id(tracer), tracer.run)


def scratch() -> torch.Generator:
    """A generator whose numbers are never used: it only lets torch check the arguments."""
    return PlainGenerator().manual_seed(0)


WRAPPING = _half_types()


def install() -> None:
    plain_seed = torch.manual_seed

    def manual_seed(seed):
        _seeded(GLOBAL, "torch.manual_seed")
        return plain_seed(seed)

    torch.Generator = TracedTorchGenerator
    torch.manual_seed = torch.random.manual_seed = manual_seed


def untraced_state():
    """A fingerprint of torch's default generator: it moves if something draws from it past the mode."""
    return bytes(torch.default_generator.get_state()[:64].tolist()) + bytes(
        torch.default_generator.get_state()[-64:].tolist()
    )
