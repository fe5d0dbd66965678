"""What the answers of a server show besides their texts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .completions import Completion
from .kinds import Kind


@dataclass
class Seen:
    """What all answers show together, those of earlier runs of the same checkpoint too.

    excess: texts that were longer than asked for.
    choices: texts an answer had -> how often, where several were asked for.
    models, fingerprints: that answers name.
    drafted, accepted: tokens, by the timings of answers that have them.
    streamed, events: tokens of streamed texts, and events they came in.
    """

    excess: int = 0
    choices: Counter[int] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    fingerprints: Counter[str] = field(default_factory=Counter)
    drafted: int = 0
    accepted: int = 0
    streamed: int = 0
    events: int = 0

    @classmethod
    def of(cls, answers: Iterable[Mapping[str, Any]]) -> "Seen":
        """Of what ``shown`` gave for each answer."""
        seen = cls()
        for answer in answers:
            for name, value in answer.items():
                known = getattr(seen, name)
                if isinstance(known, Counter):
                    known[value] += 1
                else:
                    setattr(seen, name, known + value)
        return seen


def shown(kind: Kind, answer: Completion, texts: Sequence[Sequence[int]], length: int) -> dict[str, Any]:
    """The fields of ``Seen`` that one answer adds to, those that are 0 or empty left out."""
    values = {
        "excess": sum(len(text) > length for text in texts),
        "choices": len(texts) if kind.choices > 1 else 0,
        "models": answer.model,
        "fingerprints": answer.fingerprint,
        "drafted": _count(answer.timings, "draft_n"),
        "accepted": _count(answer.timings, "draft_n_accepted"),
        "streamed": sum(map(len, texts)) if kind.stream else 0,
        "events": answer.events if kind.stream else 0,
    }
    return {name: value for name, value in values.items() if value}


def _count(timings: Mapping[str, object], name: str) -> int:
    value = timings.get(name)
    return value if isinstance(value, int) else 0
