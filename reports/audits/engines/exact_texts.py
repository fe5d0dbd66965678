"""The exact law of a decoder's first tokens, wherever its random numbers can be followed, and its claims."""

import json
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from ....models.decoders.mistakes import orders_of
from ....models.decoding_settings import ORDERS, PLAIN, SETTINGS, EnginesDiffer, called_with, requests_of, text_laws
from ....models.digests import EXAMINING, code_digest
from ....models.errors import InputError, RunFailed
from ....models.files import file_name, write_atomically
from ....models.forge import PROBLEM_FILE, forge
from ....models.law import Prefix
from ....models.problem import Problem, as_json
from ....models.store import Store
from ....models.ties import texts_that_may_be
from ....proofs.audit_claims import judge
from ....proofs.child_process import ChildProcess
from ....proofs.interception.digests import changed_since, file_digest
from ....proofs.laws.known_decoders import SeenLaw, behaves_as
from ....proofs.laws.text_laws import EPSILON, MOST_ROUNDINGS, TextsLaw, TextsRequest, text_law_from
from ....proofs.laws.text_masses import TextMasses, distance
from ....proofs.time_limits import TimeLimits
from ....verifiers.adapters.protocol import DecoderProcesses
from ....verifiers.adapters.registry import Engine
from ....verifiers.evidence import Evidence
from ..replay import assignments, command_line, compact
from ..report import Report
from ..runner import explain
from ..settings import Progress, silent
from .cells import TextCell

DECIDING = ("lossless", "same-as-plain", "logprobs", "batch")
"""The claims that decide the verdict on a decoder. If one is refuted, a diagnosis is looked for."""

MOST_COMPARED = 1_000
"""Number of paths of several requests together up to which known mistakes are compared, each of which has as many."""

NOT_FOLLOWED = (
    "none of its random numbers are followed, and on another request it returned different results with the same ones"
)
"""Reason why a law is withdrawn that may be one of several outputs."""

WHAT = "distributions of a decoder's outputs"
"""What a checkpoint's rows are of."""


Expected = Sequence[TextMasses | EnginesDiffer] | InputError
"""The laws that the settings define, as of ``TextsRequest``."""


def _of_the_first(expected: Expected) -> TextMasses | InputError:
    """Return the law of the request that was asked for, or why it has none."""
    return expected if isinstance(expected, InputError) else expected[0]


def rules_out(laws: Iterable[Collection[Prefix]], problem: Problem) -> bool:
    """Check whether some text has next tokens of probability 0."""
    for texts in laws:
        begun = {text[: n + 1] for text in texts for n in range(len(text))}
        if any(n < problem.vocabulary for n in Counter(text[:-1] for text in begun).values()):
            return True
    return False


