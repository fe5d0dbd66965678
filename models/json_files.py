"""JSON from files and programs read into types, with one clear line where it is bad; schemas from the same types.

Types are msgspec's: structs, enumerations, and Python's own. The text itself is read by Python's json, which keeps
whole numbers of any size, and with ``exact`` decimal numbers as the rationals they are.
"""

import json
import re
from fractions import Fraction
from inspect import cleandoc
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from .errors import InputError
from .rationals import parse_rational

Kind = TypeVar("Kind")

_SAID = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?\$\.?(?P<place>.*)`)?", re.DOTALL)
_STEP = re.compile(r"([^.\[\]]+)|(\[[^\]]*\])")
_PLAIN = (
    (re.compile(r"Object contains unknown field `(.*?)`"), r"unknown field '\1'"),
    (re.compile(r"Object missing required field `(.*?)`"), r"the field '\1' is missing"),
    (re.compile(r"^Expected"), "expected"),
    (re.compile(r"^Invalid"), "invalid"),
    (re.compile(r"got Fraction$"), "got a decimal number"),
    (re.compile(r"`"), ""),
)


def read(kind: type[Kind], text: str | bytes, where: str, *, exact: bool = False) -> Kind:
    """Return the value that a JSON text holds.

    where: what the text is, the beginning of a message.
    exact: whether decimal numbers are Fractions; NaN and Infinity are refused.
    Raises: InputError, in one line, for what is no JSON, has a key twice or is not of that kind.
    """
    return convert(kind, parse(text, where, exact=exact), where)


def json_text(data: Any) -> str:
    """Return the content of a file of JSON: indented, for a person to read."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def read_file(kind: type[Kind], path: str | Path, *, exact: bool = False) -> Kind:
    """Read a file as ``read`` does. Raises: InputError, also if it cannot be read."""
    return read(kind, text_of(path), str(path), exact=exact)


def text_of(path: str | Path) -> str:
    """Return the text of a file. Raises: InputError where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})", "DP201") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text file", "DP201") from None


def parse(text: str | bytes, where: str, *, exact: bool = False) -> Any:
    """Read as ``read`` does, into Python's lists, dicts, strings and numbers."""
    hooks: dict[str, Any] = {"object_pairs_hook": _no_repeats}
    if exact:
        hooks |= {"parse_float": lambda number: parse_rational(number, "number"), "parse_constant": _no_constant}
    try:
        return json.loads(text, **hooks)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except RecursionError:
        raise InputError(f"{where}: not JSON (nested too deeply)", "DP202") from None
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error})", "DP202") from None


def convert(kind: type[Kind], data: Any, where: str) -> Kind:
    """Return the value of that kind that a JSON form means. Raises: InputError that names the place in it."""
    try:
        return msgspec.convert(data, kind, dec_hook=_decoded)
    except msgspec.ValidationError as error:
        said = _SAID.fullmatch(str(error))
        what, place = (said["what"], said["place"]) if said else (str(error), None)
        for pattern, words in _PLAIN:
            what = pattern.sub(words, what)
        if what.startswith("invalid enum value") and (known := _words(kind, place or "")):
            what += f"; expected one of {', '.join(known)}"
        raise InputError(f"{where}: {place}: {what}" if place else f"{where}: {what}") from None


def _words(kind: Any, place: str) -> list[str]:
    """Return what may stand at a place in the JSON form of a kind, where that is one of some words."""
    whole = schema(kind, "")
    at = _alternatives(whole, whole)
    for name, _ in _STEP.findall(place):
        deeper = [
            node.get("properties", {}).get(name) or node.get("additionalProperties") or node.get("items") for node in at
        ]
        at = [each for node in deeper if isinstance(node, dict) for each in _alternatives(whole, node)]
    other = [node["type"] for node in at if "enum" not in node and node.get("type") not in (None, "null")]
    return list(dict.fromkeys([str(word) for node in at for word in node.get("enum", ())] + other))


def _alternatives(whole: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a node of a schema, or those that it may be."""
    if "$ref" in node:
        return _alternatives(whole, whole["$defs"][node["$ref"].rpartition("/")[2]])
    return [each for one in node["anyOf"] for each in _alternatives(whole, one)] if "anyOf" in node else [node]


def plain(value: Any) -> Any:
    """Return the JSON form of a typed value: lists, dicts, strings and numbers; rationals are strings."""
    return msgspec.to_builtins(value, enc_hook=_encoded, str_keys=True)


def schema(kind: Any, title: str) -> dict[str, Any]:
    """Return the JSON Schema of a type. Descriptions are docstrings without their indentation."""
    made = msgspec.json.schema(kind, schema_hook=_schema)
    return _with_clean_descriptions({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title} | made)


def _with_clean_descriptions(data: Any) -> Any:
    # Releases of msgspec differ in this, so it is done here.
    if isinstance(data, dict):
        return {
            name: cleandoc(value)
            if name == "description" and isinstance(value, str)
            else _with_clean_descriptions(value)
            for name, value in data.items()
        }
    return [*map(_with_clean_descriptions, data)] if isinstance(data, list) else data


def _decoded(kind: type, value: Any) -> Any:
    """Return a Fraction from its text."""
    if kind is Fraction:
        try:
            return parse_rational(value, "number")
        except InputError as error:
            raise ValueError(str(error).removeprefix("number: ")) from None
    raise NotImplementedError(f"{kind.__name__} has no JSON form")


def _encoded(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def _schema(kind: type) -> dict[str, Any]:
    if kind is Fraction:
        return {"type": "string", "pattern": r"^\s*-?[0-9.]+"}
    raise NotImplementedError(f"{kind.__name__} has no JSON form")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise InputError(f'the key "{next(k for k in keys if keys.count(k) > 1)}" is given twice')
    return found


def _no_constant(text: str) -> Any:
    raise InputError(f"{text} is not a probability")
