"""The file in which a program writes its answers on the vectors (results.schema.json)."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from ....models.errors import InputError
from ....models.law import Prefix, prefix_of_key
from .answers import RULES
from .forms import EPSILON
from .law_vectors import LOSSLESS, TREE_RULES
from .suite import suite

FORMAT = "draftproof-results-1"
FIELDS = ("thresholds", "accepted", "weights", "emitted", "raced", "law")
BITS = (24, 32, 53)
ANSWERS = (*FIELDS, "counts", "error")


class Results(NamedTuple):
    """What a program answered.

    program: its name.
    dtype: the number type in which it computes.
    bits: of the finest uniforms that it takes.
    open: the end of [0, 1] that its uniforms never reach: "right", or "left" if they are never 0.
    rules, gives: what it claims to be, and which answers it promises.
    answers: vector's id -> answer's name -> answer.
    """

    program: str
    dtype: str
    bits: int
    open: str
    rules: tuple[str, ...]
    gives: tuple[str, ...]
    answers: dict[str, dict[str, Any]]


def load_results(file: str) -> Results:
    """Read a file of results. Raises: InputError that says what is wrong and what was expected."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: not a text file") from None
    try:
        data = json.loads(text, object_pairs_hook=_no_repeats)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{file}: not JSON ({error})") from None
    return results_from(data, file)


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise InputError(f'the key "{next(k for k in keys if keys.count(k) > 1)}" is given twice')
    return found


def results_from(data: Any, name: str = "results") -> Results:
    """Results from their JSON form. Raises: InputError."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f'{name}: expected a JSON object with "format": "{FORMAT}" (results.schema.json)')
    unknown = set(data) - {"format", "vectors", "program", "dtype", "bits", "open", "rules", "gives", "results"}
    if unknown:
        raise InputError(f"{name}: unknown field {sorted(unknown)[0]!r}")
    if data.get("vectors") != suite()["digest"]:
        raise InputError(
            f"{name}: answers to the vectors {data.get('vectors')!r}, expected those of this version, "
            f"{suite()['digest']!r}; export them again"
        )
    if not (isinstance(data.get("program"), str) and data["program"]):
        raise InputError(f'{name}: expected "program", the name and version of what answered')
    answers = data.get("results")
    if not isinstance(answers, dict) or not all(isinstance(one, dict) for one in answers.values()):
        raise InputError(f'{name}: expected "results", an object with an object for each vector\'s id')
    rules, gives = _some_of(data, "rules", (*RULES, LOSSLESS, *TREE_RULES), name), _some_of(data, "gives", FIELDS, name)
    known = {vector["id"]: vector["rule"] for part in ("vectors", "laws") for vector in suite()[part]}
    for vector, given in answers.items():
        if vector not in known:
            raise InputError(f"{name}: no vector has the id {vector!r}")
        if known[vector] not in rules:
            raise InputError(f"{name}: answers {vector!r}, but rules has no {known[vector]!r}")
        for field in given:
            if field not in ANSWERS:
                raise InputError(f"{name}: {vector}: unknown answer {field!r}; expected {', '.join(ANSWERS)}")
            if field != "error" and {"counts": "law"}.get(field, field) not in gives:
                raise InputError(f"{name}: {vector}: answers {field!r}, which gives does not name")
    dtype, bits = _one_of(data, "dtype", EPSILON, name), _one_of({"bits": 53} | data, "bits", BITS, name)
    end = _one_of({"open": "right"} | data, "open", ("left", "right"), name)
    return Results(data["program"], dtype, bits, end, rules, gives, answers)


def _one_of(data: dict[str, Any], field: str, known: Any, name: str) -> Any:
    value = data.get(field)
    if isinstance(value, (bool, float, list, dict)) or value not in known:
        raise InputError(f"{name}: {field} is {value!r}, expected one of {', '.join(map(str, known))}")
    return value


def _some_of(data: dict[str, Any], field: str, known: tuple[str, ...], name: str) -> tuple[str, ...]:
    values = data.get(field)
    if not isinstance(values, list) or not values or not all(isinstance(v, str) and v in known for v in values):
        raise InputError(f"{name}: {field} is {values!r}, expected a list of some of {', '.join(known)}")
    return tuple(dict.fromkeys(values))


def number(value: Any) -> Fraction | None:
    """A number of an answer, exactly; None for what is none (NaN, infinity, text, null)."""
    try:
        if isinstance(value, str) and "0x" in value.lower():
            value = float.fromhex(value)
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return None if isinstance(value, bool) or len(str(value)) > 400 else Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None


def sequence(key: str) -> Prefix | None:
    """The tokens of a law's key; None if it is no list of tokens."""
    try:
        return prefix_of_key(key)
    except ValueError:
        return None
