"""Tables of the texts of one call, text -> probability: their distance, their parts, texts that are ruled out."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ...models.decoding_settings import independent, joined, separated
from ...models.law import Prefix, prefix_key

TextMasses = Mapping[Any, float]
"""Probabilities of ``joined`` texts. An error that was raised in place of a text stands by its message."""


class SlotsMasses(NamedTuple):
    """The law of some texts of one call. slots: which. drawn: the way in which the others' numbers fell, given which
    the law is known; None if it depends on none of them."""

    slots: tuple[int, ...]
    masses: TextMasses
    drawn: int | None = None


def distance(law: TextMasses, other: TextMasses) -> float:
    """Return the total variation between two laws."""
    return sum(abs(law.get(o, 0.0) - other.get(o, 0.0)) for o in law.keys() | other.keys()) / 2


def masses_from(law: Sequence[Sequence[Any]]) -> TextMasses:
    """Return a law from its JSON: [text or error, probability]."""
    return {text if isinstance(text, str) else tuple(text): p for text, p in law}


def of_slots(law: TextMasses, slots: Sequence[int]) -> TextMasses:
    """Return the law of some of the texts of one call."""
    found: dict[Any, float] = {}
    for texts, p in law.items():
        some = texts if isinstance(texts, str) else joined(separated(texts)[slot] for slot in slots)
        found[some] = found.get(some, 0.0) + p
    return found


def independent_texts(laws: Any, slots: Sequence[int]) -> dict[Prefix, float]:
    """Return the law of the texts in these slots, each with its own law of ``laws``; errors are left out."""
    return independent([{text: p for text, p in laws[slot].items() if not isinstance(text, str)} for slot in slots])


def impossible(part: SlotsMasses, may: Mapping[int, Collection[Prefix]]) -> dict[Any, float]:
    """Return the texts that are written and ruled out, and errors, with their probabilities.

    may: the texts that may be written, by the place in a call.
    """

    def ruled_out(texts: Any) -> bool:
        return isinstance(texts, str) or any(
            text not in may[slot] for slot, text in zip(part.slots, separated(texts), strict=True)
        )

    return {texts: p for texts, p in part.masses.items() if p and ruled_out(texts)}


def in_words(text: Any) -> str:
    """Return texts of one call, or an error, as a witness shows them."""
    return text if isinstance(text, str) else " | ".join(prefix_key(part) or "nothing" for part in separated(text))


def number(p: float) -> str:
    """Return a probability as a witness shows it."""
    return f"{p:.6g}"
