"""A random number that remembers what was done to it.

It carries its source and the chain of operations since: 1 - u, u * q, log u, a cast, a floor. A comparison is decided
by bisecting that chain over the points of its source, which gives the exact probability of either side. Nothing need be
known about the operations except that the chain is monotone.
"""

import math
import operator
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .monotone import applied
from .places import constant_key, place, scattered, site
from .sources import RandomSource, switch
from .tracer import Tracer, active


class Step(NamedTuple):
    """One operation on the number. key: equal for operations that do the same; it identifies cached thresholds."""

    apply: Callable[[Any], Any]
    key: tuple


SINGLE = {float, np.float64, np.float32}
"""Types of plain numbers, none of which can be a tensor."""

HANDLERS: dict[str, Callable] = {}
"""Handlers for a random number that meets an "array", a "ufunc" or a "tensor"."""


def register(**handlers: Callable) -> None:
    """Set handlers. They are set when the interception is installed, since their modules build on this one."""
    HANDLERS.update(handlers)


class Traced:
    """A random number of a traced function. It is no float: C code that would lose track of it fails loudly."""

    __array_priority__ = 1000
    __slots__ = ("source", "steps")

    def __init__(self, source: RandomSource, steps: tuple[Step, ...] = ()):
        self.source, self.steps = source, steps

    def at(self, point: int) -> Any:
        """Return the concrete number at a point of the source."""
        return self.made_of(self.source.value(point))

    def made_of(self, value: Any) -> Any:
        """Apply its steps to a number of the source, or to many."""
        for step in self.steps:
            value = step.apply(value)
        return value

    def then(self, apply: Callable[[Any], Any], *key: Any) -> "Traced":
        return Traced(self.source, (*self.steps, Step(apply, key)))

    def key(self) -> tuple:
        return (self.source.kind, *(step.key for step in self.steps))

    def ends(self) -> tuple[Any, Any]:
        """Return the values at the two ends of what is still possible.

        If an end raises (1 / u or log u at u = 0) or is NaN (0 * log u), that single point is a path of its own. On it
        the third-party code sees the exception or the NaN that it would see.
        """
        return self._at_end(1), self._at_end(-1)

    def _at_end(self, step: int) -> Any:
        source, tracer = self.source, self.source.tracer
        while True:
            point = source.low if step == 1 else source.high - 1
            error, value = self._tried(point)
            if error is None and (value == value or not source.low <= point + step < source.high):
                return value
            beyond = self._tried(point + step)[1]
            if error is None and beyond is not None and beyond != beyond:
                return value  # not at the end only
            alone = source.weight(point, point + 1) / source.weight(source.low, source.high)
            what = type(error).__name__ if error else "NaN"
            tracer.notice("raises-at-end" if error else "nan", f"{what} where a uniform is {source.value(point)}")
            if tracer.branch([alone, 1 - alone]) == 0:
                source.low, source.high = point, point + 1
                if error:
                    raise error
                return value
            source.low, source.high = (point + 1, source.high) if step == 1 else (source.low, point)

    def _tried(self, point: int) -> tuple[Exception | None, Any]:
        try:
            with np.errstate(all="ignore"):
                return None, self.at(point)
        except (ArithmeticError, ValueError) as error:
            return error, None

    def decide(self, predicate: Callable[[Any], bool], *key: Any) -> bool:
        """Decide which side of a monotone predicate this path is on, and cut what the number can still be."""
        if (self.source.spent or self.source.settled) and (always := self._always(predicate)) is not None:
            return always
        first, cut, last = self._known_threshold(predicate, key)
        if first == last:
            return first
        return (first, last)[self._choose((self.source.low, cut, self.source.high))]

    def foregone(self, predicate: Callable[[Any], bool], *key: Any) -> bool | None:
        """Return what a monotone predicate comes to if this path leaves one answer alone; else None."""
        if (self.source.spent or self.source.settled) and (always := self._always(predicate)) is not None:
            return always
        first, _, last = self._known_threshold(predicate, key)
        return first if first == last else None

    def _known_threshold(self, predicate: Callable[[Any], bool], key: tuple) -> tuple[bool, int, bool]:
        source, tracer = self._undecided()
        known, asked = tracer.exploration.thresholds, (self.key(), key)
        threshold = known.get((*asked, source.low, source.high))
        if threshold is None:  # finding it may leave out an end
            threshold = self._threshold(predicate)
            known[(*asked, source.low, source.high)] = threshold
        return threshold

    def _always(self, predicate: Callable[[Any], bool]) -> bool | None:
        """Return the predicate's value if it is the same whatever the number is; else None."""
        low, high = self.source.low, self.source.high
        values = [self._tried(point)[1] for point in (low, high - 1, *scattered(low, high))]
        if any(value is None or value != value for value in values):
            return None
        first, *others = map(bool, map(predicate, values))
        return first if all(other == first for other in others) else None

    def _threshold(self, predicate: Callable[[Any], bool]) -> tuple[bool, int, bool]:
        """Return a monotone predicate at the first possible point, the point where it changes, and its value at the
        last."""
        source = self.source
        low, high = self.ends()
        if (low != low or high != high) and source.high - source.low > 1:
            source.tracer.give_up(f"NaN on the way to the comparison at {place()}")
        first, last = bool(predicate(low)), bool(predicate(high))
        with np.errstate(all="ignore"):
            true = lambda k: bool(predicate(self.at(k)))  # noqa: E731
            cut = switch(source.low, source.high, true, first) if first != last else source.high
            if any(true(k) != ((k < cut) == first) for k in scattered(source.low, source.high)):
                source.tracer.give_up(f"a random number compared at {place()} rises and falls: no threshold")
        return first, cut, last

    def _undecided(self) -> tuple[RandomSource, Tracer]:
        """Return the source and its tracer. Give up if the source's noise has decided a race."""
        source, tracer = self.source, self.source.tracer
        if source.spent:
            tracer.notice("noise-used-twice", f"noise that decided {source.spent} is used again at {place()}")
            tracer.give_up(f"the noise of a race is used twice ({source.spent}, then {place()}): no closed form")
        if source.settled is not None:
            tracer.give_up(f"noise that ran a race is compared with a number at {place()}: no closed form")
        return source, tracer

    def _choose(self, edges: tuple[int, ...]) -> int:
        """Choose which of the intervals between these points this path is in."""
        source, tracer = self.source, self.source.tracer
        source.asked += 1
        if source.asked > tracer.most_cuts:
            tracer.give_up(f"one random number is compared more than {tracer.most_cuts} times, as at {place()}", True)
        here = tracer.asked_at[0] if tracer.asked_at else site()
        if here not in source.sites:
            source.sites[here] = None
            if len(source.sites) > 1:
                where = ", then ".join("{}:{}".format(*earlier) for earlier in source.sites)
                tracer.notice(
                    "uniform-reused",
                    f"one uniform decides at two places ({where}); the distribution takes it into account",
                )
        whole = source.weight(source.low, source.high)
        shares = [source.weight(a, b) / whole for a, b in pairwise(edges)]
        chosen = tracer.branch([*shares[:-1], 1 - sum(shares[:-1])])
        source.low, source.high = edges[chosen], edges[chosen + 1]
        return chosen

    def compare(self, other: Any, name: str) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return HANDLERS["array"](UFUNCS[name], (self, other))
        if isinstance(other, Traced):
            if other is self:  # NumPy's search compares a key with itself
                return name in ("le", "ge", "eq")
            if other.source is self.source or name in ("eq", "ne"):
                self.source.tracer.give_up(f"two random numbers are compared with each other at {place()}")
            self.source.tracer.give_up(f"random scores are compared one with another at {place()}", True)
        if other != other:
            self.source.tracer.notice("nan", f"a random number is compared with NaN at {place()}")
        if name in ("eq", "ne"):
            if active() is None:
                return name == "ne"
            # Equality is not monotone; "below" and "not above" are.
            same = not self.compare(other, "lt") and self.compare(other, "le")
            return same if name == "eq" else not same
        op = getattr(operator, name)
        return self.decide(lambda value: op(value, other), name, constant_key(other))

    def whole(self, apply: Callable[[Any], int], name: str, *key: Any) -> int:
        """Return the whole number that int, floor or round makes of it: a path for each value.

        key: what else determines it.
        """
        source, tracer = self._undecided()
        first, last = map(apply, self.ends())
        if abs(last - first) > tracer.most_values:
            tracer.give_up(f"{name} of a random number with {abs(last - first)} values at {place()}", True)
        if first == last:
            return first
        cached = (self.key(), "whole", name, key, source.low, source.high)
        edges = tracer.exploration.edges.get(cached)
        if edges is None:
            edges, step = [source.low], 1 if last > first else -1
            for value in range(first + step, last + step, step):
                with np.errstate(all="ignore"):
                    beyond = lambda k, value=value: (apply(self.at(k)) - value) * step >= 0  # noqa: E731
                    if not beyond(edges[-1]):
                        edges.append(switch(edges[-1], source.high, beyond, False))
            tracer.exploration.edges[cached] = edges = (*edges, source.high)
            for k in scattered(source.low, source.high):
                if apply(self.at(k)) != apply(self.at(edges[bisect_right(edges, k) - 1])):
                    tracer.give_up(f"{name} of a random number at {place()} rises and falls")
        self._choose(edges)
        return apply(self.at(source.low))

    def _binary(self, other: Any, name: str, reflected: bool) -> Any:
        if isinstance(other, Traced):
            self.source.tracer.give_up(f"two random numbers meet in one expression at {place()}")
        if isinstance(other, np.ndarray) and other.ndim:
            return HANDLERS["array"](UFUNCS[name], (other, self) if reflected else (self, other))
        op = getattr(operator, name)
        apply = (lambda value: op(other, value)) if reflected else (lambda value: op(value, other))
        key = name, reflected, constant_key(other)
        return self.then(apply, *key) if name in RISING else applied(self, apply, f"'{name}'", *key)

    def unary(self, function: Callable[[Any], Any], name: str, *key: Any) -> "Traced":
        """Apply a function of one argument, which has to be monotone. key: what else determines it."""
        return applied(self, function, name, name, *key)

    def __neg__(self):
        return self.then(operator.neg, "neg")

    def __abs__(self):
        return self.unary(abs, "abs")

    def __bool__(self):
        return not self.compare(0, "eq")

    def __round__(self, digits=None):
        if digits is None:
            return self.whole(round, "round")
        return self.then(lambda value: round(value, digits), "round", digits)

    def __float__(self):
        return self.source.tracer.give_up(
            f"a random number is turned into a plain float at {place()}, where it cannot be followed"
        )

    def __index__(self):
        raise TypeError("'float' object cannot be interpreted as an integer")

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __hash__(self):
        return self.source.tracer.give_up(f"a random number is hashed at {place()}")

    def __repr__(self):
        return "<random number>"

    def item(self) -> "Traced":
        return self

    __pos__ = item

    def astype(self, dtype: Any) -> Any:
        kind = np.dtype(dtype)
        if kind.kind == "f":
            return self.then(kind.type, "astype", kind.str)
        return self.whole(int, "astype")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return HANDLERS["ufunc"](ufunc, method, inputs, options)


