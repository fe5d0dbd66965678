"""The plain calling convention: f(target_probs, draft_probs, draft_tokens[, parents][, rng | generator]) -> tokens.

Recognised by the signature; no base class and no registration needed.
"""

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import getpid
from typing import Any, NamedTuple

import numpy as np

from .copies import COPY

EXPECTED_SIGNATURE = "f(target_probs, draft_probs, draft_tokens[, rng | generator])"
ARGUMENT_NAMES = ("target_probs", "draft_probs", "draft_tokens")

PARENTS = "parents"
"""The argument by which a verifier of draft trees is known; passed by name."""

ARRAYS = ("numpy", "rows", "list", "torch")
"""Types of the rows: NumPy arrays; lists of NumPy rows; lists of lists of floats; torch tensors."""

MAX_TOKEN = 2**63 - 1
"""Stands for every token this large and larger: outside every vocabulary."""

Values = Sequence | np.ndarray


class NotASubject(Exception):
    """An error: the subject cannot be called as a verifier. It says what is wrong, and what was expected.

    kind: load if it cannot be loaded, raises if no call returns tokens, convention if another convention fits.
    """

    def __init__(self, message: str, kind: str = "load"):
        super().__init__(message)
        self.kind = kind


def never_called(name: str, why: str) -> NotASubject:
    """Return the error of a subject no call of which returned tokens. why: what the first call returned or raised."""
    said = why if why.startswith("returned") else f"raises on every call: {why}"
    return NotASubject(f"{name} {said}", "raises")


class BadResult(Exception):
    """An error: the result is not a sequence of tokens."""


class CallPlan(NamedTuple):
    """A plan of how to call a function.

    by_name: whether the arguments are passed by name.
    random: the argument for randomness, if any.
    trees: whether it takes ``parents``, and so verifies draft trees.
    parents_by_name: whether they are passed by name, not as the fourth argument.
    optional: whether the argument for randomness has a default.
    """

    by_name: bool
    random: str | None
    trees: bool = False
    parents_by_name: bool = True
    optional: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the arguments other than that for randomness."""
        return (*ARGUMENT_NAMES, PARENTS) if self.trees else ARGUMENT_NAMES


def declare(function: Callable, **attributes: Any) -> Callable:
    """Set what an audit reads from a function in addition to calling it, and return the function.

    array: one of ARRAYS.
    published: a function without arguments that gives the third-party function behind it.
    rows_in_use: from the probabilities given to the rows that are verified with; believed within rounding alone.
    keys: of a watermarked verifier, how many its key space has (``watermark_keys.over_keys``).
    drafting: how trees have to be drawn for it, as a tuple of iid, without-replacement and top; if not all of them.
    """
    vars(function).update(attributes)
    return function


FEW_ENTRIES = 10_000
"""Entries of a tensor below which all logarithms are taken. Wide rows are 0 at most tokens, and log(0) is slow."""


def logits_of(probabilities: Any) -> Any:
    """Return the logarithms of rows in their type, of a tensor bit by bit those of ``probabilities.log()``."""
    if not hasattr(probabilities, "log"):
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(probabilities))
    if probabilities.numel() < FEW_ENTRIES:
        return probabilities.log()
    there = probabilities.nonzero(as_tuple=True)
    if 4 * len(there[0]) > probabilities.numel():
        return probabilities.log()
    logits = probabilities.new_full(probabilities.shape, -math.inf)
    logits[there] = probabilities[there].log()
    return logits


def signature(random: str | None) -> inspect.Signature:
    """Return the signature of the plain convention. random: the argument for randomness, if any."""
    places = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ARGUMENT_NAMES]
    return inspect.Signature(
        [*places, *([inspect.Parameter(random, inspect.Parameter.KEYWORD_ONLY)] if random else [])]
    )


class OnLogits:
    """A verifier by the plain convention around a function that takes logits in place of probabilities.

    on_logits: that function; its arguments are in the order of ARGUMENT_NAMES. An audit calls it with logarithms that
      are taken once for many calls. random: the argument for randomness, passed by name, if any.
    """

    def __init__(self, on_logits: Callable, random: str | None = None):
        self.on_logits = on_logits
        self.__name__ = self.__qualname__ = getattr(on_logits, "__name__", type(on_logits).__name__)
        self.__signature__ = signature(random)

    def __call__(self, target_probs: Any, draft_probs: Any, draft_tokens: Any, **random: Any) -> Any:
        return self.on_logits(logits_of(target_probs), logits_of(draft_probs), draft_tokens, **random)


def softmax(probabilities: Any) -> Any:
    """Return the rows that a function of torch verifies with if it takes logits: their softmax, in their precision."""
    return logits_of(probabilities).softmax(dim=-1)


def of_request(rows: Any, greedy: bool) -> Any:
    """Return a request's target rows, of a greedy one all on the largest, as callers do that set top-k to 1."""
    return rows.new_zeros(rows.shape).scatter(-1, rows.argmax(-1, keepdim=True), 1) if greedy else rows


