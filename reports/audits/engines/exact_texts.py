"""The exact law of a decoder's first tokens, wherever its random numbers can be followed, and its claims."""

import json
import shlex
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ....models.decoding_settings import (
    DRAFT,
    LOOKUP,
    ORDERS,
    PLAIN,
    SETTINGS,
    called_with,
    checked_settings,
    named_tokens,
    requests_of,
    separated,
    text_law,
)  # fmt: skip
from ....models.digests import EXAMINING, code_digest
from ....models.errors import InputError, RunFailed
from ....models.files import write_atomically
from ....models.forge import PROBLEM_FILE, forge
from ....models.problem import Problem, as_json, problem_from, size_of
from ....models.store import Store
from ....proofs.child_process import ChildProcess
from ....proofs.interception.digests import changed_since, file_digest
from ....proofs.laws.known_decoders import SeenLaw, behaves_as
from ....proofs.laws.text_laws import EPSILON, JudgedTexts, KnownTexts, TextMasses, distance, text_law_from
from ....proofs.time_limits import TimeLimits
from ....verifiers.adapters.protocol import DecoderProcesses
from ....verifiers.adapters.registry import TOKENS, Engine
from ....verifiers.evidence import Evidence
from ..report import Report
from ..settings import Progress

DECIDING = ("lossless", "same-as-plain", "logprobs", "batch")
"""The claims that decide the verdict on a decoder, and whose refutation asks for a diagnosis."""

WHAT = "laws of a decoder's texts"


MORE_TOKENS = 5
"""Of a text of three blocks at least, in which two end with a rejection."""


def decoder_problem() -> Problem:
    """A pair without ties: no two tokens are as likely, and no sum is a round number, so that cut-offs are clear."""
    target = {"start": ["11/20", "3/20", "6/20"],
              "after": {"0": ["3/20", "13/20", "4/20"], "1": ["27/100", "11/100", "62/100"],
                        "2": ["45/100", "34/100", "21/100"]}}  # fmt: skip
    draft = {"start": ["1/4", "2/5", "7/20"],
             "after": {"0": ["2/5", "1/4", "7/20"], "1": ["51/100", "3/10", "19/100"],
                       "2": ["3/20", "1/4", "3/5"]}}  # fmt: skip
    return problem_from({"vocabulary": 3, "gamma": 2, "target": target, "draft": draft, "name": "decoded-V3-gamma2"})


def long_problem() -> Problem:
    """A pair of two tokens, whose texts have several blocks in few ways; the most probable ones agree behind a token
    and differ at the start."""
    target = {"start": ["11/20", "9/20"], "after": {"0": ["3/20", "17/20"], "1": ["62/100", "38/100"]}}
    draft = {"start": ["1/4", "3/4"], "after": {"0": ["2/5", "3/5"], "1": ["51/100", "49/100"]}}
    return problem_from({"vocabulary": 2, "gamma": 2, "target": target, "draft": draft, "name": "decoded-V2-gamma2"})


def rules_out(law: TextMasses, problem: Problem) -> bool:
    """Whether behind some text there are tokens of probability 0."""
    for texts in zip(*map(separated, law)):
        begun = {text[: n + 1] for text in texts for n in range(len(text))}
        if any(n < problem.vocabulary for n in Counter(text[:-1] for text in begun).values()):
            return True
    return False


def zeros_problem() -> Problem:
    """A pair with tokens of probability 0 of either model alone and of both, rows that are alike, and rows apart."""
    target = {"start": ["3/5", "2/5", "0"], "after": {"0": ["1/5", "0", "4/5"], "1": ["0", "0", "1"],
                                                      "2": ["7/10", "3/10", "0"]}}  # fmt: skip
    draft = {"start": ["3/20", "1/4", "3/5"], "after": {"0": ["1/5", "0", "4/5"], "1": ["9/20", "11/20", "0"],
                                                        "2": ["0", "2/5", "3/5"]}}  # fmt: skip
    return problem_from({"vocabulary": 3, "gamma": 2, "target": target, "draft": draft, "name": "zeros-V3-gamma2"})


class TextCell(NamedTuple):
    """One request whose law is asked for: what it is called, its settings, tokens, way of drafting and pair."""

    name: str
    settings: Mapping[str, Any]
    tokens: int
    sampling: str
    problem: Problem

    @property
    def plain(self) -> "TextCell":
        """The same without speculation; settings that only say how to draft are left out."""
        settings = {n: v for n, v in self.settings.items() if n not in DRAFTING}
        return self._replace(settings=settings, sampling=PLAIN)

    @property
    def key(self) -> tuple[str, ...]:
        """What its law depends on, for one engine."""
        return self.sampling, str(self.tokens), json.dumps([self.settings, as_json(self.problem)], sort_keys=True)


DRAFTING = (
    "draft_temperature",
    "adaptive",
    "early_exit",
    "universal",
    "assistant_ensemble_weight",
    "lookup",
    "draft_sampled",
    "repaired",
)
"""Settings that say how to draft, which plain decoding has not."""


