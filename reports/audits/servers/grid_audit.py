"""A server under every setting that it has: every token of every text against its row; the same without speculation."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ....models.decoding_settings import DRAFT, PLAIN
from ....models.errors import InputError
from ....models.problem import Problem, as_json, size_of
from ....models.store import Store
from ....proofs.laws.text_laws import LOGPROBS_OFF
from ....stattests.arguments import ALPHA, BETA
from ....stattests.design import min_detectable_homogeneity
from ....stattests.two_sample import homogeneity
from ....verifiers.details import ReportedDetail, TextsDetail
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, LawEntry, Method, Witness
from ..replay import command_line
from ..report import Report
from ..runner import examine
from ..settings import Progress, silent
from ..settings_grid import SERVED, GridRow, chosen_rows
from .completions import Completions, Lost, Refused, Wrong
from .dialects import DIALECTS, dialect_of
from .journal import Journal
from .next_tokens import Fit, NextTokens, fit, shared, words
from .remarks import Seen, became_of, findings, section
from .row_requests import RowRequests, row_requests
from .sampling import Sampler
from .settings import GridSettings
from .words import words_of

DECIDING = ("lossless", "same-as-plain", "logprobs")
"""The claims that decide the verdict."""

WHAT = "the grid of a server"
"""What a checkpoint's rows are of."""

WRITTEN = 1000
"""Texts that are written here to find how often contexts come; a quarter of those asked for, if that is fewer."""

TESTS = 3
"""Tests of a row at most: of the texts with speculation, of those without, and of both together."""

LOST = "{} answers are lost or were drawn again"
"""Reason of a row on which nothing is decided."""


class AnsweredRow(NamedTuple):
    """A server's answers to one row. lost: requests whose text is not known, or was drawn again."""

    requests: RowRequests
    tokens: NextTokens
    lost: int


def audit_grid(url: str, target: str, settings: GridSettings, seed: int = 0, progress: Progress = silent) -> Report:
    """Ask a server for texts under every setting that it has, and compare every token of each with its row.

    url: of the server with speculation. target: what it serves, of order 1.
    Guarantee: at a false-alarm rate of ALPHA over all tests a server is not refuted if each token is drawn from its row
    (``next_tokens.fit``), whether texts are independent or not. A row with lost answers is refuted by impossible texts
    alone.
    Raises: InputError if an address is none of the API, nothing was forged at ``target``, or a row is not known.
    """
    rows, problem = chosen_rows(settings.rows, SERVED), settings.problem(target)
    urls = [url, *([settings.without] if settings.without else [])]
    report = Report.begin(url, "server", ["float32"], seed)
    report.claims = DECIDING
    with settings.connected(*urls) as clients:
        names, header = clients[0].models()
        dialect = dialect_of(header, settings.words)
        report.subject["source"] = f"server: {header or 'no name'}"
        about = {"url": clients[0].base, "models": names, "header": header}
        run = ServerGrid(dict(zip((DRAFT, PLAIN), clients)), rows, problem, target, dialect, settings, report, progress)
        examine(report, [run])
    report.server = run.section(about)
    report.notice(findings(report.server, settings.model))
    return report


