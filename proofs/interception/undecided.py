"""Comparisons of a tensor of random numbers, each decided only once something depends on it.

Code that compares all coins of a long block at once and looks for the first that was lost has gamma + 1 ways to go on,
and 2^gamma ways for its coins to fall. So such a comparison returns a tensor without values. What a few functions make
of it (``FUNCTIONS``) is a function of its answers. Whatever else is done to it asks for values: then answers are
decided one by one until the values are the same however the others fall.

Guarantee: that they are the same is known. Either all functions on the way rise in each answer, or fall in each, and
the values are the same for the two extreme ways; or every way that the others can fall was looked at.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .arithmetic import COMPARE
from .numbers import Traced
from .tensors import flatten
from .tracer import Tracer

FEWEST, MOST = 5, 256
"""Open answers of a comparison that is put off. Where there are fewer, all ways are few."""

MOST_LOOKED_AT = 8
"""Open answers of which every way is looked at, if a function neither rises nor falls in all of them."""

MOST_FUNCTIONS = 20
"""Functions in turn after which the answers are decided."""

LARGEST = 127
"""Largest entry that a function is given: so sums and products are exact in every dtype of ``DTYPES``."""

DTYPES = {torch.bool, torch.int32, torch.int64, torch.float32, torch.float64}
CASTS = {"bool", "int", "long", "float", "double", "to"}

DESCRIBING = {"shape", "size", "dim", "ndim", "dtype", "device", "numel", "len"}
"""Functions of torch that need no values. Those of ``FUNCTIONS`` make the same shape of all values."""

FUNCTIONS = {
    **dict.fromkeys(("all", "any", "sum", "cumsum", "cumprod", "sub", *CASTS), 1),
    **dict.fromkeys(("logical_not", "bitwise_not", "invert", "rsub"), -1),
    **{name: {"gt": 1, "ge": 1, "lt": -1, "le": -1}.get(kind, 0) for name, kind in COMPARE.items()},
}
"""Functions of one tensor of entries from 0 to LARGEST, and of numbers -> 1 if they rise in each entry, -1 if they
fall, 0 if they do neither."""


class OpenAnswer:
    """One comparison of a random number. answer: None until it is decided. at: where it was asked for."""

    __slots__ = ("answer", "at", "key", "number", "predicate")

    def __init__(self, number: Traced, predicate: Callable[[Any], bool], key: tuple, at: tuple):
        self.number, self.predicate, self.key, self.at = number, predicate, key, at
        self.answer: bool | None = None

    def decide(self) -> None:
        """Choose the answer that this path has."""
        tracer = self.number.source.tracer
        tracer.asked_at = self.at
        try:
            self.answer = self.number.decide(self.predicate, *self.key)
        finally:
            tracer.asked_at = None


class Form(NamedTuple):
    """How the values of a tensor follow from answers.

    answers: those that it depends on. value: makes the tensor of an answer to each, in their order.
    direction: 1 if every entry rises in each answer, -1 if it falls, 0 if that is not known.
    key: equal for forms that have the same values. functions: how many functions made it.
    """

    answers: tuple[OpenAnswer, ...]
    value: Callable[[Sequence[bool]], Tensor]
    direction: int
    key: tuple
    functions: int = 0

    def known(self) -> tuple[bool | None, ...]:
        """Return the answers so far."""
        return tuple(one.answer for one in self.answers)


class UndecidedTensor(torch.Tensor):
    """A tensor whose values wait for answers. Its own storage has none of them, and is its own alone."""

    _form: Form
    __torch_function__: Any = torch._C._disabled_torch_function_impl


def undecided(answers: Sequence[bool | OpenAnswer], shape: tuple[int, ...]) -> Tensor:
    """Return the tensor of these answers, some of which may be open."""
    asked = {k: answer for k, answer in enumerate(answers) if isinstance(answer, OpenAnswer)}
    exploration = next((one.number.source.tracer.exploration for one in asked.values()), None)
    if exploration is None or not (exploration.late and FEWEST <= len(asked) <= MOST):
        for answer in asked.values():
            answer.decide()
        return torch.tensor([a.answer if isinstance(a, OpenAnswer) else a for a in answers]).reshape(shape)
    exploration.put_off = max(exploration.put_off, len(asked))
    known, at = torch.tensor([answer is True for answer in answers]), torch.tensor([*asked])

    def value(given: Sequence[bool]) -> Tensor:
        values = known.clone()
        values[at] = torch.tensor([*given])
        return values.reshape(shape)

    key = shape, (*known.tolist(),), (*asked,)
    return _dressed(Form(tuple(asked.values()), value, 1, key), known.reshape(shape))


def _dressed(form: Form, like: Tensor) -> Tensor:
    """Return a tensor of that form. like: a tensor of its shape and dtype."""
    kind: Any = like.dtype
    nothing = False if kind == torch.bool else torch.nan if kind.is_floating_point else torch.iinfo(kind).min
    tensor: Any = torch.full(tuple(like.shape), nothing, dtype=kind)
    tensor.__class__ = UndecidedTensor
    tensor._form = form
    return tensor


class Undecided:
    """The functions of torch on tensors that wait for answers, for one tracer."""

    def __init__(self, tracer: Tracer):
        self.deciding = tracer.exploration.deciding

    def follow(self, func: Callable, name: str, dunder: bool, args: tuple, kwargs: dict) -> Tensor | None:
        """Return what func makes of a tensor that waits for answers.

        None: it needs values, and all such tensors in its arguments have them now. name: without underscores.
        """
        if name in DESCRIBING and len(args) == 1 and not kwargs:
            return func(torch.Tensor.as_subclass(args[0], torch.Tensor))
        followed = name in FUNCTIONS and not (dunder and name in CASTS)
        if followed and (made := _made(func, name, args, kwargs)) is not None:
            return made
        for tensor in {id(x): x for x in flatten((args, kwargs))[0] if isinstance(x, UndecidedTensor)}.values():
            self._settle(tensor)
        return None

    def _settle(self, tensor: UndecidedTensor) -> None:
        """Give the tensor its values, deciding what they depend on."""
        form = tensor._form
        while None in (known := form.known()):
            if (form.key, known) not in self.deciding:
                self.deciding[form.key, known] = _telling(form, known)
            if (k := self.deciding[form.key, known]) is None:
                break
            form.answers[k].decide()
        del tensor._form
        plain: Any = tensor
        plain.__class__ = torch.Tensor
        plain.copy_(form.value([bool(answer) for answer in known]))


def _made(func: Callable, name: str, args: tuple, kwargs: dict) -> Tensor | None:
    """Return a tensor that a function makes, as a function of the answers; None if it is not known to be one."""
    tensor, *numbers = args
    given = (*numbers, *kwargs.values())
    if not isinstance(tensor, UndecidedTensor) or not tensor.numel() or not all(map(_is_number, given)):
        return None
    if (kwargs and name in ("sub", "rsub")) or (torch.bool in given and name not in CASTS):
        return None  # a factor may be negative, a sum may not fit
    form = tensor._form
    known, ends = form.known(), [form.value(way) for way in _ends(form.known())]
    direction = form.direction * FUNCTIONS[name]
    exact = all(end.min() >= 0 and end.max() <= (1 if name == "cumprod" else LARGEST) for end in ends)
    if not exact or form.functions >= MOST_FUNCTIONS or not (direction or known.count(None) <= MOST_LOOKED_AT):
        return None
    like = func(ends[0], *numbers, **kwargs)
    if not isinstance(like, torch.Tensor) or like.dtype not in DTYPES:
        return None
    if like is ends[0]:  # a cast to the type that it has
        return tensor
    value = lambda answers: func(form.value(answers), *numbers, **kwargs)  # noqa: E731
    key = form.key, func, name, *((type(x), x) for x in numbers), *((k, type(x), x) for k, x in kwargs.items())
    return _dressed(Form(form.answers, value, direction, key, form.functions + 1), like)


def _is_number(x: Any) -> bool:
    return x is None or type(x) in (int, bool, torch.dtype) or (type(x) is float and x == x)


def _telling(form: Form, known: tuple[bool | None, ...]) -> int | None:
    """Return an answer that changes the values; None if they are the same whatever the open ones are."""
    open_ones = [k for k, answer in enumerate(known) if answer is None]
    ends = _ends(known)
    values = [*map(form.value, ends)]
    telling = None
    for k in open_ones:
        turned = (form.value([*end[:k], not end[k], *end[k + 1 :]]) for end in ends)
        changes = [not torch.equal(one, value) for one, value in zip(turned, values, strict=True)]
        if all(changes):  # so does the first coin that counts
            return k
        telling = k if telling is None and any(changes) else telling
    if telling is not None:
        return telling
    others = values if form.direction else map(form.value, _every(known))
    return None if all(torch.equal(value, values[0]) for value in others) else open_ones[0]


def _ends(known: Sequence[bool | None]) -> list[list[bool]]:
    """Return the two extreme ways in which the open answers can fall."""
    return [[end if answer is None else answer for answer in known] for end in (False, True)]


def _every(known: Sequence[bool | None]) -> list[list[bool]]:
    """Return all ways in which the open answers can fall."""
    ways = product((False, True), repeat=known.count(None))
    return [[next(way) if answer is None else answer for answer in known] for way in map(iter, ways)]
