"""What a run shows of a server beyond its law: what answers show, the report's section, findings in words."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....models.errors import InputError
from ....stattests.arguments import ALPHA, BETA
from ....stattests.design import min_detectable_homogeneity
from ....stattests.two_sample import homogeneity
from .completions import Completion
from .journal import Journal
from .kinds import KINDS, Kind, RequestPlan
from .settings import ServerSettings


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


SHOWN = 3
"""Prompts of lost answers that are shown."""


def section(
    base: str, plan: RequestPlan, journal: Journal, settings: ServerSettings, about: dict[str, Any]
) -> dict[str, Any]:
    """The report's ``server``: counts of each kind of request, what was lost and refused, what shows of speculation."""
    kinds, seen = {}, Seen.of(answer for answers in journal.shown.values() for answer in answers.values())
    for name in settings.kinds:
        lost = journal.lost[name]
        prompts = Counter(plan.words.text(plan.prompt(KINDS[name], slot)) for slot in lost)
        kinds[name] = {
            "asked": settings.samples, "counted": len(journal.texts[name]), "lost": dict(Counter(lost.values())),
            "lost_prompts": dict(prompts.most_common(SHOWN)), "redrawn": len(journal.redrawn[name]),
        }  # fmt: skip
    return {
        "url": base, **about, "answered_as": sorted(filter(None, seen.models)),
        "fingerprints": sorted(filter(None, seen.fingerprints)), "at_once": settings.at_once, "kinds": kinds,
        "refused": dict(journal.refusals), "resumed": journal.resumed, "longer_than_asked": seen.excess,
        "choices": {str(n): times for n, times in seen.choices.items() if times},
        "speculation": speculation(seen), "together_against_alone": _compared(plan, journal),
        "not_examined": _not_examined(plan, seen, journal, settings),
    }  # fmt: skip


def speculation(seen: Seen) -> dict[str, Any]:
    """Whether answers show drafts: by their timings, or by events of a stream with several tokens."""
    if seen.drafted:
        return {"seen": "in the answers' timings", "drafted": seen.drafted, "accepted": seen.accepted}
    if seen.events and seen.streamed > 1.02 * seen.events:
        return {"seen": "in the stream", "tokens_per_event": round(seen.streamed / seen.events, 3)}
    return {"seen": "nowhere: neither timings nor the stream's events show drafts"}


def _compared(plan: RequestPlan, journal: Journal) -> dict[str, Any] | None:
    """Two samples, one of requests alone and one of many at once: are their laws the same? None without both."""
    length = plan.problem.gamma + 1
    alone, together = (
        Counter(texts[0][:length] for texts in journal.texts[name].values()) for name in ("alone", "together")
    )
    try:
        test = homogeneity(alone, together, ALPHA)
    except InputError:
        return None
    n, m = sum(alone.values()), sum(together.values())
    limit = min_detectable_homogeneity(n, max(2, test.cells), m, ALPHA, BETA)
    return {"p_value": test.p_value, "false_alarm_rate": ALPHA, "limit": limit, "cells": test.cells}


def _not_examined(plan: RequestPlan, seen: Seen, journal: Journal, settings: ServerSettings) -> list[str]:
    sentences = ["other requests than those that were sent: chat, grammars, penalties, logit biases, log-probabilities"]
    left_out = [kind.what for name, kind in KINDS.items() if name not in settings.kinds]
    sentences += [f"kinds of requests that were left out: {'; '.join(left_out)}"] if left_out else []
    if any(journal.redrawn.values()):
        sentences.append(
            "what refused requests would have said: they were sent again, and the limits allow for any text of theirs"
        )
    if "stop" in settings.kinds and not any(plan.stop in text for t in journal.texts["stop"].values() for text in t):
        sentences.append("what a stop string does: no text came to one")
    if not seen.drafted and "in the stream" not in str(speculation(seen)["seen"]):
        sentences.append("whether the server speculates at all: its answers do not show it")
    if seen.choices[1] and "choices" in settings.kinds:
        sentences.append("several choices of one request: the server gives one")
    return sentences


def findings(server: dict[str, Any], model: str | None) -> dict[str, str]:
    """What is remarkable, by the key of ``report.FINDINGS``."""
    remarks = {}
    lost = {name: kind for name, kind in server["kinds"].items() if kind["lost"]}
    if lost:
        reasons = sum((Counter(kind["lost"]) for kind in lost.values()), Counter())
        prompts = sum((Counter(kind["lost_prompts"]) for kind in lost.values()), Counter())
        why = "; ".join(f"{n} times: {reason}" for reason, n in reasons.most_common(SHOWN))
        after = ", ".join(f"{prompt[:40]!r} ({n})" for prompt, n in prompts.most_common(SHOWN))
        remarks["answers-lost"] = (
            f"{sum(reasons.values())} answers are lost and were not drawn again ({why}); prompts: {after}"
        )
    if server["refused"]:
        why = "; ".join(f"{n} times: {reason}" for reason, n in server["refused"].items())
        remarks["refused"] = f"requests were not taken ({why}); they were sent again{_allowed(server['kinds'])}"
    if server["longer_than_asked"]:
        remarks["longer-texts"] = f"{server['longer_than_asked']} texts have more tokens than max_tokens"
    if model and server["answered_as"] not in ([], [model]):
        remarks["another-model"] = f"asked for {model!r}, the answers name {', '.join(server['answered_as'])}"
    elif len(server["answered_as"]) > 1:
        remarks["another-model"] = f"the answers name several models: {', '.join(server['answered_as'])}"
    if (pair := server["together_against_alone"]) and pair["p_value"] <= pair["false_alarm_rate"]:
        remarks["together-differs"] = f"texts of requests sent together and alone differ (p = {pair['p_value']:.2g})"
    if (seeds := server.get("same_seed")) and seeds["same"] < seeds["asked"]:
        remarks["seeds"] = f"{seeds['asked'] - seeds['same']} of {seeds['asked']} seeds sent again gave another text"
    return remarks


def _allowed(kinds: dict[str, Any]) -> str:
    """How many requests the limits allow for: a refusal with a status may depend on a text that was written."""
    redrawn = sum(kind["redrawn"] for kind in kinds.values())
    return f"; the limits allow for {redrawn} refused with a status, which may hide a text" if redrawn else ""
