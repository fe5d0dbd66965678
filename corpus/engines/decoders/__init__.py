"""Decoders driven: engines in a process of their own that take their random numbers, and the laws of their texts."""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from draftproof.models.decoding_settings import ReportedLogprobs, note_logprobs, requests_of
from draftproof.models.errors import RunFailed
from draftproof.proofs.child_process import LineProcess
from draftproof.proofs.driven.subjects import digest_of_files
from draftproof_engines.decoders.draws import NoTreeOfDraws, Numbers, TextLaw
from draftproof_engines.decoders.eagle_head import save_eagle_head

CONFIRMATIONS, ALONE = 2000, 20
"""Random texts that a law has to foretell, and how many of them are the engine's only ones at their time."""

FILLS = (None, 0.25, 3.0)
"""What memory that is made without being written holds, batch after batch: None leaves it as it was."""

CHECKED, SPREAD = 24, 200
"""Texts that are repeated with each of these before a law is looked for, and most texts of a batch."""

STARTING, WAITING = 600.0, 300.0
"""Seconds of wall-clock time for an engine to start, and for one batch of texts."""


class EngineProcess(LineProcess):
    """An engine, by its interpreter and script.

    loading: the first line; its answer says ``ready``.
    about: what the engine said of itself. Raises: RunFailed in one line if it does not load.
    """

    def __init__(self, command: Sequence[str], loading: Mapping[str, Any]):
        try:
            super().__init__(command, "the engine")
        except OSError as error:
            raise RunFailed("load", f"{command[0]} cannot be started ({error.strerror})") from None
        try:
            self.about: dict[str, Any] = self.ask(STARTING, loading)["ready"]
        except RunFailed as failure:
            self.end()
            raise RunFailed("load", failure.message) from None

    def ask(self, seconds: float, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer. Raises: RunFailed if there is none in time, the engine has ended or says what went wrong."""
        self._deadline = time.monotonic() + seconds
        self.write(request)
        line = self.read()
        try:
            answer = json.loads(line)
        except ValueError:
            raise RunFailed("crash", f"the engine's answer is not JSON: {line[:80]!r}") from None
        if "error" in answer:
            raise RunFailed("crash", answer["error"])
        return answer

    def seconds(self) -> float:
        """Return the seconds of processor time that it took so far."""
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(self._process.pid).cpu_times()
            return times.user + times.system
        return 0.0


class DrivenDecoder:
    """One request to an engine: the law of what it yields, with all of its random numbers handed in.

    engine: the process. requests: its texts, each {"prompt", "settings"} as the engine's own side has them.
    seconds: of processor time for the law.
    """

    def __init__(self, engine: EngineProcess, requests: Sequence[Mapping[str, Any]], seconds: float, seed: int = 0):
        self.engine, self.requests = engine, requests
        self.until, self.seconds, self.seed = engine.seconds() + seconds, seconds, seed
        self.asked = self.batches = 0
        self.logprobs: ReportedLogprobs = {}

    def answer(self) -> dict[str, Any]:
        """Return the law as ``text_laws.text_law_from`` reads it. Raises: RunFailed."""
        before = self.engine.seconds()
        facts: dict[str, Any] = {"exactness": "driven", "law": None, "findings": {}}
        try:
            if seen := self._seen():
                return facts | {"seen": seen, "reason": "its output depends on memory that was never written"}
            laws = [self._law(k) for k in range(len(self.requests))]
        except NoTreeOfDraws as why:
            return facts | {"reason": str(why), "calls": self.asked}
        tables = [[[[*text], p] for text, p in law.law().items()] for law in laws]
        return facts | {
            "law": tables[0] if len(tables) == 1 else None, "calls": self.asked,
            "parts": [{"slots": [k], "law": law} for k, law in enumerate(tables)] if len(tables) > 1 else [],
            "resolution": sum(law.resolution for law in laws), "paths": sum(law.nodes for law in laws),
            "missed": sum(law.missed for law in laws), "confirmations": laws[0].confirmed, "alone": laws[0].alone,
            "logprobs": [[[*text], *both] for text, both in self.logprobs.items()],
            "seconds": round(self.engine.seconds() - before, 1),
        }  # fmt: skip

    def _batch(self, k: int, texts: Sequence[Mapping[str, Any]], fill: float | None, **more: Any) -> dict[str, Any]:
        """Texts of request k decoded together, and one of each other request beside them."""
        if self.engine.seconds() > self.until:
            raise NoTreeOfDraws(
                f"its distribution needs more processor time than the limit (--timeout {self.seconds:g})"
            )
        self.batches += 1
        own, others = self.requests[k], [r for j, r in enumerate(self.requests) if j != k]
        asked: dict[str, Any] = {
            "settings": own["settings"], "texts": [{"prompt": own["prompt"], **text} for text in texts], "fill": fill,
            "beside": [{**other, "seed": [self.seed, self.batches, j]} for j, other in enumerate(others)],
            "first": self.batches == 1, "earlier": own.get("earlier", []),
        }  # fmt: skip
        answer = self.engine.ask(WAITING, asked | more)
        if "refused" in answer:
            raise NoTreeOfDraws(answer["refused"])
        if answer["undriven"]:
            raise NoTreeOfDraws("it draws numbers from the global generator that no call was answered for")
        if answer["twice"]:
            raise NoTreeOfDraws("one seed makes the noise of two of its operator's races: its numbers are used twice")
        self.asked += len(texts)
        return answer

    def _texts(self, k: int, texts: Sequence[Mapping[str, Any]], size: int = SPREAD) -> Iterator[dict[str, Any]]:
        for start in range(0, len(texts), size):
            fill = FILLS[self.batches % len(FILLS)]
            for text in self._batch(k, texts[start : start + size], fill)["texts"]:
                self._report(text)
                yield text

    def _law(self, k: int) -> TextLaw:
        """Return the law of one text, the others beside it."""
        seeds = iter(range(1 << 60))

        def ask(numbers: Sequence[Numbers]) -> list[dict[str, Any]]:
            return [*self._texts(k, [{"numbers": given, "seed": 0} for given in numbers])]

        def random(count: int) -> list[dict[str, Any]]:
            drawn = [{"seed": [self.seed, k, next(seeds)]} for _ in range(count)]
            return [*self._texts(k, drawn[ALONE:]), *self._texts(k, drawn[:ALONE], 1)]

        law = TextLaw(ask)
        law.find()
        law.confirm(random, CONFIRMATIONS, ALONE)
        return law

    def _report(self, text: Mapping[str, Any]) -> None:
        """Note the logprobs of a text."""
        tokens = tuple(t for step in text["steps"] for t in step["tokens"])
        values = [value for step in text["steps"] for value in step["logprobs"]]
        if values:
            try:
                note_logprobs(self.logprobs, tokens, values)
            except ValueError as differs:
                raise NoTreeOfDraws(str(differs)) from None

    def _seen(self) -> dict[str, Any]:
        """Return whether texts, repeated, depend on what memory held before it was written."""
        for k in range(len(self.requests)):
            asked = [{"seed": [self.seed, k, n], "numbers": []} for n in range(CHECKED)]
            made = {fill: self._batch(k, asked, fill) for fill in FILLS}
            again = self._batch(k, asked, FILLS[1])
            for n in range(CHECKED):
                texts = {fill: _shown(made[fill]["texts"][n]) for fill in FILLS}
                if _shown(again["texts"][n]) != texts[FILLS[1]]:
                    return {"differs": "from call to call", "seed": n,
                            "texts": [texts[FILLS[1]], _shown(again["texts"][n])]}  # fmt: skip
                if len({*texts.values()}) > 1:
                    return {
                        "differs": self._where(k, asked, n, made),
                        "seed": n,
                        "texts": [*dict.fromkeys(texts.values())],
                    }
        return {}

    def _where(self, k: int, asked: Sequence[Any], n: int, made: Mapping[Any, dict[str, Any]]) -> str:
        """Which memory it is: the place that makes it, what it held."""
        places, held = made[FILLS[1]]["places"], made[None]["held"]
        found = []
        for place in places:
            other = self._batch(k, asked, FILLS[1], other={place: FILLS[2]})["texts"][n]
            if _shown(other) != _shown(made[FILLS[1]]["texts"][n]):
                found.append(f"{place}, {places[place]}, held {held.get(place, [])}")
        return "with memory that was never written" + (f" (made in {'; '.join(found)})" if found else "")


def _shown(text: Mapping[str, Any]) -> str:
    return str(tuple(t for step in text["steps"] for t in step["tokens"]))


class DecoderProcesses:
    """Engines of one kind, one for each way of loading, the last few kept.

    adapter: the engine's own side, a module as ``vllm_decoder``.
    edits: Python that is run before it is loaded, to plant bugs.
    """

    KEPT = 2

    def __init__(self, adapter: Any, edits: str = ""):
        self.adapter, self.edits = adapter, edits
        self.running: dict[str, EngineProcess] = {}
        self.about: dict[str, Any] = {}

    def sources(self) -> Sequence[str]:
        """Return the files of the engine that its verdict depends on."""
        return self.adapter.sources()

    def answer(self, target: Path, draft: Path | None, start: int, tokens: int, gamma: int,
               settings: Mapping[str, Any], seconds: float) -> dict[str, Any]:  # fmt: skip
        """Return the law of one request, or what stopped it: {"error", "kind"}."""
        if draft is not None and settings.get("eagle"):
            head = draft.with_name(f"{draft.name}-eagle")
            save_eagle_head(target, draft, head)
            draft = head
        loading = self.adapter.loading(str(target), draft and str(draft), gamma, settings)
        key = json.dumps(loading, sort_keys=True)
        try:
            engine = self.running.pop(key, None) or self._started(loading)
            self.running[key] = engine
            requests = [self.adapter.request(start, tokens, request) for request in requests_of(settings)]
            return DrivenDecoder(engine, requests, seconds).answer()
        except RunFailed as failure:
            if ended := self.running.pop(key, None):
                ended.end()
            return {"error": failure.message, "kind": failure.kind}

    def _started(self, loading: Mapping[str, Any]) -> EngineProcess:
        while len(self.running) >= self.KEPT:
            self.running.pop(next(iter(self.running))).end()
        edited = {**loading, "module": loading.get("module", "") + self.edits} if self.edits else loading
        engine = EngineProcess(self.adapter.command(), edited)
        self.about = {"versions": engine.about, "digest": digest_of_files(self.adapter.sources())}
        return engine

    def end(self) -> None:
        """End all of them."""
        for engine in self.running.values():
            engine.end()
        self.running.clear()
