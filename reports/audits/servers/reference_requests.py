"""The requests for texts of real weights, after real prompts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....models.law import Prefix
from ..engines.child import ENDED
from .completions import Completion, Lost, Wrong
from .reported import Entries, reported
from .requests import Kind, SentRequests

REPORTED = 20
"""Most probable tokens that are asked for with a row."""


def _id(named: Any) -> int:
    """Return the id that a token is named by: llama.cpp gives an id, vLLM "token_id:7"; ENDED if there is none."""
    if isinstance(named, dict):
        if isinstance(named.get("id"), int):
            return named["id"]
        named = named.get("token")
    name, _, number = str(named).partition(":")
    return int(number) if name == "token_id" and number.isdigit() else ENDED


@dataclass
class ReferenceRequests(SentRequests):
    """A ``SentRequests`` for texts after real prompts, in turn.

    cap: tokens of a text. ends: tokens that end it. first_seed: seed of the first slot's request.
    questions: of the chats that have these prompts; None where prompts are sent as ids.
    """

    kind: Kind
    prompts: Sequence[Sequence[int]]
    questions: Sequence[str] | None
    cap: int
    ends: Sequence[int]
    first_seed: int
    fields: dict[str, Any]

    @property
    def length(self) -> int:
        return self.cap + 1

    def prompt(self, slot: int) -> list[int]:
        """Return the ids before a slot's text."""
        return [*self.prompts[slot % len(self.prompts)]]

    def body(self, slot: int) -> dict[str, Any]:
        asked: dict[str, Any] = {"prompt": self.prompt(slot), "logprobs": REPORTED}
        if self.questions:
            message = {"role": "user", "content": self.questions[slot % len(self.questions)]}
            asked = {"messages": [message], "logprobs": True, "top_logprobs": REPORTED}
            asked["return_tokens_as_token_ids"] = True
        body = asked | {"max_tokens": self.cap, "seed": (self.first_seed + slot) % 2**31, "return_token_ids": True}
        body |= self.fields
        return {name: value for name, value in body.items() if value is not None}

    def texts(self, slot: int, answer: Completion) -> list[Prefix]:
        """Return the first choice's ids, by ``token_ids`` or its logprobs; ENDED follows if it ends before its cap.

        Raises: Wrong if the answer does not say which tokens it has: their texts do not tell. Wrong too if the server
        says that it made other tokens of a chat. Lost if it has fewer tokens than asked for and no end: what would have
        followed may be why it was cut short.
        """
        if isinstance(answer.prompt_ids, list) and self.questions and answer.prompt_ids != self.prompt(slot):
            raise Wrong("the server's chat template makes other tokens of a chat than the reference's")
        ids, [entries] = answer.token_ids[:1], self.reported(slot, answer)
        tokens = [entry.token for entry in entries or ()] if ids in ([], [None]) else ids[0]
        if not all(isinstance(t, int) and t != ENDED for t in tokens) or (not tokens and any(answer.texts)):
            raise Wrong("the answer does not say which tokens it has; expected token_ids, or logprobs with ids")
        ended = answer.ended[0] if answer.ended else None
        whole = len(tokens) >= (self.fields.get("max_tokens") or self.cap)
        if not whole and ended != "stop" and (not tokens or tokens[-1] not in self.ends):
            raise Lost(f"fewer tokens than asked for, with finish_reason {ended!r}")
        return [(*tokens, *([ENDED] if ended == "stop" else []))]

    def reported(self, slot: int, answer: Completion) -> list[Entries]:
        return [reported(answer.logprobs[0] if answer.logprobs else None, _id)]
