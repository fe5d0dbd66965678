"""Logprobs that a server reports, of its text and of its prompt, each compared with its row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any, NamedTuple

from ....models.law import Prefix
from ....proofs.laws.text_laws import LOGPROBS_OFF
from ....verifiers.evidence import LawEntry
from .words import Unreadable

SHOWN = 4
"""Tokens of a text in a witness."""


class Reported(NamedTuple):
    """A report at one place: its token, that token's logprob (None for a first one), the most probable ones."""

    token: int
    logprob: float | None
    most: Mapping[int, float]


Entries = list[Reported] | None
"""Entries of one choice; None if it has none."""


def entry_from(kept: Sequence[Any]) -> Reported:
    """Return an entry from its JSON form."""
    token, logprob, most = kept
    return Reported(token, logprob, {int(token): value for token, value in most.items()})


def reported(said: Any, token_of: Callable[[Any], int]) -> Entries:
    """Return the logprobs of one choice, in the form of OpenAI's completions or of its chats; None if there are none.

    token_of: the id of a token as an answer names it: a string, or an object with an id or a string.
    Raises: Unreadable for an entry of another form, and what ``token_of`` raises.
    """
    if not isinstance(said, dict):
        return None
    if isinstance(said.get("content"), list):
        return [_of_chat(entry, token_of) for entry in said["content"]]
    tokens, values = said.get("tokens"), said.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return None
    most = said.get("top_logprobs")
    tops = most if isinstance(most, list) and len(most) == len(tokens) else [None] * len(tokens)
    return [
        Reported(
            token_of(token),
            None if value is None else _number(value),
            {token_of(t): _number(v) for t, v in _object(top or {}).items()},
        )
        for token, value, top in zip(tokens, values, tops)
    ]


def _of_chat(entry: Any, token_of: Callable[[Any], int]) -> Reported:
    said = _object(entry)
    most = said.get("top_logprobs", said.get("top_probs")) or []
    if not isinstance(most, list):
        raise Unreadable("most probable tokens that are no list")
    own = _value(said) if said.keys() & {"logprob", "prob"} else None
    return Reported(token_of(said), own, {token_of(top): _value(top) for top in map(_object, most)})


def _value(entry: Mapping[str, Any]) -> float:
    if "logprob" in entry:
        return _number(entry["logprob"])
    probability = _number(entry.get("prob") or 0)
    return log(probability) if probability > 0 else -inf


def _object(said: Any) -> dict[str, Any]:
    """Return what has to be a JSON object. Raises: Unreadable for anything else."""
    if not isinstance(said, dict):
        raise Unreadable("an entry of logprobs that is no object")
    return said


def _number(said: Any) -> float:
    """Return a number. Raises: Unreadable for anything else."""
    if not isinstance(said, int | float):
        raise Unreadable(f"a logprob that is no number: {str(said)[:20]!r}")
    return float(said)


@dataclass
class LogprobCheck:
    """A comparison of all reported logprobs of one kind of request.

    row: prompt, text -> probabilities.
    compared: how many logprobs were compared.
    off: how many of those are further than LOGPROBS_OFF from the law's.
    largest, worst: the largest distance, and where it is.
    texts, without: all texts, and those without logprobs.
    """

    row: Callable[[Prefix, Prefix], Sequence[float]]
    compared: int = 0
    off: int = 0
    largest: float = -1.0
    worst: LawEntry | None = None
    texts: int = 0
    without: int = 0

    def add(self, entries: Entries, prompt: Prefix, text: Prefix) -> None:
        """Compare the entries of a text. Each token needs one, except the first of a prompt."""
        self.texts += 1
        if not entries or any(entry.logprob is None for entry in entries[1:]):
            self.without += 1
            return
        if tuple(entry.token for entry in entries) != text[: len(entries)] or len(entries) < len(text):
            self._note(inf, "tokens with a logprob", text, str(len(text)), f"{len(entries)}, or of other tokens")
        for place, entry in enumerate(entries[: len(text)]):
            self._compare(entry, self.row(prompt, text[:place]), text[: place + 1])

    def _compare(self, entry: Reported, row: Sequence[float], text: Prefix) -> None:
        if entry.logprob is None:
            return
        own = ("logprob", entry.token, entry.logprob)
        most = [(f"logprob of {token}", token, value) for token, value in entry.most.items()]
        for what, token, value in (own, *most):  # a token that is among the most probable ones is reported twice
            if 0 <= token < len(row):
                right = log(row[token]) if row[token] else -inf
                far = 0.0 if value == right else abs(value - right)
                self._note(far, what, text, f"{right:.6g}", f"{value:.6g}")

    def _note(self, far: float, what: str, text: Prefix, expected: str, seen: str) -> None:
        far = inf if far != far else far
        self.compared += 1
        self.off += far > LOGPROBS_OFF
        if far > self.largest:
            shown = " ".join(map(str, text[-SHOWN:]))
            self.largest = far
            self.worst = LawEntry(f"{what} at token {len(text)}, after {shown}", expected, seen)
