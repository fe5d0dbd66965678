"""Logprobs that a server reports, of its text and of its prompt, each compared with its row."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log
from threading import Lock
from typing import Any, NamedTuple

from ....models.law import Prefix
from ....proofs.laws.text_laws import LOGPROBS_OFF
from ....verifiers.evidence import LawEntry
from ..engines.child import ENDED
from .kinds import Unreadable, Words

SHOWN = 4
"""Tokens of a text in a witness."""


class Reported(NamedTuple):
    """Of one place: its token, the token's logprob (None of a first one), and those of the most probable tokens."""

    token: int
    logprob: float | None
    most: Mapping[int, float]


def reported(said: Any, words: Words) -> list[Reported] | None:
    """The logprobs of one choice, in the form of OpenAI's completions or of its chats; None if there are none.

    Raises: Unreadable for a token that is none of the target's.
    """
    if not isinstance(said, dict):
        return None
    if isinstance(said.get("content"), list):
        return [_of_chat(entry, words) for entry in said["content"]]
    tokens, values = said.get("tokens"), said.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return None
    most = said.get("top_logprobs")
    tops = most if isinstance(most, list) and len(most) == len(tokens) else [None] * len(tokens)
    return [
        Reported(_token(token, words), value, dict(_tops(top, words)))
        for token, value, top in zip(tokens, values, tops)
    ]


def _of_chat(entry: Any, words: Words) -> Reported:
    if not isinstance(entry, dict):
        raise Unreadable("an entry of logprobs that is no object")
    most = entry.get("top_logprobs", entry.get("top_probs")) or ()
    return Reported(_token(entry, words), _value(entry), {_token(top, words): _value(top) for top in most})


def _value(entry: Mapping[str, Any]) -> float:
    if "logprob" in entry:
        return float(entry["logprob"])
    return log(entry["prob"]) if entry.get("prob") else -inf


def _token(named: Any, words: Words) -> int:
    """By its id where that is said, else by its text."""
    if isinstance(named, dict):
        named = named["id"] if "id" in named else named.get("token")
    if isinstance(named, int):
        return named
    tokens = words.tokens(str(named))
    return tokens[0] if len(tokens) == 1 else ENDED


def _tops(top: Any, words: Words) -> Iterator[tuple[int, float]]:
    for token, value in top.items() if isinstance(top, dict) else ():
        yield _token(token, words), float(value)


@dataclass
class LogprobCheck:
    """All reported logprobs of one kind of request.

    row: the law that they are of: prompt, text -> probabilities.
    compared, off: how many, and of them further than LOGPROBS_OFF from the law's. largest: how far.
    worst: that one. texts, without: with and without logprobs.
    """

    row: Callable[[Prefix, Prefix], Sequence[float]]
    compared: int = 0
    off: int = 0
    largest: float = -1.0
    worst: LawEntry | None = None
    texts: int = 0
    without: int = 0
    _lock: Lock = field(default_factory=Lock)

    def add(self, entries: Sequence[Reported] | None, prompt: Prefix, text: Prefix) -> None:
        """Compare those of a text; there has to be one of each token, but for the first of a prompt."""
        with self._lock:
            self.texts += 1
            if not entries or any(entry.logprob is None for entry in entries[1:]):
                self.without += 1
                return
            if tuple(entry.token for entry in entries) != text[: len(entries)] or len(entries) < len(text):
                self._note(inf, "tokens with a logprob", text, str(len(text)), f"{len(entries)}, or of other tokens")
            for place, entry in enumerate(entries[: len(text)]):
                if entry.logprob is not None:
                    self._compare(entry, self.row(prompt, text[:place]), text[: place + 1])

    def _compare(self, entry: Reported, row: Sequence[float], text: Prefix) -> None:
        assert entry.logprob is not None
        for token, value in {entry.token: entry.logprob, **entry.most}.items():
            if 0 <= token < len(row):
                right = log(row[token]) if row[token] else -inf
                far = 0.0 if value == right else abs(value - right)
                what = "logprob" if token == entry.token else f"logprob of {token}"
                self._note(far, what, text, f"{right:.6g}", f"{value:.6g}")

    def _note(self, far: float, what: str, text: Prefix, expected: str, seen: str) -> None:
        far = inf if far != far else far
        self.compared += 1
        self.off += far > LOGPROBS_OFF
        if far > self.largest:
            shown = " ".join(map(str, text[-SHOWN:]))
            self.largest = far
            self.worst = LawEntry(f"{what} at token {len(text)}, behind {shown}", expected, seen)
