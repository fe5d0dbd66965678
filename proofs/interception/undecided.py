"""Comparisons of a tensor of random numbers, each decided only once something depends on it.

Code that compares all coins of a block at once and looks for the first that was lost has gamma + 1 ways to go on, and
2^gamma ways for its coins to fall. So such a comparison returns a tensor without values. What torch's functions make of
it is a function of its answers. Where a value is asked for, answers are decided one by one until the value is the same
whatever the others are.

Guarantee: that it is the same is known. Either every way that the others can fall was looked at, or all functions on
the way rise in each answer, or fall in each, and the value is the same for the two extreme ways.
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .arithmetic import COMPARE
from .numbers import Traced
from .places import place, plain_key
from .tensors import flatten, key_of
from .torch_calls import SMALL
from .tracer import Tracer

MOST_DECISIONS = 256
"""Answers that one tensor may wait for; where there are more, each is decided where it is asked for."""

MOST_LOOKED_AT = 8
"""Undecided answers of which every combination is looked at, if a function neither rises nor falls in all of them."""

LARGEST = 4096
"""Entries of a tensor that may meet undecided ones before they are decided."""

DESCRIBING = {
    "shape", "size", "dim", "ndim", "dtype", "device", "numel", "nelement", "layout", "len", "is_floating_point",
    "is_cuda", "requires_grad", "stride", "is_contiguous", "element_size", "itemsize", "names", "is_sparse",
}  # fmt: skip
"""Functions of torch that need no values."""

RISING = {
    "all", "any", "sum", "cumsum", "amax", "amin", "prod", "cumprod", "to", "bool", "int", "long", "float", "double",
    "half", "type", "clone", "contiguous", "detach", "reshape", "view", "flatten", "squeeze", "unsqueeze", "flip",
    "expand", "select", "narrow", "cat", "concat", "stack", "transpose", "permute", "unbind", "split", "chunk", "iter",
}  # fmt: skip
"""Functions of one tensor, or a list of them, that rise in each entry that is not negative."""

OF_BOTH = {"logical_and", "logical_or", "bitwise_and", "bitwise_or", "and", "or"}
"""Functions that rise in each entry of two tensors of booleans."""

FALLING = {"logical_not", "bitwise_not", "invert"}
"""Functions that fall in each entry that is not negative."""


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


@dataclass
class Form:
    """How the values of a tensor follow from answers.

    decisions: those that it depends on. make: makes the tensor of an answer to each, in their order.
    direction: 1 if every entry rises in each answer, -1 if it falls, 0 if that is not known.
    key: equal for forms with the same values; None if there is no short one.
    made: the tensors that were made, by their answers. Nothing may change them.
    """

    decisions: tuple[OpenAnswer, ...]
    make: Callable[[Sequence[bool]], Tensor]
    direction: int
    key: tuple | None
    made: dict[tuple[bool, ...], Tensor] = field(default_factory=dict)

    def value(self, answers: Sequence[bool]) -> Tensor:
        """Return the tensor of these answers."""
        asked = (*answers,)
        if asked not in self.made:
            self.made[asked] = self.make(asked)
        return self.made[asked]


class UndecidedTensor(torch.Tensor):
    """A tensor whose values wait for answers. Its own storage has none of them.

    _form: what they follow from. _sharing: the tensors that stand for the same memory, this one among them.
    """

    _form: Form
    _sharing: weakref.WeakSet
    __torch_function__: Any = torch._C._disabled_torch_function_impl


def undecided(answers: Sequence[bool | OpenAnswer], shape: tuple[int, ...]) -> Tensor:
    """Return the tensor of these answers, some of which may be open."""
    asked = {k: answer for k, answer in enumerate(answers) if isinstance(answer, OpenAnswer)}
    if not 1 < len(asked) <= MOST_DECISIONS:
        for answer in asked.values():
            answer.decide()
        return torch.tensor([a.answer if isinstance(a, OpenAnswer) else a for a in answers]).reshape(shape)
    known = torch.tensor([answer is True for answer in answers])
    at = torch.tensor([*asked])

    def value(given: Sequence[bool]) -> Tensor:
        values = known.clone()
        values[at] = torch.tensor([*given])
        return values.reshape(shape)

    key = "answers", shape, (*known.tolist(),), (*asked,)
    return _dressed(Form(tuple(asked.values()), value, 1, key), value([False] * len(asked)))


def _dressed(form: Form, like: Tensor, origin: UndecidedTensor | None = None) -> UndecidedTensor:
    kind: Any = like.dtype
    nothing = False if kind == torch.bool else torch.nan if kind.is_floating_point else torch.iinfo(kind).min
    tensor: Any = torch.full(tuple(like.shape), nothing, dtype=kind)
    tensor.__class__ = UndecidedTensor
    tensor._form, tensor._sharing = form, weakref.WeakSet() if origin is None else origin._sharing
    tensor._sharing.add(tensor)
    return tensor


class Undecided:
    """The functions of torch on tensors that wait for answers, for one tracer."""

    def __init__(self, tracer: Tracer):
        self.tracer = tracer
        self.told, self.made = tracer.exploration.told, tracer.exploration.made

    def follow(self, func: Callable, named: Any, args: tuple, kwargs: dict) -> tuple[Any, tuple[tuple, dict] | None]:
        """Return what func returns where some arguments wait for answers, and None; or else the arguments, decided.

        named: what is known of the function by its name.
        """
        name, in_place = named.bare, named.in_place or (named.dunder and _changes_its_first(named.bare))
        strict = named.of_chance or named.foreign or kwargs.get("out") is not None
        slots, build = flatten((args, kwargs))
        waiting = [x for x in slots if isinstance(x, UndecidedTensor)]
        if name in DESCRIBING:
            plain, named = build([_plain(x) if isinstance(x, UndecidedTensor) else x for x in slots])
            return func(*plain, **named), None
        if not (in_place or strict) and (made := self._made(func, name, args, kwargs, slots, build)) is not None:
            return made, None
        if in_place and isinstance(args[0], UndecidedTensor) and not _alone(args[0]):
            self.tracer.give_up(f"a tensor of comparisons is changed in place at {place()} while a view of it is held")
        values = {id(x): self.settled(x) for x in waiting}
        return None, build([values.get(id(x), x) for x in slots])

    def settled(self, tensor: UndecidedTensor) -> Tensor:
        """Return the values of the tensor, deciding what they depend on."""
        form = tensor._form
        while (k := self._next(form)) is not None:
            form.decisions[k].decide()
        value = form.value([bool(d.answer) for d in form.decisions])
        if not _alone(tensor):
            return value.clone()
        plain: Any = tensor
        plain.__class__ = torch.Tensor
        return plain.copy_(value)

    def _next(self, form: Form) -> int | None:
        """Return the decision that has to be made next; None if the values depend on none of those that are open."""
        answers = tuple(d.answer for d in form.decisions)
        if None not in answers:
            return None
        asked = None if form.key is None else (form.key, answers)
        if asked is None or asked not in self.told:
            found = _telling(form, answers)
            if asked is None:
                return found
            self.told[asked] = found
        return self.told[asked]

    def _made(self, func: Callable, name: str, args: tuple, kwargs: dict, slots: list[Any], build: Callable) -> Any:
        """Return the tensors that a function makes, as functions of the answers; None if it makes something else."""
        parts = [x._form for x in slots if isinstance(x, UndecidedTensor)]
        others = [x.clone() if type(x) is torch.Tensor else x for x in slots if not isinstance(x, UndecidedTensor)]
        decisions = tuple(dict.fromkeys(d for part in parts for d in part.decisions))
        if not all(map(_can_meet, slots)) or len(decisions) > MOST_DECISIONS:
            return None
        order = {d: k for k, d in enumerate(decisions)}
        places = [[order[d] for d in part.decisions] for part in parts]
        which = [isinstance(x, UndecidedTensor) for x in slots]

        def called(given: Sequence[bool]) -> tuple[list[Tensor], Any]:
            values = [part.value([given[k] for k in at]) for part, at in zip(parts, places, strict=True)]
            waiting, rest = iter(values), iter(others)
            args, kwargs = build([next(waiting if one else rest) for one in which])
            result = func(*args, **kwargs)
            return values, tuple(result) if hasattr(result, "__next__") else result

        answers = tuple(d.answer for d in decisions)
        key = _key(func, name, build(["?"] * len(slots)), others, [(p.key, *at) for p, at in zip(parts, places)])
        made = self.made.get((key, answers)) if key else None
        if made is None:
            direction = _direction(name, args, kwargs, parts)
            if direction or answers.count(None) <= MOST_LOOKED_AT:
                made = _tried(called, _ends(answers) if direction else _every(answers), direction)
            if key:
                self.made[key, answers] = made or ()
        if not made:
            return None
        waiting, tensors = [x for x in slots if isinstance(x, UndecidedTensor)], []
        for k, (like, looks_into) in enumerate(made.parts):
            form = Form(decisions, lambda given, k=k: _tensors(called(given)[1])[k], made.direction, key and (*key, k))
            form.made = made.values[k]
            tensors.append(_dressed(form, like, None if looks_into is None else waiting[looks_into]))
        if made.container is None:
            return tensors[0]
        return iter(tensors) if name == "iter" else made.container(tensors)


class MadeTensors(NamedTuple):
    """What a function was seen to make of tensors that wait for answers.

    parts: its tensors, each with the argument whose memory it shows. direction: as of ``Form``. values: of each tensor,
    by the answers. container: of several tensors.
    """

    parts: list[tuple[Tensor, int | None]]
    direction: int
    values: list[dict[tuple[bool, ...], Tensor]]
    container: Callable[[list[Tensor]], Any] | None


def _tried(called: Callable, ways: list[list[bool]], direction: int) -> MadeTensors | None:
    """Return what a function makes of tensors; None if that is none, or of another form, in one of these ways."""
    try:
        values, returned = called(ways[0])
        first, others = _tensors(returned), [_tensors(called(way)[1]) for way in ways[1:]]
    except (RuntimeError, IndexError, TypeError, ValueError):  # the path that has the error raises it
        return None
    if not first or any([*map(_kind, other)] != [*map(_kind, first)] for other in others):
        return None
    if direction and any(x.dtype in (torch.int8, torch.uint8) for x in first):
        return None  # sums may not fit
    shown = [next((k for k, v in enumerate(values) if _memory(v) == _memory(x)), None) for x in first]
    container = None if isinstance(returned, torch.Tensor) else type(returned)
    return MadeTensors([*zip(first, shown, strict=True)], direction, [{} for _ in first], container)


def _telling(form: Form, answers: tuple[bool | None, ...]) -> int | None:
    """Return a decision that changes the values; None if they are the same whatever the others are."""
    open_ones = [k for k, answer in enumerate(answers) if answer is None]
    ends = _ends(answers)
    values = [*map(form.value, ends)]
    turned = lambda end, k: form.value([*end[:k], not end[k], *end[k + 1 :]])  # noqa: E731
    telling = None
    for k in open_ones:
        changes = [not _same(turned(end, k), value) for end, value in zip(ends, values, strict=True)]
        if all(changes):  # so does the first coin that counts
            return k
        telling = k if telling is None and any(changes) else telling
    if telling is not None:
        return telling
    others = values if form.direction else map(form.value, _every(answers))
    return None if all(_same(value, values[0]) for value in others) else open_ones[0]


def _ends(answers: Sequence[bool | None]) -> list[list[bool]]:
    """Return the two extreme ways in which the open answers can fall."""
    return [[end if a is None else a for a in answers] for end in (False, True)]


def _every(answers: Sequence[bool | None]) -> list[list[bool]]:
    """Return all ways in which the open answers can fall."""
    ways = product((False, True), repeat=sum(a is None for a in answers))
    return [[next(way) if a is None else a for a in answers] for way in map(iter, ways)]


def _direction(name: str, args: tuple, kwargs: dict, parts: Sequence[Form]) -> int:
    """Return 1 if each entry that a function returns rises in each answer, -1 if it falls, 0 if that is not known."""
    directions = {part.direction for part in parts}
    if len(directions) > 1 or not all(end.min() >= 0 and end.max() <= 127 for p in parts for end in _extremes(p)):
        return 0
    (direction,) = directions
    waiting = [_waits(x) for x in args]
    alone = waiting[:1] == [True] and not any(waiting[1:]) and not any(map(_waits, kwargs.values()))
    if alone and name in FALLING:
        return -direction
    if alone and name in COMPARE and COMPARE[name] not in ("eq", "ne"):
        return direction if COMPARE[name] in ("gt", "ge") else -direction
    if alone and (name in RISING or name == "getitem"):
        return direction
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    both = name in OF_BOTH and len(tensors) == 2 and all(x.dtype == torch.bool for x in tensors)
    return direction if both and not kwargs else 0


def _changes_its_first(name: str) -> bool:
    """Check whether an operator of this name changes what stands before it."""
    return name in ("setitem", "set") or (name[0] == "i" and hasattr(torch.Tensor, f"__{name[1:]}__"))


def _waits(x: Any) -> bool:
    return isinstance(x, UndecidedTensor) or (isinstance(x, (tuple, list)) and any(map(_waits, x)))


def _extremes(form: Form) -> list[Tensor]:
    return [form.value(end) for end in _ends([d.answer for d in form.decisions])]


def _can_meet(x: Any) -> bool:
    """Check whether what a tensor meets leaves it one of few entries, and is no row of probabilities."""
    if isinstance(x, UndecidedTensor):
        return x.numel() <= LARGEST
    return type(x) is torch.Tensor and not x.is_floating_point() and x.numel() <= LARGEST


def _key(func: Callable, name: str, arguments: Any, others: list[Tensor], parts: list[tuple]) -> tuple | None:
    """Return what is equal for functions of answers that have the same values; None if there is no short one."""
    if any(part[0] is None for part in parts) or any(x.numel() > SMALL for x in others):
        return None
    return (func, name, plain_key(arguments), *((tuple(x.shape), *key_of(x)) for x in others), *parts)


def _tensors(result: Any) -> list[Tensor]:
    parts = [result] if isinstance(result, torch.Tensor) else result
    return [*parts] if isinstance(parts, (tuple, list)) and all(isinstance(x, torch.Tensor) for x in parts) else []


def _kind(tensor: Tensor) -> tuple:
    return tensor.dtype, tuple(tensor.shape)


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)


def _alone(tensor: UndecidedTensor) -> bool:
    """Check whether the tensor shares its memory with no other that is in use."""
    return len(tensor._sharing) == 1


def _plain(tensor: Tensor) -> Tensor:
    return torch.Tensor.as_subclass(tensor, torch.Tensor)