def float32_softmax(probabilities: Any) -> Any:
    """Return the same in float32."""
    return logits_of(probabilities).float().softmax(dim=-1)


def on_demand(module: dict[str, Any], made: Mapping[str, Callable[[], Any]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module (its globals) whose attributes are made when they are first asked for."""

    def get(name: str) -> Any:
        if name not in made:
            raise AttributeError(name)
        if name not in module:
            module[name] = made[name]()
        return module[name]

    return get


def plan_call(function: Any, name: str) -> CallPlan:
    """Return how to call a function by the plain convention.

    Raises: NotASubject if it is not callable or needs other arguments.
    """
    if not callable(function):
        raise NotASubject(f"{name} is {_a(type(function).__name__)}, not a function; expected {EXPECTED_SIGNATURE}")
    if isinstance(function, type):
        made = f"an object of it ('verify = {function.__name__}(..)' in its module)"
        raise NotASubject(f"{name} is a class; expected {made} or a function, {EXPECTED_SIGNATURE}")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return CallPlan(False, None)
    keywords = {p.name for p in parameters}
    random = next((wanted for wanted in ("rng", "generator") if wanted in keywords), None)
    single = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    single = [p for p in single if p.name not in (random, PARENTS)]
    needed = [p.name for p in single if p.default is p.empty]
    by_place = [p.name for p in parameters if p.kind == p.POSITIONAL_ONLY]
    by_name = keywords - set(by_place) >= set(ARGUMENT_NAMES)
    if random in by_place or (PARENTS in by_place and by_place[3:4] != [PARENTS]):
        wrong = random if random in by_place else PARENTS
        raise NotASubject(f"{name} takes {wrong!r} by position only; expected it by name: {EXPECTED_SIGNATURE}")
    room = sum(p.kind != p.KEYWORD_ONLY for p in single) >= 3 or any(p.kind == p.VAR_POSITIONAL for p in parameters)
    if len(needed) > 3 or (by_name and set(needed) - set(ARGUMENT_NAMES)):
        required = f"{len(needed)} required arguments ({', '.join(needed)})"
        raise NotASubject(f"{name} takes {required}; expected {EXPECTED_SIGNATURE}")
    if not by_name and (not room or any(p.kind == p.KEYWORD_ONLY and p.name in needed for p in parameters)):
        raise NotASubject(f"{name} takes ({', '.join(p.name for p in parameters)}); expected {EXPECTED_SIGNATURE}")
    optional = any(p.name == random and p.default is not p.empty for p in parameters)
    return CallPlan(by_name, random, PARENTS in keywords, PARENTS not in by_place, optional)


def _a(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def arguments(
    target: Values, draft: Values, tokens: Values, array: str, dtype: str, parents: Values | None = None
) -> list:
    """Return the arguments, fresh, from rows of floats.

    target, draft, tokens: [gamma + 1, V], [gamma, V], [gamma].
    array: one of ARRAYS.
    dtype: of the rows.
    parents: of the nodes of a draft tree; None for a block, which has no such argument.
    """
    given = [tokens] if parents is None else [tokens, parents]
    if array == "torch":
        import torch

        kind = getattr(torch, dtype)
        return [torch.tensor(target, dtype=kind), torch.tensor(draft, dtype=kind), *map(torch.tensor, given)]
    if array == "list":
        return [[rounded(r, dtype) for r in target], [rounded(r, dtype) for r in draft], *map(list, given)]
    kind = np.dtype(dtype)
    if array == "rows":
        return [[np.array(r, dtype=kind) for r in target], [np.array(r, dtype=kind) for r in draft], *map(list, given)]
    whole = [np.array(numbers, dtype=np.int64) for numbers in given]
    return [np.array(target, dtype=kind), np.array(draft, dtype=kind), *whole]


def copied(given: Any) -> Any:
    """Copy arguments: lists, and the arrays and tensors in them."""
    if isinstance(given, (list, tuple)):
        numbers = not given or isinstance(given[0], (int, float))
        return given[:] if numbers else type(given)(map(copied, given))
    return given.clone() if hasattr(given, "clone") else given.copy()


def rounded(row: Sequence[float], dtype: str) -> list[float]:
    """Return the nearest numbers of a type, as floats that hold them exactly."""
    if dtype != "bfloat16":
        return _listed_numbers(np.array(row, dtype=dtype).astype(float))
    bits = np.array(row, dtype=np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000  # half to even, on the upper 16 bits
    return _listed_numbers(bits.astype(np.uint32).view(np.float32).astype(float))


def _listed_numbers(row: np.ndarray) -> list[float]:
    """Return a row's numbers in a list, with one object for all zeros: a row of zeros is copied three times faster."""
    there = np.flatnonzero(row.view(np.int64))
    if len(there) == len(row):
        return row.tolist()
    numbers = [0.0] * len(row)
    for k, number in zip(there.tolist(), row[there].tolist()):
        numbers[k] = number
    return numbers


def call(function: Callable, plan: CallPlan, given: Sequence[Any], random: Any) -> Any:
    """Call a third-party function as planned. random: None to leave that argument out.

    A copy of the process that comes back from the call ends here. Otherwise each further call would double them.
    """
    options = {plan.random: random} if plan.random and random is not None else {}
    if plan.trees and plan.parents_by_name:
        *given, options[PARENTS] = given
    process = getpid()
    try:
        if plan.by_name:
            return function(**dict(zip(ARGUMENT_NAMES, given)), **options)
        return function(*given, **options)
    finally:
        if getpid() != process:
            os._exit(COPY)


WHOLE = {int, np.int64, np.int32}
"""Types of a token that are whole numbers, whatever they hold."""


def tokens_of(result: Any) -> tuple[int, ...]:
    """Return the emitted tokens: from a list, tuple or array of integers, 0-d scalars and nested length-1 lists.

    Raises: BadResult for nothing, text, and anything else that is not tokens alone, such as (tokens, number accepted).
    """
    listed = result.tolist() if hasattr(result, "tolist") else result
    if type(listed) is list and len(listed) == 1 and type(listed[0]) is list:  # a batch of one
        listed = listed[0]
    kinds = {*map(type, listed)} if type(listed) is list else set()
    if kinds and kinds <= WHOLE:
        listed = listed if kinds == {int} else [*map(int, listed)]
        within = min(listed) >= -MAX_TOKEN and max(listed) <= MAX_TOKEN
        return tuple(listed) if within else tuple(max(min(token, MAX_TOKEN), -MAX_TOKEN) for token in listed)
    if result is None:
        raise BadResult("returned None, expected the emitted tokens")
    if isinstance(result, (str, bytes)):
        raise BadResult(f"returned text ({result[:20]!r}), expected the emitted tokens")
    if not _is_sequence(result) and not any(hasattr(result, name) for name in ("tolist", "__index__", "__float__")):
        raise _not_tokens_alone(result)
    if isinstance(result, (list, tuple)) and len(result) > 1:
        nested = [*map(_is_sequence, result)]
        if any(inner and len(item) != 1 for inner, item in zip(nested, result)) or (nested[0] and not all(nested)):
            raise _not_tokens_alone(result)
    sequence = _listed(result)
    while isinstance(sequence, list) and len(sequence) == 1 and isinstance(sequence[0], list):
        sequence = sequence[0]
    if not isinstance(sequence, list):
        sequence = [sequence]
    if not sequence:
        raise BadResult("returned no tokens, expected at least one")
    return tuple(map(_token, sequence))


TOKEN_NAMES = ("tokens", "token_ids", "output_tokens", "output_token_ids", "emitted", "accepted_tokens", "sequences",
               "ids")  # fmt: skip
"""Keys or attributes that may hold the tokens of a result of several parts."""


def _not_tokens_alone(result: Any) -> BadResult:
    """Return what was returned in place of tokens, and what to audit instead."""
    kind, instead = _a(type(result).__name__), ""
    if isinstance(result, Mapping):
        parts = result
        kind += f" with the keys {', '.join(map(str, [*parts][:6]))}"
        instead = next((f"[{name!r}]" for name in TOKEN_NAMES if name in parts), "")
    elif hasattr(result, "_fields") or not isinstance(result, (list, tuple)):
        instead = next((f".{name}" for name in TOKEN_NAMES if hasattr(result, name)), "")
    elif _is_sequence(result[0]):
        instead = "[0]"
    if isinstance(result, (list, tuple)):
        kind += f" of ({', '.join(map(_form, result[:6]))})"
    whole = "list(f(...))" if isinstance(result, Iterable) and not instead else f"f(...){instead}"
    hint = f": audit a function that returns {whole}" if whole != "f(...)" else ""
    return BadResult(f"returned {kind}, expected only the emitted tokens, in a list or an array{hint}")


def _is_sequence(x: Any) -> bool:
    shape = getattr(x, "shape", ())
    return isinstance(x, (list, tuple)) or (isinstance(shape, tuple) and len(shape) > 0)


def _form(item: Any) -> str:
    if not _is_sequence(item):
        return type(item).__name__
    shape = tuple(item.shape) if hasattr(item, "shape") else len(item)
    return f"{type(item).__name__} of {'shape' if isinstance(shape, tuple) else 'length'} {shape}"


def _listed(x: Any) -> Any:
    if hasattr(x, "tolist"):
        x = x.tolist()
    return [_listed(item) for item in x] if isinstance(x, (list, tuple)) else x


def _token(x: Any) -> int:
    nested = isinstance(x, list)
    while isinstance(x, list) and len(x) == 1:
        x = x[0]
    if isinstance(x, (str, bytes)):
        raise BadResult(f"returned text ({x[:20]!r}) among the tokens, expected whole numbers")
    try:
        if isinstance(x, list) or x != int(x) or (nested and isinstance(x, bool)):  # [True] is a mask
            raise ValueError
        return max(min(int(x), MAX_TOKEN), -MAX_TOKEN)
    except (TypeError, ValueError, OverflowError):
        raise BadResult(f"returned {str(x)[:40]} among the tokens, expected whole numbers") from None