RISING = {"add", "sub", "mul"}
"""Operations that are monotone whatever the other number is."""

UFUNCS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "pow": np.power,
    "floordiv": np.floor_divide, "mod": np.remainder,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def _is_tensor(other: Any) -> bool:
    return type(other).__module__.startswith("torch")


REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _install_operators():
    def method(name: str, on_tensor: str, otherwise: Callable, *more: Any) -> Callable:
        def meet(self: Traced, other: Any) -> Any:
            if type(other) not in SINGLE and _is_tensor(other):
                return HANDLERS["tensor"](on_tensor, other, self)
            return otherwise(self, other, name, *more)

        return meet

    for name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod"):
        setattr(Traced, f"__{name}__", method(name, "r" + name, Traced._binary, False))
        setattr(Traced, f"__r{name}__", method(name, name, Traced._binary, True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Traced, f"__{name}__", method(name, REFLECTED.get(name, name), Traced.compare))
    for name, function in (("int", int), ("trunc", math.trunc), ("floor", math.floor), ("ceil", math.ceil)):
        setattr(Traced, f"__{name}__", lambda self, function=function, name=name: self.whole(function, name))

    # Object arrays call these by name: np.log(array) becomes element.log() for each element.
    for name in ("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "floor", "ceil", "trunc", "rint", "tanh"):
        function = getattr(np, name)
        setattr(Traced, name, lambda self, function=function, name=name: self.unary(function, name))


_install_operators()


def handed_out(source: RandomSource) -> Any:
    """Return what third-party code gets: a traced number, or a plain one in a replay."""
    return source.tracer.hand_out(source, Traced(source))
