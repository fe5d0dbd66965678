"""A server with more and more requests in flight: does an answer's law depend on how many there are?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, inf
from operator import mul
from typing import Any, NamedTuple

from ....models.errors import InputError
from ....models.problem import as_json, size_of
from ....stattests.anytime import min_detectable_sequential
from ....stattests.arguments import ALPHA, BETA, log_inverse
from ....stattests.eprocess import log_evidence_of_rows
from ....verifiers.details import BettingDetail
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence, Method, Witness
from ..report import Report
from ..settings import Progress, silent
from ..settings_grid import GridRow, Served
from .grid_audit import LOST, ServerRows
from .next_tokens import NextTokens, entries_of
from .remarks import Seen
from .row_requests import RowRequests
from .sampling import Sampler
from .settings import SweepSettings

SETTINGS = ({}, {"temperature": 0.5}, {"temperature": 2.0}, {"temperature": 0}, {"top_k": 2})
"""Settings of the requests, in turn, as far as the server and the target have them."""

CAP = 32
"""Largest cap of a text."""

FEW = 64
"""Draws of a context below which its limit counts as 1: it is near 1, and slow to find."""

GAPS = 5
"""Most ranges of numbers of requests in flight between the levels that are listed."""

LOOKS = 4
"""Looks at the evidence of a level, after the same number of answers each."""


def in_words(settings: Mapping[str, Any]) -> str:
    """Return the settings of a request in a few words."""
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "no settings"


def levels_to(most: int) -> list[int]:
    """Return the numbers of requests in flight: powers of two, from 4 on one between each two, and the largest."""
    powers = [2**k for k in range(most.bit_length())]
    return sorted({most, *powers, *(n * 3 // 2 for n in powers if n >= 4 and n * 3 // 2 < most)} - {0})


def between(levels: Sequence[int]) -> list[str]:
    """Return in a sentence which numbers of requests in flight are between levels; none if there are none."""
    gaps = [(a + 1, b - 1) for a, b in pairwise(levels) if b > a + 1]
    if len(gaps) > GAPS:
        return ["numbers of requests in flight between those that were asked with"]
    numbers = [str(a) if a == b else f"{a} to {b}" for a, b in gaps]
    return [f"{', '.join(numbers)} requests in flight"] if numbers else []


class Answered(NamedTuple):
    """A level's answers. tokens: by the settings of their requests. log_e: the highest evidence at any look."""

    name: str
    tokens: Sequence[NextTokens]
    log_e: float

    @property
    def texts(self) -> int:
        return sum(seen.texts for seen in self.tokens)

    @property
    def size(self) -> int:
        return sum(len(seen.tokens) for seen in self.tokens)

    @property
    def impossible(self) -> int:
        return sum(seen.impossible.total() for seen in self.tokens)


def audit_sweep(url: str, target: str, settings: SweepSettings, seed: int = 0, progress: Progress = silent) -> Report:
    """Ask a server the same requests with 1, 2, 4, 6, 8, ... of them in flight, and compare every token with its row.

    url: of the server. target: what it serves, of order 1.
    Guarantee: at a false-alarm rate of ALPHA over all levels a server is not refuted if each token is drawn from its
    row given all before it, whenever the run ends (``log_evidence_of_rows``). A level with lost answers is refuted by
    impossible texts alone.
    Raises: InputError if the address is none of the API, or nothing was forged at ``target``.
    """
    if settings.samples < 2 * settings.at_once:
        raise InputError(
            f"--samples {settings.samples}: expected at least {2 * settings.at_once}, twice the requests in flight"
        )
    with settings.connected(url) as clients:
        return ServerSweep(url, {"target": target}, clients, settings, seed, progress).audit()