@dataclass
class ExactTexts:
    """An examination of the laws of an engine's texts. A child process that ended is started anew.

    cells: what is asked.
    timeout: seconds of processor time for each law.
    memory: GiB of address space of the child.
    checkpoint: a file of laws to go on from.
    judged: cells with what was found, in their order.
    seen: cells with a law, and the law.
    failed: what every call of a cell raises, or how one ended, for cells whose calls yield no text.
    unsteady: whether calls of some cell did not repeat themselves with the same random numbers.
    """

    engine: Engine
    cells: Sequence[TextCell]
    timeout: float
    memory: float
    report: Report
    progress: Progress = silent
    checkpoint: str | None = None
    judged: list[tuple[TextCell, list[Evidence]]] = field(default_factory=list)
    seen: list[tuple[TextCell, SeenLaw]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    unsteady: bool = False
    _child: ChildProcess | None = None
    _processes: DecoderProcesses | None = None

    def run(self) -> None:
        asked = {"engine": self.engine.name, "sample": self.engine.sample}
        store = Store(self.checkpoint, WHAT, asked, valid_for=code_digest(EXAMINING))
        with store, tempfile.TemporaryDirectory(prefix="draftproof-") as folder:
            self._store, self._folder = store, Path(folder)
            try:
                for k, cell in enumerate(self.cells):
                    self.progress(self.engine.name, k, len(self.cells))
                    self.judged.append((cell, self._judged(cell)))
                self._withdraw()
            finally:
                explain(self.report, self._diagnose)
                for part in (self._child, self._processes):
                    if part:
                        part.end()
                self.report.environment |= self.about.get("versions", {})
                self.report.subject["digest"] = self.about.get("digest", self.report.subject["digest"])

    def law_of(self, cell: TextCell) -> TextsLaw:
        """Return the law, asked for once, or why there is none. Raises: RunFailed if the decoder does not load.

        A cell is asked for again if it has no law, or if the code has changed since: the files that a driven engine
        names, or all modules that another one loaded.
        """
        kept = self._store.rows.get(cell.key, {})
        without = kept.get("law") is None and not kept.get("parts")
        if without or "made_of" not in kept or changed_since(kept["made_of"]):
            self._store.put(cell.key, self._answer(cell))
        law = text_law_from(self._store.rows[cell.key])
        self.unsteady = self.unsteady or "state" in law.findings
        return law.withdrawn(NOT_FOLLOWED) if self.unsteady and law.draws_nothing else law

    def _withdraw(self) -> None:
        """Judge the cells again whose laws came before calls that did not repeat themselves."""
        if not self.unsteady:
            return
        for k, (cell, _) in enumerate([*self.judged]):
            laws = [text_law_from(self._store.rows[key]) for key in {cell.key, cell.plain.key} & {*self._store.rows}]
            if any(law.draws_nothing for law in laws):
                self.seen = [(other, law) for other, law in self.seen if other != cell]
                self.judged[k] = cell, self._judged(cell)

    def _answer(self, cell: TextCell) -> dict[str, Any]:
        forged = self._forged(cell.problem)
        settings = called_with(cell.settings, cell.sampling)
        draft = None if cell.sampling == PLAIN else str(forged / "draft")
        if self.engine.driver:
            return self._driven(forged, cell, settings)
        started = self._child or self._started()
        try:
            started.send(target=str(forged / "target"), draft=draft, start=cell.problem.vocabulary,
                         tokens=cell.tokens, gamma=cell.problem.gamma, settings=settings)  # fmt: skip
            return started.receive()
        except RunFailed as failure:
            started.end()
            self._child = None
            return {"error": failure.message, "kind": failure.kind}

    def _driven(self, forged: Path, cell: TextCell, settings: Mapping[str, Any]) -> dict[str, Any]:
        processes: DecoderProcesses = self._processes or import_module(self.engine.driver).processes()
        draft = None if cell.sampling == PLAIN else forged / "draft"
        answer = processes.answer(forged / "target", draft, cell.problem.vocabulary, cell.tokens, cell.problem.gamma,
                                  settings, self.timeout)  # fmt: skip
        self._processes, self.about = processes, dict(processes.about)
        return answer | {"made_of": {file: file_digest(file) for file in processes.sources()}}

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
        self.about, self._child = answer, child
        return child

    def _forged(self, problem: Problem) -> Path:
        folder = self._folder / file_name(problem.name)
        if not folder.exists():
            if self.engine.forged:
                forge(problem, folder)
            else:
                folder.mkdir()
                write_atomically(folder / PROBLEM_FILE, json.dumps(as_json(problem)))
        return folder

    def _diagnose(self) -> None:
        """Name the mutants that do the same on the first cells that are refuted, and on the first that hold."""
        wrong = {
            cell.key for cell, found in self.judged if any(e.refuted and e.claim in DECIDING for e in found)
        }  # fmt: skip
        refuted, right = ([law for cell, law in self.seen if (cell.key in wrong) is is_] for is_ in (True, False))
        if refuted:
            compared = [*refuted[:2], *right[:2]]
            same, mutants = behaves_as(compared)
            names = [*{one.problem.name: None for one in compared}]
            self.report.diagnosis += same
            self.report.compared = {"mutants": mutants, "claim": "lossless", "problems": names}

    @cached_property
    def order(self) -> Sequence[str]:
        """The engine's order of settings; of an unknown engine the one by which it decodes without speculation."""
        stated = ORDERS[self.engine.order]
        asked = [cell for cell in self.cells if cell.sampling != PLAIN]
        if self.engine.settings is not None or not asked:
            return stated
        for order in orders_of(asked[0].settings, stated):
            if all(self._follows(cell.plain, order) for cell in asked):
                if order != stated:
                    names = ", ".join(name for name in order if name in asked[0].settings)
                    self.report.notice({"order": f"without speculation settings are applied in the order {names}"})
                return order
        return stated

    def _follows(self, cell: TextCell, order: Sequence[str]) -> bool:
        """Check that a law is the one of this order, where it has one. Without one nothing speaks for another order."""
        if len(requests_of(cell.settings)) > 1:
            return True
        expected, stated = (self._expected(cell, names) for names in (order, ORDERS[self.engine.order]))
        if isinstance(law := _of_the_first(expected), InputError):
            return isinstance(_of_the_first(stated), InputError)
        masses = self.law_of(cell).masses
        return masses is not None and distance(masses, law) <= MOST_ROUNDINGS * EPSILON * cell.tokens

    @property
    def without(self) -> list[TextCell]:
        """The cells whose law is not known."""
        return [cell for cell, found in self.judged if found[0].law.exactness is None or not found[0].strength.decides]

    def evidence(self, complete: bool) -> list[Evidence]:
        return [e for _, found in self.judged for e in found]

    def _judged(self, cell: TextCell) -> list[Evidence]:
        found = self.law_of(cell)
        plain = None if cell.sampling == PLAIN else self.law_of(cell.plain)
        self.report.notice(found.findings)
        if not found.measured and found.raises:
            self.failed.append((found.raises, found.why_unknown))
        model = cell.problem.target
        prompt = tuple(cell.settings.get("prompt") or ())
        texts = len(requests_of(cell.settings))
        facts = {"sampling": cell.sampling, "settings": dict(cell.settings), "setting": cell.name}
        facts |= {"requests_a_call": texts} if texts > 1 else {}
        facts |= {"untold": list(cell.untold)} if cell.untold else {}
        expected = self._expected(cell, self.order)
        clear = [] if isinstance(expected, InputError) else [law for law in expected if not isinstance(law, InputError)]
        may = self._may_be(cell, expected)
        if clear or may:
            facts["zeros"] = rules_out([*clear, *may.values()], cell.problem)
        if clear:
            facts["without_effect"] = self._without_effect(cell, expected)
            few = texts == 1 or found.paths <= MOST_COMPARED
            if found.masses is not None and few and len(clear) == texts and self._drafts_defined(cell):
                self.seen.append((cell, SeenLaw(cell.problem, cell.settings, cell.tokens, cell.sampling, found,
                                                 self.order)))  # fmt: skip
        if plain is not None and plain.paths > 1 and found.measured:
            facts["ways_of_plain"] = (found.paths, found.numbers) == (plain.paths, plain.numbers)
        request = TextsRequest(
            cell.tokens, texts, expected, plain,
            (lambda text: model.row(prompt + text)) if self.engine.logprobs == "model" else None,
            facts, bool(cell.settings.get("together")), may,
        )  # fmt: skip
        return [self._with_replay(e, cell) for e in judge(found.of_request(cell.problem, request))]

    def _without_effect(self, cell: TextCell, expected: Expected) -> list[str]:
        """Return the settings without which the law asked for is the same."""
        same, law = list[str](), _of_the_first(expected)
        if isinstance(expected, InputError) or isinstance(law, InputError):
            return []
        for name in cell.settings:
            if name in SETTINGS and SETTINGS[name].law:
                others = {n: value for n, value in cell.settings.items() if n != name}
                other = self._expected(cell._replace(settings=others), self.order)
                first = _of_the_first(other)
                if isinstance(other, InputError) or isinstance(first, InputError) or len(other) != len(expected):
                    continue
                if distance(law, first) < EPSILON:
                    same.append(name)
        return same

    def _expected(self, cell: TextCell, order: Sequence[str]) -> Expected:
        try:
            return text_laws(cell.problem.target, cell.tokens, cell.settings, order)
        except InputError as error:
            return error

    def _may_be(self, cell: TextCell, expected: Expected) -> dict[int, Collection[Prefix]]:
        """Return the texts that may be written where engines may differ, by the place in a call."""
        laws = () if isinstance(expected, InputError) else expected
        may: dict[int, Collection[Prefix]] = {}
        for slot, (law, settings) in enumerate(zip(laws, requests_of(cell.settings))):
            if isinstance(law, InputError):
                texts = texts_that_may_be(cell.problem.target, cell.tokens, settings, self.order)
                may |= {} if texts is None else {slot: texts}
        return may

    def _drafts_defined(self, cell: TextCell) -> bool:
        """Check whether the draft has a law, too. Without one no known mistake is compared."""
        drafts = self._expected(cell._replace(problem=replace(cell.problem, target=cell.problem.draft)), self.order)
        return not isinstance(drafts, InputError) and not any(isinstance(law, InputError) for law in drafts)

    def _with_replay(self, evidence: Evidence, cell: TextCell) -> Evidence:
        """Add the command that shows a refutation again, alone."""
        if not evidence.refuted:
            return evidence
        replay = command_line(
            "engine", self.engine.name, level="exact", tokens=cell.tokens, plain=cell.sampling == PLAIN,
            problem=compact(as_json(cell.problem)),
            set=assignments(called_with(cell.settings, cell.sampling)),
        )  # fmt: skip
        return replace(evidence, replay=replay)
