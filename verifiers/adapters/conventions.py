"""Calling conventions of engines: a function of one of them is called as one of the plain convention.

``draftproof audit mine.py:verify --convention batch,logits`` calls ``verify`` with a batch of one and with logits. In
Python: ``adapted(verify, ["batch", "logits"])``.
"""

import inspect
from collections.abc import Callable, Sequence
from inspect import Parameter
from types import SimpleNamespace
from typing import Any

import numpy as np

from .calling_convention import ARGUMENT_NAMES, NotASubject, OnLogits, declare, logits_of, signature, softmax
from .convention_names import CONVENTIONS, SLOTS, Slot

PAD = -1
"""A place of a padded result that holds no token. Those at the end of a row are left out."""

OFFERED = (("batch",), ("accepted",), ("batch", "accepted"), ("mask",), ("batch", "mask"), ("jax",))
"""Conventions that are tried, one after the other, with a function that cannot be called plainly."""


def recognised(function: Any) -> list[str]:
    """Return the conventions that the names of a function's arguments show."""
    names = {name.lower() for name in _parameters(function)}
    if "cu_num_draft_tokens" in names and any("draft" in name and "prob" in name for name in names):
        return ["vllm"]
    logits = sum("logit" in name for name in names) >= 2 and not any("prob" in name for name in names)
    return ["logits"] if logits else []


def completed(function: Any, asked: Sequence[str]) -> list[str]:
    """Return the conventions that were asked for, and those that the names show where both go together."""
    shown = recognised(function)
    if shown == ["vllm"] and not {*asked} <= {*SLOTS}:
        shown = []
    return [*asked, *(name for name in shown if name not in asked and "vllm" not in asked)]


def adapted(function: Any, conventions: Sequence[str]) -> Callable:
    """Return a function of the plain convention that calls one of these.

    Raises: NotASubject for conventions that are not known or do not go together, and for arguments without a role.
    """
    for name in conventions:
        if name not in CONVENTIONS and name not in SLOTS:
            raise NotASubject(f"no calling convention {name!r}; expected some of {', '.join(CONVENTIONS)}")
    asked = set(conventions)
    if {"accepted", "mask"} <= asked or ("vllm" in asked and len(asked - {*SLOTS}) > 1):
        raise NotASubject(f"the calling conventions {' and '.join(conventions)} do not go together")
    slot = next((SLOTS[name] for name in asked if name in SLOTS), None)
    on_logits = "logits" in asked and slot is None
    on_rows = asked - {"logits"} if on_logits else asked
    call = _ragged(function, slot) if "vllm" in asked else _by_roles(function, on_rows, slot)
    random = "rng" if "jax" in asked else next((r for r in ("rng", "generator") if r in _parameters(function)), None)

    def verify(target_probs: Any, draft_probs: Any, draft_tokens: Any, **more: Any) -> Any:
        return call(target_probs, draft_probs, draft_tokens, more)

    verify.__name__ = verify.__qualname__ = getattr(function, "__name__", type(function).__name__)
    vars(verify)["__signature__"] = signature(random)
    given = {"array": "torch"} if "vllm" in asked else {}
    given |= {"array": function.array} if hasattr(function, "array") else {}
    takes_logits = "logits" in asked or ("vllm" in asked and "target_logits" in _parameters(function))
    given |= {"rows_in_use": _softmax} if takes_logits else {}
    return declare(OnLogits(verify, random) if on_logits else verify, published=lambda: function, **given)


