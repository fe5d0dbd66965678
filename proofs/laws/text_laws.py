"""The law of what a decoder yields under settings, measured, and its claims: judged against a definition and itself."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log
from typing import Any

from ...models.decoding_settings import independent, separated
from ...models.law import Prefix, prefix_key
from ...verifiers.details import TextLawDetail
from ...verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, EvidenceVerdict, LawEntry, Method, Witness
from ...verifiers.verdicts import Strength
from . import verdict_rule

EPSILON = 2.0**-23
"""Of float32, in which decoders compute at best."""

ROUNDINGS, MOST_ROUNDINGS = 1, 64
"""Epsilons for each token of a text that are rounding, and up to which a deviation may be: 3.6e-7 and 2e-5 for 3. No
right decoder in the kept grids deviates by more than a third of one."""

LOGPROBS_OFF = 1e-4
"""A logprob that is further off is not the law's: the logarithm of a probability with float32's rounding is not."""

MOST_ENTRIES = 6

UNWRITTEN, UNSTEADY = "unwritten", "unsteady"
"""Findings: what is yielded depends on memory that was never written; it differs from call to call."""

TextMasses = Mapping[Any, float]


@dataclass(frozen=True)
class KnownTexts:
    """What is known of the law of a decoder's texts.

    law: ``joined`` texts -> probability, what was raised in place of one by its message; None if it is not known.
    reason: why not. strength, resolution, paths: as of a function's law. calls: made for it.
    findings: what was noticed. reads: what it asks of its surroundings. keeps: names of what changes with each call.
    logprobs: text -> the least and the largest logprobs that were reported with it.
    raises: the error, where every call raises, or what ended the one that was followed.
    missed, confirmations: total variation that random texts to confirm a driven law may not have met, and how many
    there were.
    """

    law: TextMasses | None = None
    reason: str | None = None
    strength: Strength = Strength.NONE
    resolution: float = 0.0
    paths: int = 0
    calls: int = 0
    findings: Mapping[str, str] = field(default_factory=dict)
    reads: Sequence[str] = ()
    keeps: Sequence[str] = ()
    logprobs: Mapping[Prefix, tuple[list[float], list[float]]] = field(default_factory=dict)
    raises: str | None = None
    missed: float = 0.0
    confirmations: int = 0

    @property
    def known(self) -> bool:
        """Whether it can show that a claim holds: what a decoder asks of its surroundings, or counts, may change it."""
        return self.law is not None and not self.reads and not self.keeps

    @property
    def why_unknown(self) -> str:
        """Why it cannot."""
        kept = f"it keeps what changes with every call: {', '.join([*self.keeps][:3])}"
        return self.reason or (f"it asks its surroundings: {'; '.join([*self.reads][:3])}" if self.reads else kept)


def text_law_from(answer: Mapping[str, Any]) -> KnownTexts:
    """The law that the child process answered (``interception.decoders``)."""
    if "error" in answer:
        return KnownTexts(reason=answer["error"], raises=answer.get("kind", "error"))
    seen, findings, law = answer.get("seen"), dict(answer.get("findings", {})), None
    if seen:
        texts = "; ".join(seen["texts"])
        kind = UNSTEADY if seen["differs"] == "from call to call" else UNWRITTEN
        text = f"the same call gives other texts {seen['differs']}: with seed {seen['seed']} {texts}"
        findings = {kind: text, **findings}
    if answer["law"] is not None:
        law = {tuple(text): p for text, p in answer["law"]} | dict(answer["raised"])
    return KnownTexts(
        law, answer.get("reason"), Strength(answer.get("exactness", "none")), answer.get("resolution", 0.0),
        answer.get("paths", 0), answer.get("calls", 0), findings, tuple(answer.get("reads", ())),
        tuple(answer.get("keeps", ())), {tuple(text): (low, high) for text, low, high in answer.get("logprobs", ())},
        answer.get("raises"),
        answer.get("missed", 0.0), answer.get("confirmations", 0),
    )  # fmt: skip


def distance(law: TextMasses, other: TextMasses) -> float:
    """Their total variation."""
    return sum(abs(law.get(o, 0.0) - other.get(o, 0.0)) for o in law.keys() | other.keys()) / 2


def marginal(law: TextMasses, length: int) -> dict[Prefix, float]:
    """The law of the first tokens."""
    sums: dict[Prefix, float] = {}
    for text, p in law.items():
        if isinstance(text, tuple):
            sums[text[:length]] = sums.get(text[:length], 0.0) + p
    return sums


@dataclass(frozen=True)
class JudgedTexts:
    """One request to a decoder, all that is needed to judge it.

    name: of what was asked. tokens: the cap of a text; texts: how many one call yields. found: the law of what it
    yields. plain: the same without speculation, None where that is what was asked. expected: by the settings'
    definitions, or why there is no such law. raw: the law that its logprobs are of.
    problem: named by every witness. facts: of the evidence.
    """

    name: str
    tokens: int
    texts: int
    found: KnownTexts
    plain: KnownTexts | None
    expected: TextMasses | str
    raw: Callable[[Prefix], Sequence[float]] | None = None
    problem: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    together: bool = False

    def evidence(self) -> Iterator[Evidence]:
        """All its claims."""
        yield self._against("lossless", self.expected)
        if self.plain is not None:
            other = self.plain.law if self.plain.known and self.plain.law is not None else None
            resolution = self.plain.resolution
            missing = f"the law without speculation is not known: {self.plain.why_unknown}" if other is None else ""
            yield self._against("same-as-plain", missing if other is None else other, resolution)
        yield self._support()
        if self.found.logprobs:
            yield self._logprobs()
        if self.together:
            yield self._batch()

    def _detail(self, **facts: Any) -> TextLawDetail:
        exactness = self.found.strength if self.found.law is not None else Strength.NONE
        return TextLawDetail(exactness=exactness, paths=self.found.paths, calls=self.found.calls,
                             missed=self.found.missed, confirmations=self.found.confirmations,
                             tokens=self.tokens, dtype="float32", **{**self.facts, **facts})  # fmt: skip

    def _made(self, claim: str, verdict: EvidenceVerdict, size: float | None = None, bound: float | None = None,
              witness: Witness | None = None, **facts: Any) -> Evidence:  # fmt: skip
        return Evidence(claim=claim, method=Method.INTERCEPTION, verdict=verdict, problem=self.name,
                        total_variation=size, bound=bound, witness=witness, detail=self._detail(**facts))  # fmt: skip

    def _undecided(self, claim: str, reason: str) -> Evidence:
        return self._made(claim, NO_EVIDENCE, reason=reason)

    def _against(self, claim: str, other: TextMasses | str, resolution: float = 0.0) -> Evidence:
        """The measured law against another one."""
        found = self.found
        if (unwritten := found.findings.get(UNWRITTEN)) and found.law is None:
            texts = unwritten.partition(": ")[2]
            entry = LawEntry("one call, repeated", "one text, whatever memory held before", texts)
            return self._made(claim, REFUTED, witness=Witness(**vars(entry), problem={**self.problem}, why=unwritten))
        if found.law is None or isinstance(other, str):
            return self._undecided(claim, found.why_unknown if found.law is None else str(other))
        size, each = distance(found.law, other), EPSILON * self.tokens * self.texts
        slack = found.resolution + resolution
        verdict = verdict_rule.decide(size, ROUNDINGS * each + slack, MOST_ROUNDINGS * each + slack)
        if verdict == HOLDS and not found.known:
            return self._undecided(claim, found.why_unknown)
        if verdict == NO_EVIDENCE:
            facts = {"reason": f"a deviation of {size:.2g} may be rounding, and may be none"}
        else:
            facts = {}
        witness = self._side_by_side(found.law, other) if verdict == REFUTED else None
        missed = found.missed + (self.plain.missed if self.plain and other is self.plain.law else 0.0)
        return self._made(claim, verdict, size, ROUNDINGS * each + slack + missed, witness, **facts)

    def _side_by_side(self, found: TextMasses, other: TextMasses) -> Witness:
        """The laws of the first tokens on which they differ, the worst first."""
        raised = {text: p for text, p in found.items() if isinstance(text, str) and p > LOGPROBS_OFF}
        if raised and not any(isinstance(text, str) for text in other):
            entries = [LawEntry(text, "0", _shown(p)) for text, p in raised.items()]
        else:
            longest = max(len(text) for law in (found, other) for text in law if isinstance(text, tuple))
            pairs = [(marginal(found, n), marginal(other, n)) for n in range(1, longest + 1)]
            seen, right = next((pair for pair in pairs if distance(*pair) > LOGPROBS_OFF), pairs[-1])
            worst = sorted(seen.keys() | right.keys(), key=lambda t: (-abs(seen.get(t, 0) - right.get(t, 0)), t))
            entries = [LawEntry(_text(t), _shown(right.get(t, 0)), _shown(seen.get(t, 0))) for t in worst]
        return Witness(**vars(entries[0]), problem={**self.problem}, laws=tuple(entries[:MOST_ENTRIES]))

    def _support(self) -> Evidence:
        """A text that the settings rule out is never written, not even at u = 0."""
        if self.found.law is None or isinstance(self.expected, str):
            return self._undecided("support", self.found.why_unknown if self.found.law is None else str(self.expected))
        impossible = {t: p for t, p in self.found.law.items() if p and not self.expected.get(t)}
        if not impossible:
            if not self.found.known:
                return self._undecided("support", self.found.why_unknown)
            return self._made("support", HOLDS)
        worst = max(impossible, key=lambda text: impossible[text])
        entry = LawEntry(_text(worst), "0", f"{impossible[worst]:.3g}")
        witness = Witness(**vars(entry), problem={**self.problem})
        return self._made("support", REFUTED, sum(impossible.values()), witness=witness)

    def _logprobs(self) -> Evidence:
        """Each reported logprob against the law's, of the settings or of the model (``raw``)."""
        worst: tuple[float, LawEntry] = (-1.0, LawEntry("", "", ""))
        if self.raw is None and isinstance(self.expected, str):
            return self._undecided("logprobs", self.expected)
        for text, both in self.found.logprobs.items():
            right = self._right_logprobs(text)
            if right is None:
                continue
            for reported in both:
                if len(reported) != len(right):
                    entry = LawEntry(_text(text), f"{len(right)} logprobs", f"{len(reported)} logprobs")
                    worst = max(worst, (inf, entry), key=lambda found: found[0])
                for place, (value, wanted) in enumerate(zip(reported, right)):
                    off = abs(value - wanted) if value != wanted else 0.0
                    entry = LawEntry(f"logprob {place + 1} of {_text(text)}", f"{wanted:.6g}", f"{value:.6g}")
                    worst = max(worst, (inf if off != off else off, entry), key=lambda found: found[0])
        off, entry = worst
        if off < 0:
            return self._undecided("logprobs", "no logprob of a text with a law was reported")
        verdict = verdict_rule.decide(off, LOGPROBS_OFF, LOGPROBS_OFF)
        witness = Witness(**vars(entry), problem={**self.problem}) if verdict == REFUTED else None
        return self._made("logprobs", verdict, off, LOGPROBS_OFF, witness)

    def _right_logprobs(self, text: Prefix) -> list[float] | None:
        if self.raw is not None:
            rows = [self.raw(text[:i])[token] for i, token in enumerate(text)]
            return [log(p) if p else -inf for p in rows]
        assert not isinstance(self.expected, str)
        masses = [marginal(self.expected, n).get(text[:n], 0.0) for n in range(len(text) + 1)]
        return [log(b / a) for a, b in itertools.pairwise(masses)] if all(masses) else None

    def _batch(self) -> Evidence:
        """The joint law of requests made together is the product of the laws of each."""
        if self.found.law is None or isinstance(self.expected, str):
            return self._undecided("batch", self.found.why_unknown if self.found.law is None else str(self.expected))
        known = self.plain.law if self.plain is not None and self.plain.known else None
        return self._against("batch", _product_of_each(self.expected if known is None else known))


def _product_of_each(law: TextMasses) -> dict[Prefix, float]:
    """The law with each text as it is and independent of the others."""
    each: list[dict[Prefix, float]] = []
    for text, p in law.items():
        for k, part in enumerate(separated(text)):
            if k == len(each):
                each.append({})
            each[k][part] = each[k].get(part, 0.0) + p
    return independent(each)


def _text(text: Any) -> str:
    return text if isinstance(text, str) else " | ".join(prefix_key(part) or "nothing" for part in separated(text))


def _shown(p: float) -> str:
    return f"{p:.6g}"
