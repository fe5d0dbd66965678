"""The inputs of the deterministic vectors (cases.json): rows, tokens and random numbers, with the bugs that they catch.

Uniforms stay so far from every threshold that rounding in float32 cannot decide, except where the rule says which side
they are on: u = 0 never passes h = 0, the largest u passes h = 1. At u = h itself, 0 < h < 1, ``<`` and ``<=`` give the
same law up to one step of the lattice: no vector stands there.
"""

from fractions import Fraction
from functools import cache
from pathlib import Path

from msgspec import Struct

from ....models.json_files import read_file
from ....verifiers.draft_block import Block
from .answers import Numbers

Row = list[int | str] | dict[str, int | str]
"""Entries of a row, token by token. In place of many equal ones: ``length``, ``each``, and the tokens that differ."""


class Case(Struct, frozen=True):
    """The input of one deterministic vector.

    rule: one of ``RULES``, or GREEDY.
    comment: what it is, in a few words.
    flags: classes of bug that it is made to catch.
    target, draft: rows, as whole weights.
    tokens: the draft block; it may be empty.
    accept, last, noise: the random numbers, as rationals; see ``Numbers``.
    bits: of the uniforms' lattice; 24 for most, so that float32 holds them.
    batch: name of the batch that it stands in, its place there and the batch's gamma; None for a request alone.
    """

    rule: str
    comment: str
    flags: list[str]
    target: list[Row]
    draft: list[Row]
    tokens: tuple[int, ...]
    accept: list[str]
    last: str
    noise: Row
    bits: int = 24
    batch: tuple[str, int, int] | None = None

    @property
    def block(self) -> Block:
        return Block([*map(_normalised, self.target)], [*map(_normalised, self.draft)], self.tokens)

    @property
    def numbers(self) -> Numbers:
        return Numbers(tuple(map(Fraction, self.accept)), Fraction(self.last), tuple(_entries(self.noise)))


def _entries(row: Row) -> list[Fraction]:
    if isinstance(row, dict):
        return [Fraction(row.get(str(token), row["each"])) for token in range(int(row["length"]))]
    return [*map(Fraction, row)]


def _normalised(weights: Row) -> list[Fraction]:
    entries = _entries(weights)
    mass = sum(entries)
    return [entry / mass for entry in entries]


@cache
def cases() -> tuple[Case, ...]:
    """Return the inputs of all deterministic vectors, in the order of the file."""
    return read_file(tuple[Case, ...], Path(__file__).with_name("cases.json"))
