"""A server from outside: what it emits on a forged target against the law that this was forged from."""

import json
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scipy.special import betaincinv

from ....models.errors import InputError
from ....models.problem import Problem, as_json, size_of
from ....stattests.arguments import ALPHA
from ....verifiers.evidence import Evidence
from ..engines.texts import judged
from ..report import Report
from ..runner import examine
from ..settings import Progress
from .completions import Completions, Lost, Refused, Wrong, api_base
from .journal import Journal
from .kinds import CHOICES, KINDS, Kind, RequestPlan, words_of
from .remarks import findings, section
from .sampling import Sampler
from .settings import ServerSettings

REPEATS = 5
"""Requests with a seed that are sent a second time, alone."""


def audit_server(
    url: str, target: str, settings: ServerSettings, seed: int = 0, progress: Progress = lambda stage, done, total: None
) -> Report:
    """Audit a server that serves a forged target with whatever speculation it was started with.

    url: of the server, or of its API. target: what it serves, as ``draftproof forge`` wrote it.
    Guarantee: as ``texts.judged``, at a false-alarm rate of ALPHA over all kinds of requests, for independent texts. An
    answer that is lost, and one that came after a refusal with a status (429, 503), may depend on the text that was
    written first: tests allow for that (``lost_at_most``). A request without a connection wrote none.
    Raises: InputError if the address is none of the API, or nothing was forged at ``target``.
    """
    base = api_base(url)
    problem = settings.problem(target)
    plan = RequestPlan(problem, words_of(Path(target), problem.vocabulary), seed, settings.sent)
    client = Completions(base, settings.request_timeout, settings.at_once, settings.key)
    try:
        names, header = client.models()
        plan = _probed(client, plan, names)
        depends = {"url": base, "problem": as_json(plan.problem), "seed": seed, "samples": settings.samples,
                   "fields": dict(plan.settings), "stop": plan.stop, "served": [header, *names]}  # fmt: skip
        journal = Journal(settings.checkpoint, depends)
    except BaseException:
        client.close()
        raise
    report = Report.begin(url, f"server: {header or 'no name'}", ["float32"], seed)
    run = ServerTexts(client, plan, settings, journal, report, progress, {"models": names, "header": header}, target)
    try:
        examine(report, [run])
    finally:
        journal.close()
        client.close()
    report.server = section(base, plan, journal, settings, run.about)
    report.notice(findings(report.server, settings.model))
    return report


def _probed(client: Completions, plan: RequestPlan, names: list[str]) -> RequestPlan:
    """The plan with the model's name, where the server wants one. One request, which is not counted.

    Raises: InputError if the server answers what is no completion.
    """
    body = plan.body(KINDS["alone"], 0)
    try:
        client.ask(body)
    except (Refused, Lost):
        pass  # the run itself asks again, and says what is lost
    except Wrong as wrong:
        if "model" in body or len(names) != 1:
            raise InputError(str(wrong)) from None
        plan = replace(plan, settings={**plan.settings, "model": names[0]})
        try:
            client.ask(plan.body(KINDS["alone"], 0))
        except (Refused, Lost):
            pass
        except Wrong as again:
            raise InputError(str(again)) from None
    return plan


def lost_at_most(lost: int, asked: int, alpha: float) -> float:
    """An upper bound on the probability that an answer is lost or drawn again, at the rate alpha; 0 if none was.

    Texts that are counted then have a law within that total variation of that of the texts that are written first: of
    those, all but that mass are counted as they are.
    Source: Clopper and Pearson 1934.
    """
    return float(betaincinv(lost + 1, asked - lost, 1 - alpha)) if 0 < lost < asked else float(lost > 0)