class ServerSweep(ServerRows):
    """An examination of a server level by level. A level is a number of requests in flight."""

    settings: SweepSettings

    def chosen(self) -> Sequence[GridRow]:
        self.in_flight = levels_to(self.settings.at_once)
        self.alpha, self.levels = ALPHA / len(self.in_flight), list[dict[str, Any]]()
        return [GridRow(f"{n} in flight", {}) for n in self.in_flight]

    def ask(self) -> None:
        self.asked = [settings for settings in SETTINGS if self._has(settings)]
        for n, row in zip(self.in_flight, self.rows):
            served = Served(self.asked, tokens=CAP, in_turn=True, prompt="varied")
            requests = self.requests(row._replace(served=served))
            requests.kind = requests.kind._replace(what="sweep")  # the same requests at each level
            self.kinds.append(row.name)
            before, answered = self.clients[0].drafts(), self._answered(requests, n)
            self.found.append(made := self._judged(answered))
            self.levels.append({
                "in_flight": n, "texts": answered.texts, "log_e": answered.log_e, "alarm": log_inverse(self.alpha),
                "verdict": made.verdict, "impossible": answered.impossible,
                "missed": len(self.journal.missed(row.name)), **self._drafts(row.name, before),
            })  # fmt: skip

    def _has(self, settings: dict[str, Any]) -> bool:
        """Check whether the server has settings and the target has rows under them. Note why not."""
        row = GridRow("settings", settings, served=Served(tokens=1))
        try:
            requests = self.requests(row)
            for token in range(self.problem.vocabulary):
                requests.rows(0).at((token,), ())
        except InputError as error:
            self.left_out.append(f"{in_words(settings)}: {error}")
            return False
        return True

    def _answered(self, requests: RowRequests, n: int) -> Answered:
        """Send the requests of a level until they refute, or all are answered."""
        name, total, highest = requests.kind.name, self.settings.samples, -inf
        sampler = Sampler(self.clients[0], self.journal, replace(self.settings, at_once=n), self.until)
        tokens = [NextTokens() for _ in self.asked]
        look = max(total // LOOKS, 2 * n)
        answered = Answered(name, tokens, highest)
        for first in range(0, total, look):
            last = min(first + look, total)
            sampler.run(requests, total, lambda done: self.progress(name, done, total), until=last)
            for slot in range(first, last):
                for text in self.journal.texts[name].get(slot, ()):  # none if its answer is lost
                    tokens[slot % len(tokens)].add(requests.rows(slot), requests.prompt(slot), text)
            draws = [(counts, row) for seen in tokens for _, counts, row in seen.counts()]
            highest = max(highest, log_evidence_of_rows(draws, len(tokens) * self.problem.vocabulary))
            answered = answered._replace(log_e=highest)
            if self._refuted(answered):
                break
        return answered

    def _refuted(self, answered: Answered) -> bool:
        won = answered.log_e >= log_inverse(self.alpha) and not self.journal.missed(answered.name)
        return won or answered.impossible > 0

    def _drafts(self, name: str, before: tuple[int, int] | None) -> dict[str, int]:
        """Return how many tokens a level's answers have, and how many the answers or the server count as drafts."""
        emitted = {"tokens": sum(len(text) for texts in self.journal.texts[name].values() for text in texts)}
        seen, after = Seen().add(self.journal.shown[name].values()), self.clients[0].drafts()
        if seen.drafted:
            return emitted | {"drafted": seen.drafted, "kept": seen.accepted}
        if before is None or after is None or self.journal.resumed:
            return emitted
        return emitted | {"drafted": after[0] - before[0], "kept": after[1] - before[1]}

    def _judged(self, answered: Answered) -> Evidence:
        lost, log_e = len(self.journal.missed(answered.name)), answered.log_e
        limits = {in_words(asked): self._limit(seen) for asked, seen in zip(self.asked, answered.tokens)}
        p_value = 0.0 if answered.impossible else exp(-max(0.0, log_e))
        detail = BettingDetail(
            tokens=answered.size, p_value=p_value, limits=limits, slack=0.0, texts=answered.texts, log_evidence=log_e,
            false_alarm_rate=self.alpha, miss_rate=BETA, dtype="float32", **size_of(self.problem),
        )  # fmt: skip
        made = Evidence(
            claim="lossless", method=Method.BETTING, verdict=NO_EVIDENCE, problem=answered.name, detail=detail
        )
        if self._refuted(answered):
            return replace(made, verdict=REFUTED, witness=self._witness(answered), replay=self.replay(sweep=True))
        if lost:
            return made.undecided(LOST.format(lost))
        sizes = [len(seen.tokens) for seen in answered.tokens]
        return replace(made, bound=sum(map(mul, limits.values(), sizes)) / max(1, sum(sizes)))

    def _limit(self, seen: NextTokens) -> float:
        """Return the total variation of the next token from its row, averaged over the tokens, that would have refuted.

        It is the average of the contexts' limits: if the tokens are off by more on average, those of one context are.
        How often a context comes may depend on the tokens. So the rate of misses is shared among groups of numbers of
        draws, from one power of two to the next. In each Hoeffding's maximal inequality is asked for twice the draws,
        hence the square.
        """
        total, contexts = 0.0, len(self.asked) * self.problem.vocabulary
        for _, counts, row in seen.counts():
            draws, law = int(counts.sum()), {str(t): float(p) for t, p in enumerate(row) if p}
            missed = (BETA / (draws.bit_length() * (draws.bit_length() + 1))) ** 2
            few = draws < FEW and len(law) > 1
            total += draws * (
                1.0 if few else min_detectable_sequential(draws, law, self.alpha / (2 * contexts), missed)
            )
        return total / max(1, len(seen.tokens))

    def _witness(self, answered: Answered) -> Witness:
        """Return the outcome that is most off, with the settings of its requests."""

        def off(k: int) -> tuple[bool, float]:
            draws = [(counts, row) for _, counts, row in answered.tokens[k].counts()]
            return bool(answered.tokens[k].impossible), log_evidence_of_rows(draws, max(1, len(draws)))

        worst = max(range(len(self.asked)), key=off)
        entry = next(entries_of(answered.tokens[worst]))
        entry = replace(entry, sequence=f"{in_words(self.asked[worst])}: {entry.sequence}")
        return Witness(**vars(entry), problem=as_json(self.problem))

    def section(self) -> dict[str, Any]:
        section = super().section() | {"levels": self.levels}
        drafted, kept = (sum(level.get(name, 0) for level in self.levels) for name in ("drafted", "kept"))
        if drafted and "drafted" not in section["speculation"]:
            section["speculation"] = {"seen": "in the server's metrics", "drafted": drafted, "accepted": kept}
        return section

    def not_examined(self, seen: Seen) -> list[str]:
        late = [row.name for row in self.rows[len(self.levels) :]]
        return [
            "how many of the requests in flight the server runs in one batch",
            "penalties, stop sequences, logprobs, chat, and prompts of other lengths than 1 to 48 tokens",
            *between(self.in_flight), *([f"{', '.join(late)}: not reached"] if late else []), *self.left_out,
        ]  # fmt: skip
