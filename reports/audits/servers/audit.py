"""A server of a forged target: what it emits in each kind of request, against the law that it was forged from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scipy.special import betaincinv

from ....models.errors import InputError
from ....models.problem import Problem, as_json, size_of
from ....stattests.arguments import ALPHA
from ....verifiers.evidence import Evidence
from ..engines.texts import judged
from ..report import Report
from ..settings import Progress, silent
from .completions import Lost, Refused, Wrong
from .examination import ServerExamination, refused
from .journal import Journal
from .remarks import Seen
from .requests import CHOICES, KINDS, Kind, KindRequests
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
    with settings.connected(url) as clients:
        return ServerTexts(url, {"target": target}, clients, settings, seed, progress).audit()


def lost_at_most(lost: int, asked: int, alpha: float) -> float:
    """Return an upper bound on the probability that an answer is lost or drawn again, at the rate alpha.

    The law of the counted texts is within that total variation of the law of the texts that are written first: all of
    those but that mass are counted as they are. 0 if no answer was lost.
    Source: Clopper and Pearson 1934.
    """
    return float(betaincinv(lost + 1, asked - lost, 1 - alpha)) if 0 < lost < asked else float(lost > 0)


class ServerTexts(ServerExamination):
    """An examination of a server's texts, kind by kind."""

    settings: ServerSettings

    def begin(self) -> None:
        target, settings = self.given["target"], self.settings
        problem, fields = settings.problem(target), settings.sent
        words = words_of(Path(target), problem.vocabulary)
        # the requests share these fields
        self.requests = {name: KindRequests(kind, problem, words, self.seed, fields) for name, kind in KINDS.items()}
        fields |= self._wanted_model()
        depends = {"url": self.clients[0].address.removesuffix("/completions"), "problem": as_json(problem),
                   "seed": self.seed,
                   "samples": settings.samples, "fields": fields, "stop": self.requests["stop"].stop,
                   "served": [self.header, *self.names]}  # fmt: skip
        self.problem, self.kinds, self.journal = problem, [*settings.kinds], Journal(settings.checkpoint, depends)
        self.complete: set[str] = set()
        self.same_seed: dict[str, int] | None = None

    def _wanted_model(self) -> dict[str, str]:
        """Return the field that names the model, if the server wants one.

        Raises: InputError if the server answers what is no completion.
        """
        body = self.requests["alone"].body(0)
        why = refused(self.clients[0], body)
        if not why or "model" in body or len(self.names) != 1:
            field = {}
        else:
            field = {"model": self.names[0]}
            why = refused(self.clients[0], body | field)
        if why:
            raise InputError(why)
        return field

    def ask(self) -> None:
        total, sampler = self.settings.samples, self.sampler(self.clients[0])
        for kind in self.kinds:
            self.progress(kind, 0, total)
            try:
                sampler.run(self.requests[kind], total, lambda k, kind=kind: self.progress(kind, k, total))
            finally:
                self._lose_short(KINDS[kind])
            self.complete.add(kind)
        if "seeds" in self.complete:
            self.same_seed = self._repeated(self.requests["seeds"])

    def _lose_short(self, kind: Kind) -> None:
        """Count an answer with fewer choices than asked for as lost, if the server gives as many in another.

        A server that never does ignores n: it is judged by the choices that it gives, and none was left out.
        """
        given = {slot: len(texts) for slot, texts in list(self.journal.texts[kind.name].items())}
        short = {slot: choices for slot, choices in given.items() if choices < kind.choices}
        if len(short) < len(given):
            for slot, choices in short.items():
                self.journal.lose(kind.name, slot, f"{choices} of {kind.choices} choices")

    def _repeated(self, requests: KindRequests) -> dict[str, int]:
        """Send some seeds once more, alone, and count which give the same text; this is no part of the verdict."""
        asked = same = 0
        for slot, texts in list(self.journal.texts[requests.kind.name].items())[:REPEATS]:
            try:
                again = requests.texts(slot, self.clients[0].ask(requests.body(slot)))
            except (Refused, Lost, Wrong):
                continue
            asked += 1
            same += [text[: requests.length] for text in again] == texts
        return {"asked": asked, "same": same}

    def evidence(self, complete: bool) -> list[Evidence]:
        kinds = [KINDS[name] for name in self.kinds]
        groups = [([kind], *group) for kind in kinds for group in self._groups(kind)]
        if len(pooled := [kind for kind in kinds if not kind.stops]) > 1:  # one law: the lowest limit
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
        journal, names = self.journal, [kind.name for kind in kinds]
        missed = sum(len(journal.missed(name)) for name in names)
        may_be_lost = lost_at_most(missed, self.settings.samples * len(kinds), alpha / 2)
        complete = self.complete.issuperset(names)
        evidence = judged(problem, counts, alpha / 2 if missed else alpha, complete, may_be_lost)
        detail: dict[str, Any] = {
            "sampling": kinds[0].what if len(kinds) == 1 else f"pooled: {', '.join(names)}",
            "seed": self.seed, "settings": dict(self.requests["alone"].fields), **size_of(self.problem),
        }  # fmt: skip
        if missed:
            lost, redrawn = (sum(len(slots[name]) for name in names) for slots in (journal.lost, journal.redrawn))
            detail |= {"lost": lost, "redrawn": redrawn, "lost_at_most": may_be_lost}
        if problem.draft is problem.target:
            detail["together"] = "the first tokens of the choices"
        evidence = evidence.with_detail(**detail)
        return replace(evidence, replay=self.replay(kinds=",".join(names))) if evidence.witness else evidence

    def lost_prompts(self, kind: str) -> list[str]:
        requests = self.requests[kind]
        return [requests.words.text(requests.prompt(slot)) for slot in self.journal.lost[kind]]

    def section(self) -> dict[str, Any]:
        more = {"same_seed": self.same_seed} if self.same_seed else {}
        return super().section() | more

    def not_examined(self, seen: Seen) -> list[str]:
        kinds, journal = self.kinds, self.journal
        other = "the API of completions" if self.clients[0].chat else "chat"
        longer = f"outputs of more than {self.requests['alone'].length} tokens"
        sentences = [
            f"other requests than these: {other}, grammars, penalties, logit biases, log-probabilities, {longer}"
        ]
        left_out = [kind.what for name, kind in KINDS.items() if name not in kinds]
        sentences += [f"kinds of requests that were left out: {'; '.join(left_out)}"] if left_out else []
        if any(journal.redrawn.values()):
            sentences.append(
                "what refused requests would have returned: they were sent again, and the limits allow for any text of "
                "theirs"
            )
        stop = self.requests["stop"].stop
        if "stop" in kinds and not any(stop in text for t in journal.texts["stop"].values() for text in t):
            sentences.append("what a stop string does: no output reached one")
        if not seen.drafts:
            sentences.append("whether the server speculates at all: its answers do not show it")
        if "choices" in kinds:
            given = [n for n in seen.choices if int(n) < CHOICES]
            sentences.append(
                f"{CHOICES} choices of one request: the server gives {' or '.join(sorted(given))}"
                if given
                else "whether choices of one request depend on each other beyond their first tokens"
            )
        return sentences
