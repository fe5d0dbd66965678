"""Values of settings: which form they have, and which tokens they name."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from .decoding_settings import OF_EARLIER, SETTINGS, requests_of
from .errors import InputError, of_kind


@of_kind("DP402")
def checked_settings(settings: Mapping[str, Any], has: Sequence[str] | None = None) -> None:
    """Check settings. Raises: InputError in one line for a value of another form, or a setting that the engine has
    not.
    """
    forms: dict[str, tuple[Callable[[Any], bool], str]] = {
        "number": (_number, "a number"),
        "whole": (lambda v: type(v) is int and v >= 0, "a whole number of at least 0"),
        "tokens": (_tokens, "a list of tokens"),
        "texts": (lambda v: isinstance(v, list) and all(map(_tokens, v)), "a list of lists of tokens"),
        "yes or no": (lambda v: isinstance(v, bool), "true or false"),
        "numbers by token": (lambda v: isinstance(v, dict) and all(map(_number, v.values())), "{token: number}"),
        "tokens by token": (lambda v: isinstance(v, dict) and all(map(_tokens, v.values())), "{token: [token]}"),
        "earlier requests": (
            lambda v: isinstance(v, list) and all(_tokens(s) or isinstance(s, dict) for s in v),
            "a list of lists of tokens, or of settings",
        ),
        "requests": (lambda v: isinstance(v, list) and all(isinstance(s, dict) for s in v), "a list of settings"),
    }
    for name, value in settings.items():
        if has is not None and name not in has:
            raise InputError(f"it has no setting {name}; expected one of {', '.join(has) or 'none'}")
        if name in SETTINGS:
            fits, form = forms[SETTINGS[name].kind]
            if not fits(value):
                raise InputError(f"{name} {value!r}: expected {form}")
    if not 0 <= settings.get("temperature", 1) <= 10:
        raise InputError(f"temperature {settings['temperature']}: expected a number from 0 to 10")
    for other in settings.get("together") or ():
        checked_settings(other, has)
    for other in settings.get("earlier") or ():
        if isinstance(other, dict):
            checked_settings({n: v for n, v in other.items() if n not in OF_EARLIER}, has)
            if strange := [n for n in OF_EARLIER if type(other.get(n, 0)) is not int]:
                raise InputError(f"{strange[0]} of an earlier request {other[strange[0]]!r}: expected a whole number")
    if settings.get("logprobs") and len(requests_of(settings)) > 1:
        raise InputError("logprobs of several outputs are not judged; expected logprobs without n and together")


def named_tokens(settings: Mapping[str, Any]) -> set[int]:
    """Return the tokens that settings name."""
    named: set[int] = set()
    for name, value in settings.items():
        kind = SETTINGS[name].kind if name in SETTINGS else ""
        named |= {*value} if kind == "tokens" else set()
        named |= {token for text in value for token in text} if kind == "texts" else set()
        for one in value if kind == "earlier requests" else ():
            named |= named_tokens(one) if isinstance(one, dict) else {*one}
        named |= {*map(int, value)} if kind.endswith("by token") else set()
        named |= {token for may in value.values() for token in may} if kind == "tokens by token" else set()
    return named


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < inf


def _tokens(value: Any) -> bool:
    return isinstance(value, list) and all(type(token) is int and token >= 0 for token in value)


NUMBERS = (
    "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
)  # fmt: skip
"""Settings of recorded steps that are numbers, or absent."""


def checked_numbers(settings: Any, where: str) -> None:
    """Check the form of a recorded request's settings. Raises: InputError naming the first that is of another."""
    if not isinstance(settings, dict):
        raise InputError(f"{where}: settings {settings!r}, expected an object")
    for name in NUMBERS:
        value = settings.get(name)
        if value is not None and not (_held(value) and value >= -1):
            raise InputError(f"{where}: {name} is {value!r}, expected a number")
    if int(top_k := settings.get("top_k") or 0) != top_k:
        raise InputError(f"{where}: top_k is {top_k!r}, expected a whole number")
    bias = settings.get("logit_bias")
    tokens = isinstance(bias, dict) and all(re.fullmatch("[0-9]{1,10}", str(token)) for token in bias)
    if bias is not None and not (tokens and all(map(_held, bias.values()))):
        raise InputError(f"{where}: logit_bias is {str(bias)[:200]}, expected numbers by token")


def _held(value: Any) -> bool:
    """Return whether a setting is a number below infinity that a float can hold; a bias may be -inf."""
    most = sys.float_info.max
    return (type(value) is float and value <= most) or (type(value) is int and -most <= value <= most)