def _parameters(function: Any) -> dict[str, Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _is_tensor(rows: Any) -> bool:
    return hasattr(rows, "log")


def _softmax(rows: Any) -> Any:
    """Return the rows that a function verifies with if it takes their logits."""
    if _is_tensor(rows):
        return softmax(rows)
    logits = logits_of(rows)
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def _role(name: str) -> str:
    """Return which of ARGUMENT_NAMES an argument is by its name; empty if it does not say so."""
    row = any(word in name for word in ("prob", "logit", "dist"))
    if not row and any(word in name for word in ("token", "ids", "candidate")):
        return ARGUMENT_NAMES[2]
    return next((role for role in ARGUMENT_NAMES[:2] if row and role.partition("_")[0] in name), "")


def _by_roles(function: Callable, asked: set[str], slot: Slot | None) -> Callable:
    """Return a call of a function whose arguments are found by their names, or by their places if those say nothing.

    slot: of this request in a batch of three; None for a call of its own.
    """
    roles = {name: _role(name.lower()) for name in _parameters(function)}
    by_name = sorted(filter(None, roles.values())) == sorted(ARGUMENT_NAMES)
    place = slot.place if slot else 0

    def call(target: Any, draft: Any, tokens: Any, more: dict[str, Any]) -> Any:
        drafted = [int(token) for token in tokens]
        rows = [target, draft, tokens]
        certain: list[list[int]] = []
        if slot is not None:
            rows, certain = _among_others(rows, slot)
        elif "batch" in asked:
            rows = [row[None] if hasattr(row, "shape") else [row] for row in rows]
        rows[:2] = map(logits_of, rows[:2]) if "logits" in asked else rows[:2]
        if "jax" in asked:
            import jax  # type: ignore[import-not-found]

            more = {"key": jax.random.PRNGKey(int(more["rng"].integers(2**32)))}
        given: dict[str, Any] = dict(zip(ARGUMENT_NAMES, rows))
        named = {name: given[role] for name, role in roles.items() if role} if by_name else {}
        result = function(**named, **more) if by_name else function(*rows, **more)
        if slot is not None:
            others = [len(target[0]) - 1] * len(drafted)
            _check_others(lambda k: _emitted(result, others, asked, k), slot, certain)
        return _emitted(result, drafted, asked, place)

    return call


def _among_others(rows: Sequence[Any], slot: Slot) -> tuple[list[Any], list[list[int]]]:
    """Return a batch of three requests with this one in a slot, and what the two others emit.

    That is certain, so that a law has no more paths than alone: the last token everywhere, or the first one after a
    rejection at once.
    """
    last = len(rows[0][0]) - 1
    tokens = rows[2] * 0 + last if hasattr(rows[2], "shape") else [last] * len(rows[2])
    draft = _filled(rows[1], 0.5, 0.5)
    requests = [(_filled(rows[0], float(not kept), float(kept)), draft, tokens) for kept in slot.others]
    requests.insert(slot.place, tuple(rows))
    certain = [[last] * (len(tokens) + 1) if kept else [0] for kept in slot.others]
    return [_stacked(column) for column in zip(*requests)], certain


OTHER_IS_WRONG = "request {} of the batch emitted {}, where {} is certain"


def _check_others(emitted: Callable[[int], Any], slot: Slot, certain: Sequence[list[int]]) -> None:
    """Check that the other requests emitted what is certain. Raises: ValueError."""
    for place, wanted in zip([k for k in range(len(slot.others) + 1) if k != slot.place], certain, strict=True):
        found = [*emitted(place)]
        if found != wanted:
            raise ValueError(OTHER_IS_WRONG.format(place, found, wanted))


def _filled(rows: Any, first: float, last: float) -> Any:
    """Return rows of the same form, with the probabilities of the first and the last token given, and no other."""
    if not hasattr(rows, "shape"):
        inner = [first, *[0.0] * (len(rows) - 2), last] if np.ndim(rows[0]) == 0 else None
        return inner or [_filled(row, first, last) for row in rows]
    made = rows * 0
    made[..., 0], made[..., -1] = first, last
    return made


def _stacked(column: Sequence[Any]) -> Any:
    if not hasattr(column[0], "shape"):
        return [*column]
    if isinstance(column[0], np.ndarray):
        return np.stack(column)
    import torch

    return torch.stack([*column])


def _emitted(result: Any, drafted: Sequence[int], asked: set[str], slot: int = 0) -> Any:
    """Return the emitted tokens of a result, of a batch those of a slot. JAX compiles for one shape: it pads, too.

    Raises: ValueError for a number of accepted drafts that counts the token after them.
    """
    if not asked & {"accepted", "mask", "batch", "jax"}:
        return result
    if asked & {"accepted", "mask"} and not (isinstance(result, (tuple, list)) and len(result) >= 2):
        return result  # the check of results says what it is
    first: Any = result[0] if asked & {"accepted", "mask"} else result
    second: Any = result[1] if asked & {"accepted", "mask"} else 0
    if "batch" in asked:
        first, second = first[slot], second[slot] if np.ndim(second) else second
    if asked & {"accepted", "mask"} and ("mask" in asked) != all(map(_is_flag, first)):
        return result
    if "accepted" in asked:
        if int(second) > len(drafted):
            raise ValueError(
                f"{int(second)} of {len(drafted)} drafts accepted: the number counts the token after them; subtract 1"
            )
        return [int(token) for token in first[: int(second) + 1]]
    if "mask" in asked:
        kept = [bool(one) for one in first]
        count = kept.index(False) if False in kept else len(kept)
        return [*drafted[:count], int(second)]
    try:
        tokens = [int(token) for token in first]
    except (TypeError, ValueError):
        return first  # the check of results says what it is
    while len(tokens) > 1 and tokens[-1] == PAD:
        tokens.pop()
    return tokens


def _is_flag(entry: Any) -> bool:
    return isinstance(entry, (bool, np.bool_)) or str(getattr(entry, "dtype", "")) == "torch.bool"


def _ragged(function: Callable, slot: Slot | None) -> Callable:
    """Return a call of vLLM's ``rejection_sample``. The bonus token is drawn before, as there.

    slot: of this request among three; None for a batch of one.
    """
    names = _parameters(function)
    wanted = ("draft_token_ids", "num_draft_tokens", "max_spec_len", "cu_num_draft_tokens", "draft_probs")
    if missing := [name for name in wanted if name not in names]:
        raise NotASubject(f"convention vllm: no argument {', '.join(missing)}; expected {', '.join(wanted)}, ...")

    def call(target: Any, draft: Any, tokens: Any, more: dict[str, Any]) -> Any:
        import torch

        requests, certain = _other_ragged(slot, draft, tokens) if slot else ([], [])
        requests.insert(slot.place if slot else 0, (tokens, target[:-1], draft, torch.multinomial(target[-1], 1)))
        counts = [len(drafted) for drafted, *_ in requests]
        drafted, target, draft, bonus = map(torch.cat, zip(*requests))
        about = SimpleNamespace(
            temperature=torch.ones(len(counts)), all_greedy=False, all_random=True, generators={}, top_k=None,
            top_p=None, max_num_logprobs=None,
        )  # fmt: skip
        given = {
            "draft_token_ids": drafted.to(torch.int32), "num_draft_tokens": counts, "max_spec_len": max(counts),
            "cu_num_draft_tokens": torch.tensor(counts).cumsum(0).to(torch.int32), "draft_probs": draft,
            "target_probs": target, "target_logits": logits_of(target),
            "bonus_token_ids": bonus[:, None].to(torch.int32), "sampling_metadata": about,
        }  # fmt: skip
        output = function(**{name: value for name, value in given.items() if name in names}, **more)
        if slot is not None:
            _check_others(lambda k: _emitted(output, [], {"batch"}, k), slot, certain)
        return _emitted(output, [], {"batch"}, slot.place if slot else 0)

    return call


def _other_ragged(slot: Slot, draft: Any, tokens: Any) -> tuple[list[Any], list[list[int]]]:
    """Return the two other requests of a batch in vLLM's form, and what they emit for certain.

    Each has a draft token more than this one, all accepted or all rejected. If one should be accepted and the other
    rejected, the second has no draft tokens instead.
    """
    import torch

    last, longer = draft.shape[1] - 1, torch.cat([draft[:1], draft])
    bonus = tokens.new_full((1,), last)
    drafted, sure = bonus.expand(len(longer)), _filled(longer, 0.0, 1.0)
    accepted = (drafted, sure, sure, bonus), [last] * (len(longer) + 1)
    rejected = (drafted, _filled(longer, 1.0, 0.0), _filled(longer, 0.5, 0.5), bonus), [0]
    without_drafts = (tokens[:0], sure[:0], sure[:0], bonus), [last]
    first, second = slot.others
    others = [accepted, without_drafts] if first != second else [accepted if first else rejected] * 2
    return [request for request, _ in others], [certain for _, certain in others]
