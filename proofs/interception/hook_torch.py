"""Hooks of torch: what it draws is followed, through torch's own dispatch of functions.

A TorchFunctionMode sees every call of torch in the traced function, however it was imported. Functions that draw hand
out random tensors. What is done to those goes to ``torch_functions``, or to ``noise_tensors`` for rows of noise.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..field import rational
from . import torch_generators
from .generators import Followed
from .noise_rows import NoiseRow
from .noise_tensors import NoiseTensor, can_be_filled, filled
from .noise_tensors import follow as follow_noise
from .numbers import Traced, handed_out, register
from .places import place
from .sources import Exponential, Lattice
from .tensors import TRACED, TracedTensor, become, holds, numbers_of, tensor_of
from .torch_functions import Functions
from .torch_generators import GLOBAL, PLAIN_DEFAULT, put_default, scratch
from .tracer import Tracer
from .undecided import Undecided, UndecidedTensor

BITS = {torch.float64: 53, torch.float32: 24}
"""Bits of torch's uniform on the CPU: as many as the significand has."""

UNFOLLOWED = {
    "randn", "randn_like", "normal", "normal_", "normal_functional", "randperm", "uniform", "exponential", "cauchy",
    "cauchy_", "log_normal", "log_normal_", "geometric", "geometric_", "random", "random_", "poisson", "binomial",
    "_standard_gamma", "_sample_dirichlet", "dropout", "native_dropout", "_fused_dropout", "feature_dropout",
    "alpha_dropout", "rrelu", "rrelu_", "rrelu_with_noise", "rrelu_with_noise_", "rrelu_with_noise_functional",
    "randint_like", "gumbel_softmax",
}  # fmt: skip
"""Functions of torch that draw and are not followed: with those of RANDOM all that take a generator."""


def uniform_source(tracer: Tracer, dtype: torch.dtype, shape: tuple[int, ...]) -> Lattice:
    """Return torch's uniform on the CPU.

    In float64 and float32 it is k / 2^bits. In float16 and bfloat16 it is the float32 uniform rounded to the dtype, and
    what rounds up to 1 becomes 0: 0 comes with probability 2^-9 + 2^-24 in bfloat16. Points are then those of float32,
    with the ones that wrap around put first, which keeps the values in order.
    """
    one = (1,) if shape else ()
    if dtype in BITS:
        step = 2.0 ** -BITS[dtype]
        return Lattice(tracer, BITS[dtype], lambda k: torch.tensor(k * step, dtype=dtype).reshape(one), f"{dtype}{one}")
    if dtype not in WRAPPING:
        tracer.give_up(f"a uniform of {dtype} at {place()}")
    wrapped = WRAPPING[dtype]

    def value(k):
        return torch.tensor(max(k - wrapped, 0) * 2.0**-24, dtype=torch.float32).to(dtype).reshape(one)

    return Lattice(tracer, 24, value, f"{dtype}{one}")


def _half_types() -> dict[torch.dtype, int]:
    """Return how many of the 2^24 points wrap around to 0 in float16 and in bfloat16.

    A dtype in which this torch does not do so is left out.
    """
    wrapping = {}
    for dtype, digits in ((torch.float16, 11), (torch.bfloat16, 8)):
        single = torch.rand(20_000, generator=scratch()).to(dtype)
        single[single == 1] = 0
        if bool((torch.rand(20_000, dtype=dtype, generator=scratch()) == single).all()):
            wrapping[dtype] = 2 ** (24 - digits - 1)
    return wrapping


FOLLOWED = (*TRACED, NoiseTensor, UndecidedTensor)
"""Classes of what is followed."""


class _Named(NamedTuple):
    """What is known of a function of torch by its name. bare: without underscores.

    of_chance: whether it draws. foreign: whether it comes from elsewhere, and may do anything between the points at
    which it is looked at.
    """

    name: str
    bare: str
    dunder: bool
    in_place: bool
    of_chance: bool
    foreign: bool


@cache
def _named(func: Any) -> _Named:
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        name = func.__self__.__name__ if name == "__get__" else "set"
    bare, dunder = name.strip("_"), name.startswith("__")
    packet = name.partition(".")[0]  # an overload of torch.ops has its name behind a dot
    of_chance = packet in RANDOM or packet in UNFOLLOWED
    in_place = name.endswith("_") and not dunder
    module = getattr(func, "__module__", None) or "torch"
    foreign = not module.startswith("torch") or (module.startswith("torch._ops.") and module != "torch._ops.aten")
    return _Named(name, bare, dunder, in_place, of_chance, foreign)


