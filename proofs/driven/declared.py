"""What a driven subject says of the random numbers that it takes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...models.problem import Problem
from ...verifiers.adapters.calling_convention import NotASubject
from ..interception.outcomes import readable
from ..rounding_rule import EPSILON
from .coordinates import Coordinate, Noise, Uniform

KINDS = ("uniform", "exponential", "gumbel")
OWN = "own"
"""Said of random numbers that a program draws itself, from a seed that it is sent."""

MOST_BITS = 53
LONGEST = 4096
"""Numbers of one name in one request, at most."""


class Declared(NamedTuple):
    """Random numbers of one name.

    kind: one of KINDS. shape: of "gamma", "V", "N" (nodes of a whole draft tree; gamma of a block) and whole numbers. bits: of a uniform. open_left: whether it is never 0 but may be 1.
    keyed: whether they are asked of a table, by seed and position.
    """

    name: str
    kind: str
    shape: tuple[str | int, ...] = ()
    bits: int = 24
    open_left: bool = False
    keyed: bool = False

    def sizes(self, problem: Problem) -> tuple[int, ...]:
        """The shape in one request. Raises: NotASubject for more numbers than a request holds."""
        known = {"gamma": problem.gamma, "V": problem.vocabulary, "N": problem.tree.nodes}
        sizes = tuple(known[size] if isinstance(size, str) else size for size in self.shape)
        count = 1
        for size in sizes:
            count *= size
        if count > LONGEST:
            raise NotASubject(f"random {self.name!r} has {count} numbers a request; expected at most {LONGEST}")
        return sizes

    def coordinate(self, dtype: str) -> Coordinate:
        """One of the numbers. dtype: of the rows."""
        if self.kind == "uniform":
            return Uniform(self.bits, self.open_left)
        return Noise(self.kind, dtype)


def declared(random: Any, dtype: str) -> tuple[Declared, ...] | None:
    """The random numbers that a subject's ``random`` means; None if it draws its own.

    dtype: of the rows; a uniform has as many bits as its significand if it does not say how many.
    Raises: NotASubject that names what is wrong with which of them.
    """
    if random == OWN:
        return None
    if not isinstance(random, Sequence) or isinstance(random, (str, bytes)):
        raise NotASubject(f'"random" is {short(random)}; expected a list of random numbers, or "own"')
    numbers = tuple(_one(item, k, dtype) for k, item in enumerate(random))
    names = [number.name for number in numbers]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise NotASubject(f'"random" names {twice!r} twice')
    return numbers


SIGNIFICAND = {dtype: 1 - round(math.log2(epsilon)) for dtype, epsilon in EPSILON.items()}
"""Bits of the significand, by dtype."""


def _one(item: Any, k: int, dtype: str) -> Declared:
    if not isinstance(item, Mapping):
        raise NotASubject(f'"random" number {k} is {short(item)}; expected an object with name, kind and shape')
    name, kind, keyed = item.get("name"), item.get("kind"), item.get("keyed", False)
    if not isinstance(name, str) or not name:
        raise NotASubject(f'"random" number {k} has the name {short(name)}; expected text')

    def expect(key: str, value: Any, fine: bool, expected: str) -> None:
        if not fine:
            raise NotASubject(f"random {name!r} has {key} {short(value)}; expected {expected}")

    expect("keyed", keyed, type(keyed) is bool, "true or false")
    expect("kind", kind, isinstance(kind, str) and kind in KINDS, f"one of {', '.join(KINDS)}")
    shape = item.get("shape", [] if keyed else None)
    fine = isinstance(shape, Sequence) and not isinstance(shape, (str, bytes)) and all(map(_is_size, shape))
    expect("shape", shape, fine, 'a list of "gamma", "V" and whole numbers from 1: what a request has')
    bits = item.get("bits", SIGNIFICAND[dtype])
    expect("bits", bits, type(bits) is int and 1 <= bits <= MOST_BITS, f"a whole number from 1 to {MOST_BITS}")
    side = item.get("open", "right")
    expect("open", side, side in ("left", "right"), "left, for (0, 1], or right, for [0, 1)")
    return Declared(name, str(kind), tuple(shape or ()), bits, side == "left", keyed)


def _is_size(size: Any) -> bool:
    return size in ("gamma", "V", "N") if isinstance(size, str) else type(size) is int and 1 <= size <= LONGEST


def short(value: Any) -> str:
    """A value that a subject states, for a message of one line."""
    text = readable(ValueError([value]))[1:-1]  # in a list: as its repr, even where that raises
    return text if len(text) <= 60 else text[:57] + "..."