@dataclass
class ServerGrid:
    """An examination of a grid, row by row; fields as in ``audit_grid``."""

    clients: Mapping[str, Completions]
    rows: list[GridRow]
    problem: Problem
    target: str
    dialect: str
    settings: GridSettings
    report: Report
    progress: Progress
    kept: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.alpha = ALPHA / (TESTS * len(self.rows))
        self.fields = dict(self.settings.fields) | ({"model": self.settings.model} if self.settings.model else {})

    def run(self) -> None:
        depends = {"problem": as_json(self.problem), "samples": self.settings.samples, "seed": self.report.seed,
                   "plain": PLAIN in self.clients, "rows": len(self.rows), "fields": self.fields,
                   "words": self.dialect}  # fmt: skip
        until = time.monotonic() + self.settings.timeout
        with Store(self.settings.checkpoint, WHAT, depends) as store:
            for k, row in enumerate(self.rows):
                self.progress(row.name, k, len(self.rows))
                if (row.name,) not in store.rows:
                    store.put((row.name,), self._examined(row, until))
                self.kept.append(store.rows[row.name,])

    def evidence(self, complete: bool) -> list[Evidence]:
        return [e for row in self.kept for e in msgspec.convert(row["evidence"], list[Evidence])]

    def section(self, about: dict[str, Any]) -> dict[str, Any]:
        """Return the report's ``server``."""
        seen, kinds, refused = Seen(), {}, Counter()
        for row in self.kept:
            seen.add(row["shown"])
            kinds |= row["kinds"]
            refused.update(row["refused"])
        left_out = [why for row in self.kept for why in row["left_out"]]
        not_examined = ["chat, and what ends a text other than its cap and a stop sequence", *left_out]
        return section({**about, "at_once": self.settings.at_once}, kinds, seen, refused, not_examined)

    def _examined(self, row: GridRow, until: float) -> dict[str, Any]:
        """Return what is kept of a row: its evidence, and what became of its requests. Raises: RunFailed."""
        kept: dict[str, Any] = {"evidence": [], "kinds": {}, "shown": [], "refused": {}, "left_out": []}
        words_, dialect = words_of(Path(self.target), self.problem.vocabulary), DIALECTS[self.dialect]
        try:
            requests = {mode: row_requests(row, self.problem, words_, self.report.seed, dialect, self.fields)
                        for mode in self.clients}  # fmt: skip
            self._written(requests[DRAFT], len(row.requests))
        except InputError as error:
            return kept | {"left_out": [f"{row.name}: {error}"]}
        answers: dict[str, AnsweredRow] = {}
        for mode, asked in requests.items():
            if refused := self._refused(mode, asked):
                kept["evidence"] = [msgspec.to_builtins(self._no_texts(row, mode, refused).as_json())]
                return kept
            name, journal = asked.kind.name, Journal(None, {})
            sampler = Sampler(self.clients[mode], journal, self.settings, until)
            sampler.run(asked, self.settings.samples)
            tokens = NextTokens()
            for slot, texts in sorted(journal.texts[name].items()):
                for text in texts:
                    tokens.add(asked.rows(slot), asked.prompt(slot), text)
            answers[mode] = AnsweredRow(asked, tokens, len(journal.missed(name)))
            became = became_of(journal, name, self.settings.samples)
            kept["kinds"][name if mode == DRAFT else f"{name}, {mode}"] = became
            kept["refused"] |= dict(journal.refusals)
            if mode == DRAFT:
                kept["shown"] = [msgspec.to_builtins(Seen().add(journal.shown[name].values()))]
        kept["evidence"] = [msgspec.to_builtins(e.as_json()) for e in self._judged(row, answers)]
        return kept

    def _refused(self, mode: str, requests: RowRequests) -> str | None:
        """Return why the server takes no such request at all. It takes one request, which is not counted."""
        try:
            self.clients[mode].ask(requests.body(0))
        except Wrong as wrong:
            return str(wrong)
        except (Refused, Lost):
            pass  # the row itself asks again, and says what is lost
        return None

    def _judged(self, row: GridRow, answers: Mapping[str, AnsweredRow]) -> Iterator[Evidence]:
        for mode, answered in answers.items():
            yield self._texts(row, mode, answered)
            if answered.requests.check is not None:
                yield self._logprobs(row, mode, answered)
        if PLAIN in answers:
            yield self._same(row, answers[DRAFT], answers[PLAIN])

    def _detail(self, row: GridRow, mode: str, **figures: Any) -> TextsDetail:
        rates = {"false_alarm_rate": self.alpha, "miss_rate": BETA}
        return TextsDetail(**rates, **{"p_value": 1.0, **figures}, **self._facts(row, mode))

    def _facts(self, row: GridRow, mode: str) -> dict[str, Any]:
        """Return the fields that the details of all claims share."""
        first, *others = row.requests
        settings, served = dict(first) | ({"together": [*map(dict, others)]} if others else {}), row.served
        assert served is not None
        how = {name: True for name in ("stream", "seeded") if getattr(served, name)}
        how |= {"prompt": served.prompt} if served.prompt != "none" else {}
        return {"sampling": mode, "settings": settings | how, "setting": row.name, "dtype": "float32",
                **size_of(self.problem)}  # fmt: skip

    def _no_texts(self, row: GridRow, mode: str, reason: str) -> Evidence:
        detail = self._detail(row, mode, samples=0, tokens=0, reason=reason)
        return Evidence(claim="lossless", method=Method.CHI_SQUARE, verdict=NO_EVIDENCE, problem=self.problem.name,
                        detail=detail)  # fmt: skip

    def _texts(self, row: GridRow, mode: str, answered: AnsweredRow) -> Evidence:
        """Compare every token with its row."""
        requests, seen, n = answered.requests, answered.tokens, self.settings.samples
        written = self._written(requests, min(WRITTEN, max(50, n // 4)))
        found = fit(seen, written, n * requests.kind.choices, self.alpha, self.report.seed)
        refuted = bool(seen.impossible) or (found.refuted and not answered.lost)
        reason = LOST.format(answered.lost) if answered.lost and not refuted else None
        best = min(found.tests.values(), key=lambda test: test.p_value)
        detail = self._detail(
            row, mode, samples=n, tokens=found.tokens, p_value=min(1.0, best.p_value * len(found.tests)),
            p_value_by=best.fit.method, bounds=found.limits, total_variation_at_least=found.apart if refuted else None,
            impossible=seen.impossible.total() or None, seed=self.report.seed, lost=answered.lost or None,
            reason=reason,
        )  # fmt: skip
        return Evidence(
            claim="lossless", method=Method.CHI_SQUARE, verdict=REFUTED if refuted else NO_EVIDENCE,
            bound=None if refuted or reason else max(found.limits.values()), problem=self.problem.name,
            total_variation=found.apart if refuted else None, detail=detail,
            witness=self._witness(seen, found) if refuted else None, replay=self._replay(row) if refuted else None,
        )  # fmt: skip

    def _written(self, requests: RowRequests, texts: int) -> NextTokens:
        """Write texts of the row by its law. Raises: InputError if it has none."""
        written, rng = NextTokens(), np.random.default_rng([self.report.seed, 2])
        for slot in range(texts):
            written.write(requests.rows(slot), requests.prompt(slot), rng)
        return written

    def _witness(self, seen: NextTokens, found: Fit) -> Witness:
        entries = found.entries
        if seen.impossible:
            text = min(seen.impossible, key=lambda text: (len(text), text))
            entries = (LawEntry(words(text), "0", f"{seen.impossible[text]} of {seen.texts} texts"), *entries)
        return Witness(**vars(entries[0]), problem=as_json(self.problem), laws=entries)

    def _same(self, row: GridRow, answered: AnsweredRow, plain: AnsweredRow) -> Evidence:
        """Compare the tokens after each context with speculation and without."""
        first, second = shared(answered.tokens, plain.tokens)
        n, lost = first.total(), answered.lost + plain.lost
        detail = self._detail(row, DRAFT, samples=self.settings.samples, tokens=n, seed=self.report.seed)
        made = Evidence(claim="same-as-plain", method=Method.CHI_SQUARE, verdict=NO_EVIDENCE,
                        problem=self.problem.name, detail=detail)  # fmt: skip
        if lost or not n:
            return made.undecided(LOST.format(lost) if lost else "no context came to both")
        test = homogeneity(first, second)
        made = made.with_detail(p_value=test.p_value, cells=test.cells, p_value_by=test.method)
        if test.p_value > self.alpha:
            limit = min_detectable_homogeneity(n, max(2, test.cells), n, self.alpha, BETA)
            return replace(made, bound=min(1.0, limit))
        entry = LawEntry("next tokens with speculation, without", "one law", test.witness)
        witness = Witness(**vars(entry), problem=as_json(self.problem))
        return replace(made, verdict=REFUTED, witness=witness, replay=self._replay(row))

    def _logprobs(self, row: GridRow, mode: str, answered: AnsweredRow) -> Evidence:
        """Compare every reported logprob with its row."""
        check = answered.requests.check
        assert check is not None
        detail = ReportedDetail(logprobs=check.compared, off=check.off, texts=check.texts, **self._facts(row, mode))
        made = Evidence(claim="logprobs", method=Method.REPORTED, verdict=NO_EVIDENCE, problem=self.problem.name,
                        detail=detail)  # fmt: skip
        if not check.compared or check.worst is None:
            of_prompt = answered.requests.served.logprobs_of == "prompt"
            return made.undecided("the server reports none of its prompts" if of_prompt else "it reports none")
        made = replace(made, total_variation=check.largest, bound=LOGPROBS_OFF)
        if not check.off and not check.without:
            return replace(made, verdict=HOLDS)
        why = f"{check.off} of {check.compared} logprobs are off by more than {LOGPROBS_OFF:g}"
        why += f"; {check.without} of {check.texts} texts have none" if check.without else ""
        witness = Witness(**vars(check.worst), problem=as_json(self.problem), why=why)
        return replace(made, verdict=REFUTED, witness=witness, replay=self._replay(row))

    def _replay(self, row: GridRow) -> str:
        """Return the command that asks for this row alone."""
        return command_line(
            "server", self.report.subject["name"], target=self.target, without=self.settings.without, grid=True,
            row=row.name, samples=self.settings.samples, seed=self.report.seed,
        )  # fmt: skip
