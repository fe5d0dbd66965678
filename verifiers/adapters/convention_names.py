"""Names of calling conventions, and a subject's name with them; the command line reads it without NumPy."""

from collections.abc import Sequence
from typing import NamedTuple

CONVENTIONS = {
    "logits": "target_logits, draft_logits in place of probabilities; found by these names too",
    "batch": "a batch: target_probs [B, gamma + 1, V], draft_probs [B, gamma, V], draft_tokens [B, gamma]",
    "accepted": "returns (tokens, number accepted): the first number + 1 tokens are emitted",
    "mask": "returns (mask of accepted drafts, token): the drafts before the first False, and the token",
    "vllm": "vLLM's rejection_sample(draft_token_ids, num_draft_tokens, max_spec_len, cu_num_draft_tokens, ...)",
    "jax": "needs key, a new jax.random key for each call: its distribution is sampled",
}
"""The conventions by name, each in a line."""


class Slot(NamedTuple):
    """A place of a request in a batch of three. others: whether the drafts of each other one are accepted, for certain.

    words: for a message.
    """

    place: int
    others: tuple[bool, bool]
    words: str


SLOTS = {
    "slot0": Slot(0, (False, True), "first of three requests"),
    "slot1": Slot(1, (False, True), "second of three requests"),
    "slot2": Slot(2, (False, True), "last of three requests"),
    "among-accepted": Slot(1, (True, True), "second of three requests, all drafts of the others accepted"),
    "among-rejected": Slot(1, (False, False), "second of three requests, the first draft of the others rejected"),
}
"""Slots by name, next to ``batch``; the two others have other rows and drafted tokens."""

MARK = "@"
"""Separates a subject's name from its conventions, where they are one text: mine.py:verify@batch,logits."""


def named(name: str, conventions: Sequence[str]) -> str:
    """Return a subject's name with its conventions."""
    return f"{name}{MARK}{','.join(conventions)}" if conventions else name


def split(name: str) -> tuple[str, list[str]]:
    """Return a subject's name, and its conventions."""
    place, colon, attribute = name.rpartition(":")
    attribute, _, conventions = attribute.partition(MARK)
    return f"{place}{colon}{attribute}", [*filter(None, conventions.split(","))]
