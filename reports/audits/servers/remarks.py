"""What a run shows of a server beyond its law: what answers show, the report's section, findings in words."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .completions import Completion
from .journal import Journal
from .requests import Kind

SHOWN = 3
"""Prompts of lost answers that are shown."""

MORE_THAN_ONE = 1.02
"""Tokens an event of a stream, on average, above which drafts show in it."""


@dataclass
class Seen:
    """A sum of what all answers show, those of earlier runs of the same checkpoint too.

    excess: texts that were longer than asked for.
    choices: texts an answer had -> how often, if several were asked for.
    models, fingerprints: names in answers -> how often.
    drafted, accepted: tokens, by the timings of answers that have them.
    streamed, events: tokens of streamed texts, and events they came in.
    """

    excess: int = 0
    choices: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    fingerprints: Counter[str] = field(default_factory=Counter)
    drafted: int = 0
    accepted: int = 0
    streamed: int = 0
    events: int = 0

    def add(self, answers: Iterable[Mapping[str, Any]]) -> "Seen":
        """Add what ``shown`` gave for each answer."""
        for answer in answers:
            for name, value in answer.items():
                known = getattr(self, name)
                setattr(self, name, known + (Counter([str(value)]) if isinstance(known, Counter) else value))
        return self

    def speculation(self) -> dict[str, Any]:
        """Return how answers show drafts: by their timings, or by events of a stream with several tokens."""
        if self.drafted:
            return {"seen": "in the answers' timings", "drafted": self.drafted, "accepted": self.accepted}
        if self.events and self.streamed > MORE_THAN_ONE * self.events:
            return {"seen": "in the stream", "tokens_per_event": round(self.streamed / self.events, 3)}
        return {"seen": "nowhere: neither timings nor the stream's events show drafts"}

    @property
    def drafts(self) -> bool:
        """Return True if answers show drafts."""
        return len(self.speculation()) > 1


def shown(kind: Kind, answer: Completion, texts: Sequence[Sequence[int]], length: int) -> dict[str, Any]:
    """Return the fields of ``Seen`` that one answer adds to, without those that are 0 or empty."""
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


def became_of(journal: Journal, kind: str, asked: int, prompts: Iterable[str] = ()) -> dict[str, Any]:
    """Return what became of one kind of request, for the report. prompts: those of lost answers."""
    return {
        "asked": asked, "counted": len(journal.texts[kind]), "lost": dict(Counter(journal.lost[kind].values())),
        "lost_prompts": dict(Counter(prompts).most_common(SHOWN)), "redrawn": len(journal.redrawn[kind]),
    }  # fmt: skip


def findings(server: dict[str, Any], model: str | None) -> dict[str, str]:
    """Return what is remarkable in a report's ``server``, by the key of ``report.FINDINGS``.

    model: that was asked for.
    """
    remarks = {}
    kinds = server["kinds"].values()
    reasons = sum((Counter(kind["lost"]) for kind in kinds), Counter())
    if reasons:
        prompts = sum((Counter(kind["lost_prompts"]) for kind in kinds), Counter())
        why = "; ".join(f"{n} times: {reason}" for reason, n in reasons.most_common(SHOWN))
        after = ", ".join(f"{prompt[:40]!r} ({n})" for prompt, n in prompts.most_common(SHOWN))
        said = f"{reasons.total()} answers were lost and not requested again ({why})"
        remarks["answers-lost"] = f"{said}; prompts: {after}" if after else said
    if server["refused"]:
        why = "; ".join(f"{n} times: {reason}" for reason, n in server["refused"].items())
        redrawn = sum(kind["redrawn"] for kind in kinds)
        allowed = f"; the limits allow for {redrawn} refused with a status, which may hide an output" if redrawn else ""
        remarks["refused"] = f"requests were not taken ({why}); they were sent again{allowed}"
    if server["longer_than_asked"]:
        remarks["longer-texts"] = f"{server['longer_than_asked']} outputs have more tokens than max_tokens"
    if model and server["answered_as"] not in ([], [model]):
        remarks["another-model"] = f"asked for {model!r}, the answers name {', '.join(server['answered_as'])}"
    elif len(server["answered_as"]) > 1:
        remarks["another-model"] = f"the answers name several models: {', '.join(server['answered_as'])}"
    if (seeds := server.get("same_seed")) and seeds["same"] < seeds["asked"]:
        remarks["seeds"] = f"{seeds['asked'] - seeds['same']} of {seeds['asked']} seeds sent again gave another output"
    return remarks
