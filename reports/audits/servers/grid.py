"""The grid of a server: every setting through its URL, every token of every text; the same without speculation."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

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
from ..report import Report
from ..runner import examine
from ..settings import Progress
from .completions import Completions, Lost, Refused, Wrong, api_base
from .journal import Journal
from .kinds import words_of
from .next_tokens import Fit, NextTokens, fit, shared, words
from .remarks import Seen, findings, speculation
from .requests import DIALECTS, GRID, Dialect, RowPlan, ServerRow
from .sampling import Sampler
from .settings import ServerSettings

DECIDING = ("lossless", "same-as-plain", "logprobs")

WHAT = "the grid of a server"

WRITTEN = 1000
"""Texts that are written here, from which it follows how often contexts come; a quarter of those asked if fewer."""

TESTS = 3
"""Tests of a cell at most: of the texts with speculation, without, and of both together."""


@dataclass
class AskedRow:
    """What one server answered to one row."""

    tokens: NextTokens
    journal: Journal
    plan: RowPlan

    @property
    def lost(self) -> int:
        """Requests whose text is not known, or was drawn again."""
        slots = (*self.journal.lost.values(), *self.journal.redrawn.values())
        return sum(map(len, slots))


def dialect_of(header: str, name: str | None) -> tuple[str, Dialect]:
    """The words of a server, by its Server header unless named. Raises: InputError."""
    if name is not None and name not in DIALECTS:
        raise InputError(f"--words {name}: expected one of {', '.join(DIALECTS)}")
    known = name or next((one for one in DIALECTS if one in header.lower()), "openai")
    return known, DIALECTS[known]


def audit_grid(
    url: str,
    target: str,
    settings: ServerSettings,
    plain: str | None = None,
    seed: int = 0,
    dialect: str | None = None,
    rows: Sequence[str] = (),
    progress: Progress = lambda stage, done, total: None,
) -> Report:
    """Ask a server for texts under every setting that it has, and hold every token of each against its row.

    url, plain: of the server with speculation, and of the same one started without; None leaves that one out.
    target: what they serve, of order 1. dialect: the name of its words, by its Server header if not given.
    rows: names of rows of ``requests.GRID``, all if empty. settings: samples of each row, at_once, fields of requests.
    Guarantee: at a false-alarm rate of ALPHA over all tests a server is not refuted if each token is drawn from its row
    (``next_tokens.fit``), independent texts or not; a row with lost answers is refuted by impossible texts alone.
    Raises: InputError if an address is none of the API, nothing was forged at ``target``, or a row is not known.
    """
    if strange := [row for row in rows if row not in {one.name for one in GRID}]:
        raise InputError(f"{strange[0]!r} is no row of the grid")
    problem = settings.problem(target)
    bases = [(DRAFT, api_base(url)), *([(PLAIN, api_base(plain))] if plain else [])]
    clients = {
        mode: Completions(base, settings.request_timeout, settings.at_once, settings.key) for mode, base in bases
    }
    report = Report.begin(url, "server", ["float32"], seed)
    report.claims = DECIDING
    try:
        names, header = clients[DRAFT].models()
        known, words_ = dialect_of(header, dialect)
        report.subject["source"] = f"server: {header or 'no name'}"
        fields = dict(settings.fields) | ({"model": settings.model} if settings.model else {})
        chosen = [row for row in GRID if not rows or row.name in rows]
        run = ServerGrid(clients, chosen, problem, target, words_, fields, settings, report, progress,
                         {"url": dict(bases)[DRAFT], "models": names, "header": header, "words": known})  # fmt: skip
        examine(report, [run])
    finally:
        for client in clients.values():
            client.close()
    report.server = run.section()
    report.notice(findings(report.server, settings.model))
    return report


@dataclass
class ServerGrid:
    """The rows of a grid, one after the other; fields as in ``audit_grid``."""

    clients: Mapping[str, Completions]
    rows: Sequence[ServerRow]
    problem: Problem
    target: str
    dialect: Dialect
    fields: Mapping[str, Any]
    settings: ServerSettings
    report: Report
    progress: Progress
    about: dict[str, Any]
    found: list[Evidence] = field(default_factory=list)
    kinds: dict[str, Any] = field(default_factory=dict)
    shown: list[Mapping[str, Any]] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def run(self) -> None:
        depends = {"problem": as_json(self.problem), "samples": self.settings.samples, "seed": self.report.seed,
                   "plain": PLAIN in self.clients, "rows": len(self.rows), "fields": dict(self.fields),
                   "words": self.about["words"]}  # fmt: skip
        until = time.monotonic() + self.settings.timeout
        with Store(self.settings.checkpoint, WHAT, depends) as store:
            for k, row in enumerate(self.rows):
                self.progress(row.name, k, len(self.rows))
                if (row.name,) not in store.rows:
                    store.put((row.name,), self._row(row, until))
                kept = store.rows[row.name,]
                self.found += msgspec.convert(kept["evidence"], list[Evidence])
                self.kinds |= kept["kinds"]
                self.shown += kept["shown"]
                for why, times in kept["refused"].items():
                    self.refused[why] = self.refused.get(why, 0) + times
                self.left_out += kept["left_out"]

    def evidence(self, complete: bool) -> list[Evidence]:
        return self.found

    def section(self) -> dict[str, Any]:
        """The report's ``server``."""
        seen = Seen.of(self.shown)
        about = {name: self.about[name] for name in ("url", "models", "header")}
        return {
            **about, "answered_as": sorted(seen.models), "fingerprints": sorted(seen.fingerprints),
            "at_once": self.settings.at_once, "kinds": self.kinds, "refused": self.refused, "resumed": 0,
            "longer_than_asked": seen.excess, "choices": {}, "speculation": speculation(seen),
            "together_against_alone": None,
            "not_examined": ["chat, and what ends a text other than its cap and a stop sequence", *self.left_out],
        }  # fmt: skip

    def _row(self, row: ServerRow, until: float) -> dict[str, Any]:
        """What is kept of a row: its evidence, and what became of its requests."""
        kept: dict[str, Any] = {"evidence": [], "kinds": {}, "shown": [], "refused": {}, "left_out": []}
        try:
            words_ = words_of(Path(self.target), self.problem.vocabulary)
            plans = {mode: RowPlan(row, self.problem, words_, self.report.seed, self.dialect, self.fields)
                     for mode in self.clients}  # fmt: skip
            self._written(plans[DRAFT], len(row.settings))
        except InputError as error:
            return kept | {"left_out": [f"{row.name}: {error}"]}
        answers = {}
        for mode, plan in plans.items():
            if refused := self._refused(mode, plan):
                kept["evidence"] = [msgspec.to_builtins(self._no_texts(row, mode, refused).as_json())]
                return kept
            answers[mode] = asked = self._asked(mode, plan, until)
            name = row.name if mode == DRAFT else f"{row.name}, {mode}"
            lost = asked.journal.lost[plan.kind.name]
            kept["kinds"][name] = {
                "asked": self.settings.samples, "counted": len(asked.journal.texts[plan.kind.name]),
                "lost": {why: [*lost.values()].count(why) for why in {*lost.values()}}, "lost_prompts": {},
                "redrawn": sum(map(len, asked.journal.redrawn.values())),
            }  # fmt: skip
            kept["refused"] |= dict(asked.journal.refusals)
            if mode == DRAFT:
                kept["shown"] = [*asked.journal.shown[plan.kind.name].values()]
        kept["shown"] = [_summed(kept["shown"])]
        kept["evidence"] = [msgspec.to_builtins(e.as_json()) for e in self._judged(row, answers)]
        return kept

    def _refused(self, mode: str, plan: RowPlan) -> str | None:
        """Why the server takes no such request at all; one request, which is not counted."""
        try:
            self.clients[mode].ask(plan.body(plan.kind, 0))
        except Wrong as wrong:
            return str(wrong)
        except (Refused, Lost):
            pass  # the row itself asks again, and says what is lost
        return None

    def _no_texts(self, row: ServerRow, mode: str, reason: str) -> Evidence:
        detail = TextsDetail(samples=0, tokens=0, p_value=1.0, false_alarm_rate=self._alpha, miss_rate=BETA,
                             reason=reason, **self._facts(row, mode))  # fmt: skip
        return Evidence(claim="lossless", method=Method.CHI_SQUARE, verdict=NO_EVIDENCE, problem=self.problem.name,
                        detail=detail)  # fmt: skip

    def _asked(self, mode: str, plan: RowPlan, until: float) -> AskedRow:
        """Send the requests of a row. Raises: RunFailed."""
        s, journal, tokens = self.settings, Journal(None, {}), NextTokens()
        sampler = Sampler(self.clients[mode], plan, journal, s.samples, s.at_once, until, s.patience)
        sampler.run(plan.kind, lambda done: None)
        for slot, texts in sorted(journal.texts[plan.kind.name].items()):
            for text in texts:
                tokens.add(plan.rows(slot), plan.prompt(plan.kind, slot), text)
        return AskedRow(tokens, journal, plan)

    def _judged(self, row: ServerRow, answers: Mapping[str, AskedRow]) -> Iterator[Evidence]:
        for mode, asked in answers.items():
            yield self._texts(row, mode, asked)
            if asked.plan.check is not None:
                yield self._logprobs(row, mode, asked)
        if PLAIN in answers:
            yield self._same(row, answers[DRAFT], answers[PLAIN])

    @property
    def _alpha(self) -> float:
        return ALPHA / (TESTS * len(self.rows))

    def _facts(self, row: ServerRow, mode: str) -> dict[str, Any]:
        settings = dict(row.settings[0]) | ({"together": [*map(dict, row.settings[1:])]} if row.settings[1:] else {})
        how = dict(row.how) | ({"prompt": row.prompt} if row.prompt != "none" else {})
        return {"sampling": mode, "settings": settings | how, "setting": row.name, "dtype": "float32",
                **size_of(self.problem)}  # fmt: skip

    def _texts(self, row: ServerRow, mode: str, asked: AskedRow) -> Evidence:
        """Every token against its row."""
        plan, seen, n = asked.plan, asked.tokens, self.settings.samples
        written = self._written(plan, min(WRITTEN, max(50, n // 4)))
        # choices of one request are texts of their own
        found = fit(seen, written, n * plan.kind.choices, self._alpha, self.report.seed)
        refuted = bool(seen.impossible) or (found.refuted and not asked.lost)
        reason = f"{asked.lost} answers are lost or were drawn again" if asked.lost and not refuted else None
        best = min(found.tests.values(), key=lambda test: test.p_value)
        detail = TextsDetail(
            samples=n, tokens=found.tokens, p_value=min(1.0, best.p_value * len(found.tests)),
            p_value_by=best.fit.method, false_alarm_rate=self._alpha, miss_rate=BETA, bounds=found.limits,
            total_variation_at_least=found.apart if refuted else None, impossible=sum(seen.impossible.values()) or None,
            seed=self.report.seed, lost=asked.lost or None, reason=reason, **self._facts(row, mode),
        )  # fmt: skip
        bound = None if refuted or reason else max(found.limits.values())
        return Evidence(
            claim="lossless", method=Method.CHI_SQUARE, verdict=REFUTED if refuted else NO_EVIDENCE, bound=bound,
            problem=self.problem.name, total_variation=found.apart if refuted else None, detail=detail,
            witness=self._witness(seen, found) if refuted else None, replay=self._replay(row) if refuted else None,
        )  # fmt: skip

    def _written(self, plan: RowPlan, texts: int) -> NextTokens:
        """Texts of the row by its law. Raises: InputError where there is none."""
        written, rng = NextTokens(), np.random.default_rng([self.report.seed, 2])
        for slot in range(texts):
            written.write(plan.rows(slot), plan.prompt(plan.kind, slot), rng)
        return written

    def _witness(self, seen: NextTokens, found: Fit) -> Witness:
        entries = found.entries
        if seen.impossible:
            text = min(seen.impossible, key=lambda text: (len(text), text))
            entries = (LawEntry(words(text), "0", f"{seen.impossible[text]} of {seen.texts} texts"), *entries)
        return Witness(**vars(entries[0]), problem=as_json(self.problem), laws=entries)

    def _same(self, row: ServerRow, asked: AskedRow, plain: AskedRow) -> Evidence:
        """The tokens behind each context, with speculation and without."""
        first, second = shared(asked.tokens, plain.tokens)
        n, lost = sum(first.values()), asked.lost + plain.lost
        detail = TextsDetail(samples=self.settings.samples, tokens=n, p_value=1.0, false_alarm_rate=self._alpha,
                             miss_rate=BETA, seed=self.report.seed, **self._facts(row, DRAFT))  # fmt: skip
        made = Evidence(claim="same-as-plain", method=Method.CHI_SQUARE, verdict=NO_EVIDENCE,
                        problem=self.problem.name, detail=detail)  # fmt: skip
        if lost or not n:
            return made.undecided(f"{lost} answers are lost or were drawn again" if lost else "no context came to both")
        test = homogeneity(first, second, self._alpha)
        made = made.with_detail(p_value=test.p_value, cells=test.cells, p_value_by=test.method)
        if test.p_value > self._alpha:
            limit = min_detectable_homogeneity(n, max(2, test.cells), n, self._alpha, BETA)
            return replace(made, bound=min(1.0, limit))
        entry = LawEntry("next tokens with speculation, without", "one law", test.witness)
        witness = Witness(**vars(entry), problem=as_json(self.problem))
        return replace(made, verdict=REFUTED, witness=witness, replay=self._replay(row))

    def _logprobs(self, row: ServerRow, mode: str, asked: AskedRow) -> Evidence:
        """Every reported logprob against its row."""
        check = asked.plan.check
        assert check is not None
        detail = ReportedDetail(logprobs=check.compared, off=check.off, texts=check.texts, **self._facts(row, mode))
        made = Evidence(claim="logprobs", method=Method.REPORTED, verdict=NO_EVIDENCE, problem=self.problem.name,
                        detail=detail)  # fmt: skip
        if not check.compared or check.worst is None:
            return made.undecided("the server reports none of its prompts" if row.of == "prompt" else "it reports none")
        made = replace(made, total_variation=check.largest, bound=LOGPROBS_OFF)
        if not check.off and not check.without:
            return replace(made, verdict=HOLDS)
        why = f"{check.off} of {check.compared} logprobs are off by more than {LOGPROBS_OFF:g}"
        why += f"; {check.without} of {check.texts} texts have none" if check.without else ""
        witness = Witness(**vars(check.worst), problem=as_json(self.problem), why=why)
        return replace(made, verdict=REFUTED, witness=witness, replay=self._replay(row))

    def _replay(self, row: ServerRow) -> str:
        """The command that asks for this row alone."""
        plain = f" --without {self.clients[PLAIN].base}" if PLAIN in self.clients else ""
        return (f"draftproof engine {self.report.subject['name']}{plain} --target {self.target} --grid "
                f"--row '{row.name}' --samples {self.settings.samples} --seed {self.report.seed}")  # fmt: skip


def _summed(shown: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What many answers show, as one: numbers added, names of the last."""
    made: dict[str, Any] = {}
    for answer in shown:
        for name, value in answer.items():
            if name != "choices":
                made[name] = value if isinstance(value, str) else made.get(name, 0) + value
    return made