class Following(TorchFunctionMode):
    """A mode that is in force while a function is traced, with the stand-in for torch's default generator."""

    def __init__(self, tracer: Tracer):
        super().__init__()
        self.tracer = tracer
        self.functions, self.undecided = Functions(tracer), Undecided(tracer)

    def __enter__(self) -> "Following":
        put_default(GLOBAL)
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        try:
            super().__exit__(*exception)
        finally:
            put_default(PLAIN_DEFAULT)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        named = _named(func)
        if named.of_chance or kwargs.get("generator") is not None or holds(args, kwargs, FOLLOWED):
            result = self._followed(func, named, args, kwargs)
        else:
            result = func(*args, **kwargs)
        arithmetic = self.tracer.exploration.arithmetic
        if arithmetic is not None and arithmetic.noting:
            arithmetic.torch_call(named.bare, args, kwargs, result)
        return result

    def _followed(self, func: Callable, named: _Named, args: tuple, kwargs: dict) -> Any:
        name, bare, dunder, in_place, *_ = named
        if holds(args, kwargs, UndecidedTensor):
            made = self.undecided.follow(func, bare, dunder, args, kwargs)
            if made is not None:
                return made
        if name in RANDOM and not holds(args[1:] if in_place else args, kwargs, TRACED):
            if kwargs.get("out") is not None:
                self.tracer.give_up(f"torch.{name} with out= at {place()}")
            return RANDOM[name](self, func, *args, **kwargs)
        draws = named.of_chance or kwargs.get("generator") is not None  # an engine's own operators take one, too
        if draws and name not in RANDOM and not (name == "dropout" and not kwargs.get("training", True)):
            self.tracer.give_up(f"torch's {name} at {place()} is not followed")
        noise = holds(args, kwargs, NoiseTensor)
        if not noise and not holds(args, kwargs, TRACED):
            return func(*args, **kwargs)
        if named.foreign:
            self.tracer.give_up(f"{name} of random numbers at {place()} is not torch's own and not followed")
        if noise:
            return follow_noise(func, bare, args, kwargs, in_place)
        if kwargs.get("out") is not None:
            self.tracer.give_up(f"torch's {name} of random numbers with out= at {place()}")
        if name == "__setitem__":
            func = _with_entries_set
        elif not in_place:
            return self.functions.follow(func, bare, args, kwargs, dunder)
        elif callable(other := getattr(torch.Tensor, bare, None)):
            func = other
        outcome = self.functions.follow(func, bare, args, kwargs)
        if outcome.dtype != args[0].dtype:
            outcome = self.functions.follow(torch.Tensor.to, "to", (outcome, args[0].dtype), {})
        return become(args[0], np.broadcast_to(numbers_of(outcome), tuple(args[0].shape)).copy())

    def is_chance(self, generator: Any, tensor: torch.Tensor | None = None) -> bool:
        """Return whether a generator is one of chance: one that was seeded during this call is not."""
        if tensor is not None and tensor.device.type != "cpu":
            self.tracer.give_up(f"random numbers on {tensor.device} at {place()}")
        state = generator if generator is not None else GLOBAL
        return not isinstance(state, Followed) or state._tracer() is not None

    def _fill(self, shape: tuple[int, ...], make: Callable[[], Any]) -> np.ndarray:
        numbers = np.empty(shape, dtype=object)
        for where in np.ndindex(*shape):
            numbers[where] = make()
        return numbers

    def _uniforms(self, shape: tuple[int, ...], dtype: torch.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        if (low, high) != (0.0, 1.0) and dtype not in BITS:
            self.tracer.give_up(f"a uniform of {dtype} between {low} and {high} at {place()}")

        def make():
            number = handed_out(uniform_source(self.tracer, dtype, shape))
            return number if (low, high) == (0.0, 1.0) else _after(number, lambda v: v * (high - low) + low, low, high)

        return self._fill(shape, make)

    def _row_of_uniforms(self, like: Tensor) -> Tensor:
        shape, dtype, tracer = tuple(like.shape), like.dtype, self.tracer
        if tracer.plain_call is None or dtype not in BITS:
            return tensor_of(self._uniforms(shape, dtype), dtype)
        step = 2.0 ** -BITS[dtype]
        plain = [tracer.plain_number(lambda k: k * step) for _ in range(math.prod(shape))]
        return torch.tensor(plain, dtype=dtype).reshape(shape)

    def rand(self, func: Callable, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
        like = torch.empty(*args, **kwargs)
        if not self.is_chance(generator, like):
            return func(*args, generator=generator, **kwargs)
        return self._row_of_uniforms(like)

    def rand_like(self, func: Callable, input: Tensor, *, generator: Any = None, **kwargs: Any) -> Tensor:
        like = torch.empty_like(input, **kwargs) if kwargs else input
        if not self.is_chance(generator, like):
            return func(input, **kwargs)
        return self._row_of_uniforms(like)

    def uniform_(self, func: Callable, tensor: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None,
                 **kwargs: Any) -> Tensor:  # fmt: skip
        low, high = kwargs.pop("from", a), kwargs.pop("to", b)
        if not self.is_chance(generator, tensor):
            return func(tensor, low, high, generator=generator)
        return become(tensor, self._uniforms(tuple(tensor.shape), tensor.dtype, low, high))

    def exponential_(self, func: Callable, tensor: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
        if not self.is_chance(generator, tensor):
            return func(tensor, lambd, generator=generator)
        dtype, shape = tensor.dtype, tuple(tensor.shape)
        one, epsilon = (1,) if shape else (), torch.finfo(dtype).eps
        if lambd == 1.0 and can_be_filled(tensor):
            noise = self.tracer.noise(shape, "exponential", str(dtype).removeprefix("torch."))
            if noise is not None:
                return filled(tensor, noise) if isinstance(noise, NoiseRow) else tensor.copy_(torch.from_numpy(noise))

        def make():
            value = lambda e: torch.tensor(e, dtype=dtype).reshape(one)  # noqa: E731
            number = handed_out(Exponential(self.tracer, value, f"{dtype}{one}", epsilon))
            return number if lambd == 1.0 else _after(number, lambda v: v / lambd, lambd)

        return become(tensor, self._fill(shape, make))

    def bernoulli(self, func: Callable, input: Tensor, p: float | None = None, *, generator: Any = None,
                  out: None = None) -> Tensor:  # fmt: skip
        given = () if p is None else (p,)
        if not self.is_chance(generator, input):
            return func(input, *given, generator=generator)
        func(input, *given, generator=scratch())  # raises what torch raises
        return self._coins(input if p is None else torch.full_like(input, p), input)

    def bernoulli_(self, func: Callable, tensor: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
        if isinstance(tensor, TracedTensor):
            self.tracer.give_up(f"bernoulli_ into a random tensor at {place()}")
        if not self.is_chance(generator, tensor):
            return func(tensor, p, generator=generator)
        row = p if isinstance(p, torch.Tensor) else torch.full(tensor.shape, float(p), dtype=torch.float64)
        return tensor.copy_(self._coins(torch.broadcast_to(row, tensor.shape), tensor))

    def _coins(self, probabilities: Tensor, like: Tensor) -> Tensor:
        exact = map(rational, probabilities.double().flatten().tolist())
        drawn = [1 - self.tracer.choose([q, 1 - q]) for q in exact]
        return torch.tensor(drawn, dtype=like.dtype).reshape(like.shape)

    def multinomial(self, func: Callable, input: Tensor, num_samples: int, replacement: bool = False, *,
                    generator: Any = None, out: None = None) -> Tensor:  # fmt: skip
        if not self.is_chance(generator, input):
            return func(input, num_samples, replacement, generator=generator)
        rows = input.detach().double().numpy()
        if num_samples != 1 or not input.is_floating_point() or not _can_be_drawn_from(rows):
            func(input, num_samples, replacement, generator=scratch())  # raises what torch raises
        look_up, drawn = None, []
        if replacement and num_samples > 1:
            kind = np.float64 if input.dtype == torch.float64 else np.float32
            rows, look_up = _looked_up(rows, kind), (53, kind.__name__)
        for weights in rows.reshape(-1, rows.shape[-1]):
            for left in range(num_samples)[::-1]:
                if num_samples > 1 and not weights.any():
                    self.tracer.give_up(f"torch.multinomial from weights of zero at {place()}")
                drawn.append(self.tracer.draw_row(weights, look_up))
                if left and not replacement:
                    weights = np.where(np.arange(len(weights)) == drawn[-1], 0.0, weights)  # a tracer keeps the others
        return torch.tensor(drawn).reshape((*rows.shape[:-1], num_samples))

    def randint(self, func: Callable, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
        if not self.is_chance(generator):
            return func(*args, generator=generator, **kwargs)
        sample = func(*args, generator=scratch(), **kwargs)
        bounds = [x for x in args if isinstance(x, int)]
        low, high = bounds if len(bounds) == 2 else (kwargs.get("low", 0), kwargs.get("high", *bounds[:1]))
        drawn = [low + self.tracer.pick(high - low) for _ in range(sample.numel())]
        return torch.tensor(drawn, dtype=sample.dtype).reshape(sample.shape)


class Replaying(Following):
    """A mode that is in force in a replay: all numbers are plain, and only functions that draw are looked at."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if (named := _named(func)).of_chance:
            return self._followed(func, named, args, kwargs or {})
        return func(*args, **kwargs) if kwargs else func(*args)


def mode_of(tracer: Tracer) -> Following:
    """Return the mode of a call: where dtypes are noted, and on the path itself, all functions are looked at."""
    plain = tracer.plain_call is not None and tracer.exploration.arithmetic is None
    return (Replaying if plain else Following)(tracer)


RANDOM = {
    name: getattr(Following, name)
    for name in ("rand", "rand_like", "uniform_", "exponential_", "bernoulli", "bernoulli_",
                 "multinomial", "randint")
}  # fmt: skip


def _looked_up(rows: np.ndarray, kind: Any) -> np.ndarray:
    """Return the weights with which torch draws several with replacement.

    It looks up a uniform in sums in order, in the dtype of the rows. They are divided by the last sum if that is off 1
    by more than 1e-5.
    """
    sums = np.cumsum(rows.astype(kind), -1, dtype=kind)
    total = sums[..., -1:]
    with np.errstate(all="ignore"):
        sums = np.where(np.abs(total - 1) > 1e-5, sums / total, sums).clip(max=1)
    up_to = np.cumsum(rows > 0, -1)
    sums[up_to == up_to[..., -1:]] = 1  # from the last that can be drawn on
    return np.diff(sums.astype(np.float64), prepend=0.0)


def _can_be_drawn_from(rows: np.ndarray) -> bool:
    """Return whether torch draws from each of the rows. A draw itself takes far longer on wide rows."""
    if rows.ndim not in (1, 2) or not rows.size or rows.shape[-1] > MOST_CATEGORIES:
        return False
    if rows.size == rows.shape[-1]:  # reductions alone, and few: they are asked for in every call
        return bool(np.minimum.reduce(rows, None) >= 0 and 0 < np.add.reduce(rows, None) < math.inf)
    totals = np.add.reduce(rows, -1)
    return bool(np.minimum.reduce(rows, None) >= 0 and np.minimum.reduce(totals, None) > 0 and totals.max() < math.inf)


MOST_CATEGORIES = 2**24
"""Entries of a row beyond which torch does not draw from it."""


def _with_entries_set(tensor: Tensor, where: Any, value: Any) -> Tensor:
    """Return a copy of the tensor with the value at these places."""
    tensor = tensor.clone()
    tensor[where] = value
    return tensor


def _after(number, apply, *key):
    return number.then(apply, "after", *key) if isinstance(number, Traced) else apply(number)


def with_number(name: str, tensor: Tensor, number: Traced) -> Tensor:
    """Return tensor.__name__(number) for a Python number that is followed."""
    if not hasattr(torch.Tensor, f"__{name}__"):
        number.source.tracer.give_up(f"a tensor and a random number in '{name}' at {place()}")
    func = getattr(torch.Tensor, f"__{name}__")
    return Functions(number.source.tracer).follow(func, name, (tensor, number), {})


WRAPPING = _half_types()


def install() -> None:
    """Replace torch's generators. The mode follows what they draw."""
    register(tensor=with_number)
    torch_generators.install()