@dataclass
class TextLaws:
    """The laws of an engine's texts, each asked for once, in a child process that is started anew where one ended.

    timeout: seconds of processor time for one law. memory: GiB of address space of the child.
    folder: where pairs are forged. store: laws that are known already.
    """

    engine: Engine
    folder: Path
    timeout: float
    memory: float
    store: Store
    about: dict[str, Any] = field(default_factory=dict)
    child: ChildProcess | None = None
    processes: DecoderProcesses | None = None

    def of(self, cell: TextCell) -> KnownTexts:
        """The law, or why there is none. Raises: RunFailed if the decoder does not load.

        One without a law is asked for again, and one of code that has changed since: of a driven engine the files that
        it names, of any other all modules that were loaded.
        """
        kept = self.store.rows.get(cell.key, {})
        if kept.get("law") is None or "made_of" not in kept or changed_since(kept["made_of"]):
            self.store.put(cell.key, self._answer(cell))
        return text_law_from(self.store.rows[cell.key])

    def _answer(self, cell: TextCell) -> dict[str, Any]:
        forged = self._forged(cell.problem)
        settings = called_with(cell.settings, cell.sampling)
        draft = None if cell.sampling == PLAIN else str(forged / "draft")
        if self.engine.driver:
            return self._driven(forged, cell, settings)
        started = self.child or self._started()
        try:
            started.send(target=str(forged / "target"), draft=draft, start=cell.problem.vocabulary,
                         tokens=cell.tokens, gamma=cell.problem.gamma, settings=settings)  # fmt: skip
            return started.receive()
        except RunFailed as failure:
            started.end()
            self.child = None
            return {"error": failure.message, "kind": failure.kind}

    def _driven(self, forged: Path, cell: TextCell, settings: Mapping[str, Any]) -> dict[str, Any]:
        self.processes = self.processes or import_module(self.engine.driver).processes()
        draft = None if cell.sampling == PLAIN else forged / "draft"
        answer = self.processes.answer(forged / "target", draft, cell.problem.vocabulary, cell.tokens,
                                       cell.problem.gamma, settings, self.timeout)  # fmt: skip
        self.about = self.processes.about
        return answer | {"made_of": {file: file_digest(file) for file in self.processes.sources()}}

    def _started(self) -> ChildProcess:
        child = ChildProcess("draftproof.proofs.interception.decoders", memory=self.memory,
                             limits=TimeLimits(self.timeout))  # fmt: skip
        try:
            packages = self.engine.packages
            child.send(sample=self.engine.sample, torch="torch" in packages, packages=packages)
            answer = child.receive()
            if "error" in answer:
                raise RunFailed(answer["kind"], answer["error"])
        except BaseException:
            child.end()
            raise
        self.about, self.child = answer, child
        return child

    def _forged(self, problem: Problem) -> Path:
        folder = self.folder / problem.name
        if not folder.exists():
            if self.engine.forged:
                forge(problem, folder)
            else:
                folder.mkdir()
                write_atomically(folder / PROBLEM_FILE, json.dumps(as_json(problem)))
        return folder

    def end(self) -> None:
        if self.child:
            self.child.end()
        if self.processes:
            self.processes.end()


