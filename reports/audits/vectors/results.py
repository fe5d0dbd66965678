"""The file in which a program writes its answers (results.schema.json)."""

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from ....models.errors import InputError
from ....models.json_files import convert, read_file
from .answers import GREEDY, RULES
from .law_vectors import LOSSLESS, TREE_RULES
from .suite import CONVENTIONS, suite

FORMAT = "draftproof-results-1"

Field = Literal["thresholds", "accepted", "weights", "emitted", "raced", "law"]
FIELDS = get_args(Field)

MOST_CHARACTERS = 400
"""Characters of a number in an answer."""

MOST_COUNTED = 2**53
"""Largest count: counts are added up as floats."""

LARGEST_NUMBER = 10**300
"""Largest number of the other answers: sums of such numbers are still floats."""

LONG_EXPONENT = re.compile(r"\s*[-+]?[\d._]*[eE][-+]?(_?\d){4}")
"""A decimal number whose exponent has four digits or more: it would only ask for gigabytes of zeros."""

Given = Mapping[Literal[Field, "counts", "error"], Any]
"""The answers to one vector, by name. An entry that is no number fails the vector, and not the file."""


class Results(Struct, frozen=True, forbid_unknown_fields=True):
    """The answers of a program.

    vectors: the digest of the vectors that it read.
    program: its name.
    dtype: the number type in which it computes.
    bits: of the finest uniforms that it takes.
    open: the end of [0, 1] that its uniforms never reach: "right", or "left" if they are never 0.
    without: conventions that are not its own: vectors whose answer rests on one of them are left out.
    rules, gives: what it claims to be, and which answers it promises.
    answers: vector's id -> answer's name -> answer.
    """

    format: Literal["draftproof-results-1"]
    vectors: str
    program: Annotated[str, Meta(min_length=1)]
    dtype: Literal["float64", "float32"]
    rules: Annotated[tuple[str, ...], Meta(min_length=1)]
    gives: Annotated[tuple[Field, ...], Meta(min_length=1)]
    answers: dict[str, Given] = msgspec.field(name="results")
    bits: Literal[24, 32, 53] = 53
    open: Literal["right", "left"] = "right"
    without: tuple[str, ...] = ()


def load_results(file: str) -> Results:
    """Read a file of results. Raises: InputError that says what is wrong and what was expected."""
    return results_from(read_file(dict, file), file)


def results_from(data: Any, name: str = "results") -> Results:
    """Return results from their JSON form.

    Raises: InputError if they do not answer these vectors, under rules that are claimed, with promised answers alone,
    or if a number is too large or too long.
    """
    results = convert(Results, data, name)
    if results.vectors != suite()["digest"]:
        raise InputError(
            f"{name}: answers to the vectors {results.vectors!r}, expected those of this version, "
            f"{suite()['digest']!r}; export them again"
        )
    claimable = (*RULES, GREEDY, LOSSLESS, *TREE_RULES)
    if other := [rule for rule in results.rules if rule not in claimable]:
        raise InputError(f"{name}: rules has {other[0]!r}, expected some of {', '.join(claimable)}")
    if other := [name for name in results.without if name not in CONVENTIONS]:
        raise InputError(f"{name}: without has {other[0]!r}, expected some of {', '.join(CONVENTIONS)}")
    known = {vector["id"]: vector["rule"] for part in ("vectors", "laws") for vector in suite()[part]}
    for vector, given in results.answers.items():
        if vector not in known:
            raise InputError(f"{name}: no vector has the id {vector!r}")
        if known[vector] not in results.rules:
            raise InputError(f"{name}: answers {vector!r}, but rules has no {known[vector]!r}")
        for answer in given:
            if answer != "error" and {"counts": "law"}.get(answer, answer) not in results.gives:
                raise InputError(f"{name}: {vector}: answers {answer!r}, which gives does not name")
            largest = MOST_COUNTED if answer == "counts" else LARGEST_NUMBER
            if answer != "error" and any(_too_large(value, largest) for value in _entries(given[answer])):
                raise InputError(
                    f"{name}: {vector}: {answer} has a number that is too large or too long; expected at most "
                    f"{largest:.3g}, {MOST_CHARACTERS} characters, and an exponent of three digits"
                )
    return results


def _entries(answer: Any) -> Iterable[Any]:
    """Return what may be a number in an answer."""
    return answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list) else [answer]


def _too_large(value: Any, largest: int) -> bool:
    if not isinstance(value, (int, str)):  # a float of JSON is never too large
        return False
    if len(str(value)) > MOST_CHARACTERS or LONG_EXPONENT.match(str(value)):
        return True
    return abs(number(value) or 0) > largest


def number(value: Any) -> Fraction | None:
    """Return a number of an answer, exactly; None for NaN, infinity, text and null."""
    try:
        if isinstance(value, str) and "0x" in value.lower():
            value = float.fromhex(value)
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return None if isinstance(value, bool) else Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
