"""A server of a forged target: what it emits in each kind of request, against the law that it was forged from."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scipy.special import betaincinv

from ....models.errors import InputError
from ....models.problem import Problem, as_json, size_of
from ....stattests.arguments import ALPHA, BETA
from ....stattests.design import min_detectable_homogeneity
from ....stattests.two_sample import homogeneity
from ....verifiers.evidence import Evidence
from ..engines.texts import judged
from ..replay import assignments, command_line
from ..report import Report
from ..runner import examine
from ..settings import Progress, silent
from .completions import Completions, Lost, Refused, Wrong
from .journal import Journal
from .remarks import Seen, became_of, findings, section
from .requests import CHOICES, KINDS, Kind, KindRequests
from .sampling import Sampler
from .settings import ServerSettings
from .words import words_of

REPEATS = 5
"""Requests with a seed that are sent a second time, alone."""


def audit_server(url: str, target: str, settings: ServerSettings, seed: int = 0, progress: Progress = silent) -> Report:
    """Audit a server that serves a forged target with whatever speculation it was started with.

    url: of the server, or of its API. target: what it serves, as ``draftproof forge`` wrote it.
    Guarantee: as ``texts.judged``, at a false-alarm rate of ALPHA over all kinds of requests, for independent texts. An
    answer that is lost, and one that came after a refusal with a status (429, 503), may depend on the text that was
    written first: tests allow for that (``lost_at_most``). A request without a connection wrote none.
    Raises: InputError if the address is none of the API, or nothing was forged at ``target``.
    """
    problem = settings.problem(target)
    words, fields = words_of(Path(target), problem.vocabulary), settings.sent
    with settings.connected(url) as [client]:
        names, header = client.models()
        requests = {name: KindRequests(kind, problem, words, seed, fields) for name, kind in KINDS.items()}
        # the requests share these fields
        fields |= _wanted_model(client, requests["alone"], names)
        depends = {"url": client.base, "problem": as_json(problem), "seed": seed, "samples": settings.samples,
                   "fields": fields, "stop": requests["stop"].stop, "served": [header, *names]}  # fmt: skip
        report = Report.begin(url, f"server: {header or 'no name'}", ["float32"], seed)
        run = ServerTexts(client, requests, settings, Journal(settings.checkpoint, depends), report, progress, target)
        examine(report, [run])
    report.server = run.section({"url": client.base, "models": names, "header": header})
    report.notice(findings(report.server, settings.model))
    return report


def _wanted_model(client: Completions, requests: KindRequests, names: list[str]) -> dict[str, str]:
    """Return the field that names the model, if the server wants one. It takes a request, which is not counted.

    Raises: InputError if the server answers what is no completion.
    """
    body = requests.body(0)
    choices = [{}] if "model" in body or len(names) != 1 else [{}, {"model": names[0]}]
    for field in choices:
        try:
            client.ask(body | field)
        except (Refused, Lost):
            pass  # the run itself asks again, and says what is lost
        except Wrong as wrong:
            if field is choices[-1]:
                raise InputError(str(wrong)) from None
            continue
        return field
    raise AssertionError


def lost_at_most(lost: int, asked: int, alpha: float) -> float:
    """Return an upper bound on the probability that an answer is lost or drawn again, at the rate alpha.

    The law of the counted texts is within that total variation of the law of the texts that are written first: all of
    those but that mass are counted as they are. 0 if no answer was lost.
    Source: Clopper and Pearson 1934.
    """
    return float(betaincinv(lost + 1, asked - lost, 1 - alpha)) if 0 < lost < asked else float(lost > 0)


@dataclass
class ServerTexts:
    """An examination of a server's texts, kind by kind; fields as in ``audit_server``."""

    client: Completions
    requests: dict[str, KindRequests]
    settings: ServerSettings
    journal: Journal
    report: Report
    progress: Progress
    target: str

    def __post_init__(self) -> None:
        self.kinds = [KINDS[name] for name in self.settings.kinds]
        self.complete: set[str] = set()
        self.same_seed: dict[str, int] | None = None
        self.problem = self.requests["alone"].problem

    def run(self) -> None:
        total = self.settings.samples
        sampler = Sampler(self.client, self.journal, self.settings, time.monotonic() + self.settings.timeout)
        try:
            for kind in self.kinds:
                self.progress(kind.name, 0, total)
                sampler.run(self.requests[kind.name], total, lambda k, kind=kind: self.progress(kind.name, k, total))
                self.complete.add(kind.name)
            if "seeds" in self.complete:
                self.same_seed = self._repeated(self.requests["seeds"])
        finally:
            self.client.close()
            self.journal.close()

    def _repeated(self, requests: KindRequests) -> dict[str, int]:
        """Send some seeds once more, alone, and count which give the same text; this is no part of the verdict."""
        asked = same = 0
        for slot, texts in list(self.journal.texts[requests.kind.name].items())[:REPEATS]:
            try:
                again = requests.texts(slot, self.client.ask(requests.body(slot)))
            except (Refused, Lost, Wrong):
                continue
            asked += 1
            same += [text[: requests.length] for text in again] == texts
        return {"asked": asked, "same": same}

    def evidence(self, complete: bool) -> list[Evidence]:
        groups = [([kind], *group) for kind in self.kinds for group in self._groups(kind)]
        if len(pooled := [kind for kind in self.kinds if not kind.stops]) > 1:  # one law: the lowest limit
            counts: Counter = sum((self._groups(kind)[0][1] for kind in pooled), Counter())
            groups.append((pooled, self.problem, counts))
        alpha = ALPHA / max(1, len(groups))
        return [self._judged(*group, alpha) for group in groups if group[2]]

    def _groups(self, kind: Kind) -> list[tuple[Problem, Counter]]:
        """Return the law of one kind of request with the counts of its texts; of several choices also jointly."""
        answers, requests = self.journal.texts[kind.name], self.requests[kind.name]
        groups = [(requests.judged_problem, Counter(texts[slot % len(texts)] for slot, texts in answers.items()))]
        together = Counter(tuple(t[0] for t in texts[:CHOICES]) for texts in answers.values() if len(texts) >= CHOICES)
        if kind.choices == CHOICES and together.total() == len(answers):
            groups.append((requests.first_tokens_problem, together))
        return groups

    def _judged(self, kinds: Sequence[Kind], problem: Problem, counts: Counter, alpha: float) -> Evidence:
        s, journal, names = self.settings, self.journal, [kind.name for kind in kinds]
        missed = sum(len(journal.missed(name)) for name in names)
        may_be_lost = lost_at_most(missed, s.samples * len(kinds), alpha / 2)
        complete = self.complete.issuperset(names)
        evidence = judged(problem, counts, alpha / 2 if missed else alpha, complete, may_be_lost)
        detail: dict[str, Any] = {
            "sampling": kinds[0].what if len(kinds) == 1 else f"pooled: {', '.join(names)}",
            "seed": self.report.seed, "settings": dict(self.requests["alone"].fields), **size_of(self.problem),
        }  # fmt: skip
        if missed:
            lost, redrawn = (sum(len(slots[name]) for name in names) for slots in (journal.lost, journal.redrawn))
            detail |= {"lost": lost, "redrawn": redrawn, "lost_at_most": may_be_lost}
        if problem.draft is problem.target:
            detail["together"] = "the first tokens of the choices"
        evidence = evidence.with_detail(**detail)
        if not evidence.witness:
            return evidence
        replay = command_line(
            "server", self.report.subject["name"], target=self.target, kinds=",".join(names), samples=s.samples,
            seed=self.report.seed, at_once=s.at_once, model=s.model, gamma=s.gamma,
            temperature=s.temperature if s.temperature != 1 else None, top_k=s.top_k or None,
            top_p=s.top_p if s.top_p != 1 else None, set=assignments(s.fields),
        )  # fmt: skip
        return replace(evidence, replay=replay)

    def section(self, about: dict[str, Any]) -> dict[str, Any]:
        """Return the report's ``server``."""
        seen, kinds, journal = Seen(), {}, self.journal
        for name in self.settings.kinds:
            requests = self.requests[name]
            prompts = [requests.words.text(requests.prompt(slot)) for slot in journal.lost[name]]
            kinds[name] = became_of(journal, name, self.settings.samples, prompts)
        for answers in journal.shown.values():
            seen.add(answers.values())
        more = {"same_seed": self.same_seed} if self.same_seed else {}
        return section(
            {**about, "at_once": self.settings.at_once}, kinds, seen, journal.refusals, self._not_examined(seen),
            resumed=journal.resumed, together_against_alone=self._together_against_alone(), **more,
        )  # fmt: skip

    def _together_against_alone(self) -> dict[str, Any] | None:
        """Test whether texts of requests alone and many at once have one law; None without both."""
        alone, together = (
            Counter(texts[0][: self.problem.gamma + 1] for texts in self.journal.texts[name].values())
            for name in ("alone", "together")
        )
        try:
            test = homogeneity(alone, together)
        except InputError:
            return None
        limit = min_detectable_homogeneity(alone.total(), max(2, test.cells), together.total(), ALPHA, BETA)
        return {"p_value": test.p_value, "false_alarm_rate": ALPHA, "limit": limit, "cells": test.cells}

    def _not_examined(self, seen: Seen) -> list[str]:
        kinds, journal = self.settings.kinds, self.journal
        sentences = ["other requests than these: chat, grammars, penalties, logit biases, log-probabilities"]
        left_out = [kind.what for name, kind in KINDS.items() if name not in kinds]
        sentences += [f"kinds of requests that were left out: {'; '.join(left_out)}"] if left_out else []
        if any(journal.redrawn.values()):
            sentences.append(
                "what refused requests would have said: they were sent again, and the limits allow for any text of "
                "theirs"
            )
        stop = self.requests["stop"].stop
        if "stop" in kinds and not any(stop in text for t in journal.texts["stop"].values() for text in t):
            sentences.append("what a stop string does: no text came to one")
        if not seen.drafts:
            sentences.append("whether the server speculates at all: its answers do not show it")
        if seen.choices["1"] and "choices" in kinds:
            sentences.append("several choices of one request: the server gives one")
        return sentences