@dataclass
class ServerTexts:
    """Texts of a server, kind by kind; fields as in ``audit_server``."""

    client: Completions
    plan: RequestPlan
    settings: ServerSettings
    journal: Journal
    report: Report
    progress: Progress
    about: dict[str, Any]
    target: str

    def __post_init__(self) -> None:
        s = self.settings
        self.kinds = [KINDS[name] for name in s.kinds]
        self.complete: set[str] = set()
        until = time.monotonic() + s.timeout
        self.sampler = Sampler(self.client, self.plan, self.journal, s.samples, s.at_once, until, s.patience)

    def run(self) -> None:
        total = self.settings.samples
        try:
            for kind in self.kinds:
                self.progress(kind.name, 0, total)
                self.sampler.run(kind, lambda done, kind=kind: self.progress(kind.name, done, total))
                self.complete.add(kind.name)
            if "seeds" in self.complete:
                self.about["same_seed"] = self._repeated(KINDS["seeds"])
        finally:
            self.client.close()
            self.journal.close()

    def evidence(self, complete: bool) -> list[Evidence]:
        groups = [([kind], *group) for kind in self.kinds for group in self._groups(kind)]
        groups += self._pooled()
        alpha = ALPHA / max(1, len(groups))
        return [self._judged(*group, alpha) for group in groups if group[2]]

    def _pooled(self) -> list[tuple[list[Kind], Problem, Counter]]:
        """All kinds of requests whose texts have one law, together: the lowest limit."""
        kinds = [kind for kind in self.kinds if not kind.stops]
        counts: Counter = sum((self._groups(kind)[0][1] for kind in kinds), Counter())
        return [(kinds, self.plan.problem, counts)] if len(kinds) > 1 else []

    def _groups(self, kind: Kind) -> list[tuple[Problem, Counter]]:
        """The law of one kind of request with the counts of its texts; for several choices also of them together."""
        answers = self.journal.texts[kind.name]
        problem = self.plan.stopped() if kind.stops else self.plan.problem
        groups = [(problem, Counter(texts[slot % len(texts)] for slot, texts in answers.items()))]
        together = Counter(tuple(t[0] for t in texts[:CHOICES]) for texts in answers.values() if len(texts) >= CHOICES)
        if kind.choices == CHOICES and sum(together.values()) == len(answers):
            groups.append((self.plan.first_tokens(), together))
        return groups

    def _judged(self, kinds: Sequence[Kind], problem: Problem, counts: Counter, alpha: float) -> Evidence:
        asked, journal = self.settings.samples * len(kinds), self.journal
        lost, redrawn = (sum(len(slots[kind.name]) for kind in kinds) for slots in (journal.lost, journal.redrawn))
        missed = sum(len(journal.redrawn[kind.name].union(journal.lost[kind.name])) for kind in kinds)
        may_be_lost = lost_at_most(missed, asked, alpha / 2)
        complete = all(kind.name in self.complete for kind in kinds)
        evidence = judged(problem, counts, alpha / 2 if missed else alpha, complete, may_be_lost)
        sampling = kinds[0].what if len(kinds) == 1 else f"pooled: {', '.join(kind.name for kind in kinds)}"
        how = {"sampling": sampling, "seed": self.report.seed, "settings": dict(self.plan.settings)}
        losses = {"lost": lost, "redrawn": redrawn, "lost_at_most": may_be_lost} if missed else {}
        joint = {"together": "the first tokens of the choices"} if problem.draft is problem.target else {}
        evidence = evidence.with_detail(**how, **losses, **joint, **size_of(self.plan.problem))
        return replace(evidence, replay=self._replay(kinds)) if evidence.witness else evidence

    def _replay(self, kinds: Sequence[Kind]) -> str:
        """The command that sends these kinds of requests again."""
        s = self.settings
        names = ",".join(kind.name for kind in kinds)
        words = ["draftproof", "engine", self.report.subject["name"], "--target", self.target, "--kinds", names]
        words += ["--samples", str(s.samples), "--seed", str(self.report.seed), "--at-once", str(s.at_once)]
        given = {"--model": s.model, "--gamma": s.gamma, "--temperature": s.temperature if s.temperature != 1 else None,
                 "--top-k": s.top_k or None, "--top-p": s.top_p if s.top_p != 1 else None}  # fmt: skip
        words += [word for option, value in given.items() if value is not None for word in (option, str(value))]
        words += [w for name, value in s.fields.items() for w in ("--set", f"{name}={json.dumps(value)}")]
        return shlex.join(words)

    def _repeated(self, kind: Kind) -> dict[str, int]:
        """The same seeds once more, alone: how many give the same text. Reported, and no part of the verdict."""
        asked = same = 0
        for slot, texts in list(self.journal.texts[kind.name].items())[:REPEATS]:
            try:
                again = self.plan.texts(kind, slot, self.client.ask(self.plan.body(kind, slot)))
            except (Refused, Lost, Wrong):
                continue
            asked += 1
            same += [text[: self.plan.length] for text in again] == texts
        return {"asked": asked, "same": same}