@dataclass
class ExactTexts:
    """The laws of an engine's texts, as one part of a run.

    cells: what is asked. timeout: seconds of processor time for each law. checkpoint: a file of laws to go on from.
    judged: cells with what was found, in their order. seen: cells with a law, and the law.
    failed: of cells whose calls yield no text, what every call raises or how one ended.
    """

    engine: Engine
    cells: Sequence[TextCell]
    timeout: float
    memory: float
    report: Report
    progress: Progress = lambda stage, done, total: None
    checkpoint: str | None = None
    judged: list[tuple[TextCell, list[Evidence]]] = field(default_factory=list)
    seen: list[tuple[TextCell, SeenLaw]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def run(self) -> None:
        asked = {"engine": self.engine.name, "sample": self.engine.sample}
        store = Store(self.checkpoint, WHAT, asked, valid_for=code_digest(EXAMINING))
        with store, tempfile.TemporaryDirectory(prefix="draftproof-") as folder:
            laws = TextLaws(self.engine, Path(folder), self.timeout, self.memory, store)
            try:
                for k, cell in enumerate(self.cells):
                    self.progress(self.engine.name, k, len(self.cells))
                    self.judged.append((cell, self._judged(cell, laws)))
            finally:
                self._diagnose()
                laws.end()
                self.report.environment |= laws.about.get("versions", {})
                self.report.subject["digest"] = laws.about.get("digest", self.report.subject["digest"])

    def _diagnose(self) -> None:
        """Name the mutants that do the same on what is refuted first, and on what holds first."""
        wrong = {
            cell.key for cell, found in self.judged if any(e.refuted and e.claim in DECIDING for e in found)
        }  # fmt: skip
        refuted, right = ([law for cell, law in self.seen if (cell.key in wrong) is is_] for is_ in (True, False))
        if refuted:
            compared = [*refuted[:2], *right[:1]]
            same, mutants = behaves_as(compared)
            names = [*{one.problem.name: None for one in compared}]
            self.report.diagnosis += same
            self.report.compared = {"mutants": mutants, "claim": "lossless", "problems": names}

    @property
    def without(self) -> list[TextCell]:
        """The cells whose law is not known."""
        return [cell for cell, found in self.judged if found[0].law.exactness is None or not found[0].strength.decides]

    def evidence(self, complete: bool) -> list[Evidence]:
        return [e for _, found in self.judged for e in found]

    def _judged(self, cell: TextCell, laws: TextLaws) -> list[Evidence]:
        found = laws.of(cell)
        plain = None if cell.sampling == PLAIN else laws.of(cell.plain)
        self.report.notice(found.findings)
        if found.law is None and found.raises:
            self.failed.append((found.raises, found.why_unknown))
        if found.law is not None:
            self.seen.append((cell, SeenLaw(cell.problem, cell.settings, cell.tokens, cell.sampling, found)))
        model = cell.problem.target
        prompt = tuple(cell.settings.get("prompt") or ())
        texts = len(requests_of(cell.settings))
        facts = {"sampling": cell.sampling, "settings": dict(cell.settings), "setting": cell.name}
        facts |= {"requests_a_call": texts} if texts > 1 else {}
        expected = self._expected(cell)
        if not isinstance(expected, str):
            facts["without_effect"] = self._without_effect(cell, expected)
            facts["zeros"] = rules_out(expected, cell.problem)
        if plain is not None and plain.paths > 1 and found.law is not None:
            facts["ways_of_plain"] = found.paths == plain.paths
        judged = JudgedTexts(
            cell.problem.name, cell.tokens, texts, found, plain, expected,
            (lambda text: model.row(prompt + text)) if self.engine.logprobs == "model" else None,
            as_json(cell.problem), facts | size_of(cell.problem), bool(cell.settings.get("together")),
        )  # fmt: skip
        return [self._with_replay(e, cell) for e in judged.evidence()]

    def _without_effect(self, cell: TextCell, expected: TextMasses) -> list[str]:
        """The settings without which the law asked for is the same."""
        same = []
        for name in cell.settings:
            if name in SETTINGS and SETTINGS[name].law:
                others = {n: value for n, value in cell.settings.items() if n != name}
                other = self._expected(cell._replace(settings=others))
                same += [name] if not isinstance(other, str) and distance(expected, other) < EPSILON else []
        return same

    def _expected(self, cell: TextCell) -> TextMasses | str:
        try:
            return text_law(cell.problem.target, cell.tokens, cell.settings, ORDERS[self.engine.order])
        except InputError as error:
            return str(error)

    def _with_replay(self, evidence: Evidence, cell: TextCell) -> Evidence:
        """The evidence with the command that shows a refutation again, alone."""
        if not evidence.refuted:
            return evidence
        words = ["draftproof", "engine", self.engine.name, "--level", "exact", "--tokens", str(cell.tokens),
                 "--problem", json.dumps(as_json(cell.problem), separators=(",", ":"))]  # fmt: skip
        words += ["--plain"] if cell.sampling == PLAIN else []
        for name, value in called_with(cell.settings, cell.sampling).items():
            words += ["--set", f"{name}={json.dumps(value)}"]
        return replace(evidence, replay=shlex.join(words))


def asked_cells(
    engine: Engine, problems: Sequence[Problem], settings: Mapping[str, Any], tokens: int | None, plain: bool
) -> list[TextCell]:
    """One cell for each problem with the settings of the command line. Raises: InputError for those it has not.

    Where nothing but the engine and settings is named, a second one has texts of several blocks, if two tokens do for
    the settings; and without settings a third one has rows with zeros.
    """
    checked_settings(settings, engine.settings)
    given = {name: value for name, value in settings.items() if name != "lookup"}
    sampling = PLAIN if plain else LOOKUP if settings.get("lookup") else DRAFT
    name = ", ".join(f"{n} {json.dumps(v)}" for n, v in given.items()) or "none"
    cells = [TextCell(name, given, tokens or engine.tokens, sampling, p) for p in problems or [decoder_problem()]]
    if problems or tokens or engine.driver:
        return cells
    more = TextCell("more blocks", given, MORE_TOKENS + engine.tokens - TOKENS, sampling, long_problem())
    if not given:
        return [*cells, more, TextCell("rows with zeros", given, engine.tokens, sampling, zeros_problem())]
    return [*cells, *([more._replace(name=f"{name}, more blocks")] if _asks_for_two_tokens(engine, more) else [])]


def _asks_for_two_tokens(engine: Engine, cell: TextCell) -> bool:
    """Whether the cell's settings have a law over two tokens, of one text, that is known soon."""
    if engine.tokens < TOKENS or len(requests_of(cell.settings)) > 1 or named_tokens(cell.settings) - {0, 1}:
        return False
    try:
        return bool(text_law(cell.problem.target, cell.tokens, cell.settings, ORDERS[engine.order]))
    except InputError:
        return False
