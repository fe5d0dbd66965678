"""A server under every setting that it has: every token of every text against its row; the same without speculation."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....models.decoding_settings import DRAFT, PLAIN
from ....models.errors import InputError
from ....models.problem import as_json, size_of
from ....proofs.laws.text_laws import LOGPROBS_OFF
from ....stattests.arguments import ALPHA, BETA
from ....stattests.design import min_detectable_homogeneity
from ....stattests.two_sample import homogeneity
from ....verifiers.details import AnyDetail, ReportedDetail, TextsDetail
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, LawEntry, Method, Witness
from ..report import Report
from ..settings import Progress, silent
from ..settings_grid import SERVED, GridRow, chosen_rows
from .completions import Completions
from .dialects import DIALECTS, dialect_of
from .examination import ServerExamination, refused
from .journal import Journal
from .next_tokens import NextTokens, fit, shared
from .remarks import Seen
from .row_requests import RowRequests, row_requests
from .settings import GridSettings
from .words import words_of

DECIDING = ("lossless", "same-as-plain", "logprobs")
"""The claims that decide the verdict."""

WRITTEN = 1000
"""Texts that are written here to find how often contexts come; a quarter of those asked for, if that is fewer."""

TESTS = 3
"""Tests of a row at most: of the texts with speculation, of those without, and of both together."""

LOST = "{} answers were lost or requested again"
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
    with settings.connected(url, settings.without) as clients:
        return ServerGrid(url, {"target": target}, clients, settings, seed, progress).audit()


class ServerRows(ServerExamination):
    """An examination of a server of a forged target, row by row of requests under settings."""

    def begin(self) -> None:
        settings = self.settings
        if any(client.chat for client in self.clients):
            raise InputError(f"{self.url}: the grid has no chat requests; expected the URL of the completions")
        self.rows, self.problem = self.chosen(), settings.problem(self.given["target"])
        self.modes: dict[str, Completions] = dict(zip((DRAFT, PLAIN), self.clients))
        dialect = dialect_of(self.header, settings.words)
        self.dialect, self.words = DIALECTS[dialect], words_of(Path(self.given["target"]), self.problem.vocabulary)
        self.fields = {**settings.fields, **({"model": settings.model} if settings.model else {})}
        self.found: list[Evidence] = []
        self.left_out: list[str] = []
        depends = {"problem": as_json(self.problem), "samples": settings.samples, "seed": self.seed,
                   "plain": PLAIN in self.modes, "rows": len(self.rows), "fields": self.fields,
                   "words": dialect}  # fmt: skip
        self.journal = Journal(settings.checkpoint, depends)

    @abstractmethod
    def chosen(self) -> Sequence[GridRow]:
        """Return the rows to ask for."""

    def requests(self, row: GridRow, mode: str = DRAFT) -> RowRequests:
        """Return the requests of a row. Raises: InputError if this server has none such."""
        return row_requests(row, mode, self.problem, self.words, self.seed, self.dialect, self.fields)

    def evidence(self, complete: bool) -> list[Evidence]:
        return self.found


class ServerGrid(ServerRows):
    """An examination of a grid."""

    claims = DECIDING
    settings: GridSettings

    def chosen(self) -> Sequence[GridRow]:
        rows = chosen_rows(self.settings.rows, SERVED)
        self.alpha = ALPHA / (TESTS * len(rows))
        return rows

    def ask(self) -> None:
        for k, row in enumerate(self.rows):
            self.progress(row.name, k, len(self.rows))
            try:
                requests = {mode: self.requests(row, mode) for mode in self.modes}
                self._written(requests[DRAFT], len(row.requests))
            except InputError as error:
                self.left_out.append(f"{row.name}: {error}")
                continue
            self.found += self._examined(row, requests)

    def shown(self) -> Iterator[Mapping[str, Any]]:
        """Yield what the answers of the server with speculation show."""
        for row in self.rows:
            yield from self.journal.shown[row.name].values()

    def not_examined(self, seen: Seen) -> list[str]:
        return ["chat, and ends of outputs other than the cap and a stop sequence", *self.left_out]

    def _examined(self, row: GridRow, requests: Mapping[str, RowRequests]) -> list[Evidence]:
        """Send a row's requests; return what the answers are evidence of. Raises: RunFailed."""
        answers: dict[str, AnsweredRow] = {}
        for mode, asked in requests.items():
            name, journal, client = asked.kind.name, self.journal, self.modes[mode]
            if not journal.texts[name] and (why := refused(client, asked.body(0))):
                return [self._of_texts("lossless", row, mode, samples=0, tokens=0, reason=why)]
            self.kinds.append(name)
            self.sampler(client).run(asked, self.settings.samples)
            tokens = NextTokens()
            for slot, texts in sorted(journal.texts[name].items()):
                for text in texts:
                    tokens.add(asked.rows(slot), asked.prompt(slot), text)
                for entries, text in zip(journal.reported[name][slot], texts):
                    asked.compare(slot, entries, text)
            answers[mode] = AnsweredRow(asked, tokens, len(journal.missed(name)))
        return [*self._judged(row, answers)]

    def _judged(self, row: GridRow, answers: Mapping[str, AnsweredRow]) -> Iterator[Evidence]:
        for mode, answered in answers.items():
            yield self._texts(row, mode, answered)
            if answered.requests.check is not None:
                yield self._logprobs(row, mode, answered)
        if PLAIN in answers:
            yield self._same(row, answers[DRAFT], answers[PLAIN])

    def _of_texts(self, claim: str, row: GridRow, mode: str, **figures: Any) -> Evidence:
        """Return evidence of a test of texts that decides nothing yet."""
        rates = {"false_alarm_rate": self.alpha, "miss_rate": BETA, "p_value": 1.0, **self._facts(row, mode)}
        return self._open(claim, Method.CHI_SQUARE, TextsDetail(**(rates | figures)))

    def _open(self, claim: str, method: Method, detail: AnyDetail) -> Evidence:
        return Evidence(claim=claim, method=method, verdict=NO_EVIDENCE, problem=self.problem.name, detail=detail)

    def _refuted(self, row: GridRow, made: Evidence, *entries: LawEntry, **shown: Any) -> Evidence:
        """Return the evidence as a refutation. The replay asks for this row alone."""
        witness = Witness(**vars(entries[0]), problem=as_json(self.problem), **shown)
        replay = self.replay(grid=True, row=row.name, rows=None)
        return replace(made, verdict=REFUTED, witness=witness, replay=replay)

    def _facts(self, row: GridRow, mode: str) -> dict[str, Any]:
        """Return the fields that the details of all claims share."""
        first, *others = row.requests
        settings, served = dict(first) | ({"together": [*map(dict, others)]} if others else {}), row.served
        assert served is not None
        how = {name: True for name in ("stream", "seeded") if getattr(served, name)}
        how |= {"prompt": served.prompt} if served.prompt != "none" else {}
        return {"sampling": mode, "settings": settings | how, "setting": row.name, "dtype": "float32",
                **size_of(self.problem)}  # fmt: skip

    def _texts(self, row: GridRow, mode: str, answered: AnsweredRow) -> Evidence:
        """Compare every token with its row."""
        requests, seen, n = answered.requests, answered.tokens, self.settings.samples
        written = self._written(requests, min(WRITTEN, max(50, n // 4)))
        found = fit(seen, written, n * requests.kind.choices, self.alpha, self.seed)
        refuted = bool(seen.impossible) or (found.refuted and not answered.lost)
        best = min(found.tests.values(), key=lambda test: test.p_value)
        made = self._of_texts(
            "lossless", row, mode, samples=n, tokens=found.tokens, p_value=min(1.0, best.p_value * len(found.tests)),
            p_value_by=best.fit.method, bounds=found.limits, total_variation_at_least=found.apart if refuted else None,
            impossible=seen.impossible.total() or None, seed=self.seed, lost=answered.lost or None,
        )  # fmt: skip
        if refuted:
            return self._refuted(row, replace(made, total_variation=found.apart), *found.entries, laws=found.entries)
        if answered.lost:
            return made.undecided(LOST.format(answered.lost))
        return replace(made, bound=max(found.limits.values()))

    def _written(self, requests: RowRequests, texts: int) -> NextTokens:
        """Write texts of the row by its law. Raises: InputError if it has none."""
        written, rng = NextTokens(), np.random.default_rng([self.seed, 2])
        for slot in range(texts):
            written.write(requests.rows(slot), requests.prompt(slot), rng)
        return written

    def _same(self, row: GridRow, answered: AnsweredRow, plain: AnsweredRow) -> Evidence:
        """Compare the tokens after each context with speculation and without."""
        first, second = shared(answered.tokens, plain.tokens)
        n, lost = first.total(), answered.lost + plain.lost
        made = self._of_texts("same-as-plain", row, DRAFT, samples=self.settings.samples, tokens=n, seed=self.seed)
        if lost or not n:
            return made.undecided(LOST.format(lost) if lost else "no context occurred in both")
        test = homogeneity(first, second)
        made = made.with_detail(p_value=test.p_value, cells=test.cells, p_value_by=test.method)
        if test.p_value > self.alpha:
            limit = min_detectable_homogeneity(n, max(2, test.cells), n, self.alpha, BETA)
            return replace(made, bound=min(1.0, limit))
        return self._refuted(
            row, made, LawEntry("next tokens with speculation, without", "one distribution", test.witness)
        )

    def _logprobs(self, row: GridRow, mode: str, answered: AnsweredRow) -> Evidence:
        """Compare every reported logprob with its row."""
        check = answered.requests.check
        assert check is not None
        detail = ReportedDetail(logprobs=check.compared, off=check.off, texts=check.texts, **self._facts(row, mode))
        made = self._open("logprobs", Method.REPORTED, detail)
        if not check.compared or check.worst is None:
            of_prompt = answered.requests.served.logprobs_of == "prompt"
            return made.undecided("the server reports none of its prompts" if of_prompt else "it reports none")
        made = replace(made, total_variation=check.largest, bound=LOGPROBS_OFF)
        if not check.off and not check.without:
            return replace(made, verdict=HOLDS)
        why = f"{check.off} of {check.compared} logprobs are off by more than {LOGPROBS_OFF:g}"
        why += f"; {check.without} of {check.texts} outputs have none" if check.without else ""
        return self._refuted(row, made, check.worst, why=why)
