"""What a driven subject says of the random numbers that it takes."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from ...models.errors import InputError
from ...models.json_files import convert
from ...models.problem import Problem
from ...verifiers.adapters.calling_convention import NotASubject
from ..rounding.rounding_allowed import EPSILON
from .coordinates import Coordinate, Noise, Uniform

OWN = "own"
"""Word for random numbers that a program draws itself, from a seed that it is sent."""

MOST_BITS = 53
LONGEST = 4096
"""Largest count of numbers of one name in one request."""

Size = Literal["gamma", "V", "N"] | Annotated[int, msgspec.Meta(ge=1, le=LONGEST)]


class Declared(msgspec.Struct, frozen=True):
    """Random numbers of one name.

    shape: of "gamma", "V", "N" (nodes of a whole draft tree; gamma of a block) and whole numbers.
    bits: of a uniform. open: "right" of one in [0, 1), "left" in (0, 1].
    keyed: whether they are asked of a table, by seed and position.
    first: where positions are places in the text, that of a block's first token: a block that emits n tokens is
      followed by one from first + n on.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    kind: Literal["uniform", "exponential", "gumbel"]
    shape: tuple[Size, ...] | None = None
    bits: Annotated[int, msgspec.Meta(ge=1, le=MOST_BITS)] | None = None
    open: Literal["left", "right"] = "right"
    keyed: bool = False
    first: int | None = None

    def complete(self, dtype: str) -> "Declared":
        """Return it with the defaults filled in: no shape if it is keyed, as many bits as the significand of the rows.

        Raises: NotASubject for numbers without a shape, or with what is for keyed ones alone.
        """
        if self.shape is None and not self.keyed:
            raise NotASubject(f'random {self.name!r} has no shape: a list of "gamma", "V" and whole numbers from 1')
        if self.first is not None and not self.keyed:
            raise NotASubject(f'random {self.name!r} has "first", and is not "keyed"')
        return msgspec.structs.replace(self, shape=self.shape or (), bits=self.bits or SIGNIFICAND[dtype])

    def sizes(self, problem: Problem) -> tuple[int, ...]:
        """Return the shape in one request. Raises: NotASubject for more numbers than a request holds."""
        known = {"gamma": problem.gamma, "V": problem.vocabulary, "N": problem.tree.nodes}
        sizes = tuple(known[size] if isinstance(size, str) else size for size in self.shape or ())
        if (count := math.prod(sizes)) > LONGEST:
            raise NotASubject(f"random {self.name!r} has {count} numbers a request; expected at most {LONGEST}")
        return sizes

    def coordinate(self, dtype: str) -> Coordinate:
        """Return one of the numbers as a coordinate. dtype: of the rows."""
        if self.kind == "uniform":
            return Uniform(self.bits or SIGNIFICAND[dtype], self.open == "left")
        return Noise(self.kind, dtype)


SIGNIFICAND = {dtype: 1 - round(math.log2(epsilon)) for dtype, epsilon in EPSILON.items()}
"""Bits of the significand, by dtype."""


def declared(random: Any, dtype: str) -> tuple[Declared, ...] | None:
    """Return the random numbers that a subject's ``random`` means; None if it draws its own. dtype: of the rows.

    Raises: NotASubject that names what is wrong with which of them.
    """
    if random == OWN:
        return None
    if isinstance(random, (str, Mapping)) or not hasattr(random, "__len__"):
        raise NotASubject('"random" has to be a list of random numbers, or "own"')
    numbers = tuple(one.complete(dtype) for one in stated(tuple[Declared, ...], [*random], '"random"'))
    names = [number.name for number in numbers]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise NotASubject(f'"random" names {twice!r} twice')
    return numbers


def stated(kind: Any, data: Any, where: str) -> Any:
    """Return what a subject states, as a type. Raises: NotASubject in one line that names the place."""
    try:
        return convert(kind, data, where)
    except InputError as error:
        raise NotASubject(str(error)) from None
