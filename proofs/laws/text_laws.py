"""The law of a decoder's texts under settings, made from a table of texts, and its claims.

The law is judged by the settings' definitions and by the same decoder without speculation.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, log
from typing import Any, NamedTuple

from ...models.decoding_settings import EnginesDiffer, independent, joined, separated
from ...models.errors import InputError
from ...models.law import Prefix, prefix_key
from ...models.problem import Problem, size_of
from ...verifiers.details import LawDetail, TextLawDetail
from ...verifiers.evidence import LawEntry, Method, Witness
from ...verifiers.verdicts import Strength
from .law import Departure, Law
from .reference_laws import marginal

EPSILON = 2.0**-23
"""Spacing of float32 at 1: decoders compute in float32 at best."""

# No right decoder in the kept grids deviates by more than a third of one epsilon a token.
ROUNDINGS = 1
"""Number of epsilons for each token of a text that are rounding: total variation 3.6e-7 for three tokens."""

MOST_ROUNDINGS = 64
"""Number of epsilons for each token up to which a deviation may be rounding: 2e-5 for three tokens."""

LOGPROBS_OFF = 1e-4
"""Largest distance between a reported logprob and the law's that float32 can explain."""

MOST_ENTRIES = 6
"""Number of texts that a witness shows."""

UNWRITTEN = "unwritten"
"""Kind of finding: the texts depend on memory that was never written."""

UNSTEADY = "unsteady"
"""Kind of finding: the texts differ from call to call."""

TextMasses = Mapping[Any, float]
"""Probabilities of ``joined`` texts. An error that was raised in place of a text stands by its message."""


class SlotsMasses(NamedTuple):
    """The law of some texts of one call. slots: which. drawn: the way in which the others' numbers fell, given which
    the law is known; None if it depends on none of them."""

    slots: tuple[int, ...]
    masses: TextMasses
    drawn: int | None = None


class TextsRequest(NamedTuple):
    """A request to a decoder, with what its law is judged by.

    tokens: the cap of a text. texts: how many texts one call yields.
    expected: the law of each of these texts by the settings' definitions, or the error that says why there is none.
    plain: the law of the same request without speculation; None if the request itself is without.
    raw: function from a text to the row that logprobs are of; None: they are of ``expected``.
    facts: facts for the evidence. together: whether the call made several requests.
    """

    tokens: int
    texts: int
    expected: Sequence[TextMasses] | InputError
    plain: "TextsLaw | None" = None
    raw: Callable[[Prefix], Sequence[float]] | None = None
    facts: Mapping[str, Any] = {}
    together: bool = False


@dataclass(frozen=True, eq=False)
class TextsLaw(Law):
    """A law of a decoder's texts. ``of_request`` makes it one that can be judged.

    masses: the table of all texts of a call; None if that law is not known.
    parts: laws of some of the texts, if only those are known.
    alone: for each of several texts the law of its request alone, if it was measured.
    resolution: total variation to which it is known. calls: number of calls made for it. numbers: random numbers on all
      paths.
    reads: what the decoder asks of its surroundings. keeps: names of what changes with each call.
    logprobs: text -> the smallest and the largest logprobs that were reported with it.
    raises: the kind of error that every call raises, or that ended the traced one.
    behind: how the request made before each call ended, if there was one.
    """

    problem: Any = None
    masses: TextMasses | None = None
    parts: Sequence[SlotsMasses] = ()
    alone: Sequence[TextMasses] = ()
    resolution: float = 0.0
    calls: int = 0
    numbers: int = 0
    reads: Sequence[str] = ()
    keeps: Sequence[str] = ()
    logprobs: Mapping[Prefix, tuple[list[float], list[float]]] = field(default_factory=dict)
    raises: str | None = None
    behind: str = ""
    request: TextsRequest | None = None

    @property
    def known(self) -> bool:
        """Return whether the law can show that a claim holds: not if surroundings or a count may change it."""
        return self.measured and not self.reason and not self.reads and not self.keeps

    @property
    def measured(self) -> bool:
        """Return whether there is a law of texts."""
        return self.masses is not None or bool(self.parts)

    @property
    def each(self) -> Sequence[SlotsMasses]:
        """Return the laws of texts: of all of them together, or of parts."""
        if self.masses is None:
            return self.parts
        return [SlotsMasses((*range(self.asked.texts),), self.masses)]

    def of_slots(self, slots: Sequence[int]) -> TextMasses:
        """Return the law of some texts. If only laws of single texts are known, they are taken to be independent."""
        if self.masses is not None:
            return _of_slots(self.masses, slots)
        one = {part.slots[0]: part.masses for part in reversed(self.parts) if len(part.slots) == 1}
        return _independent(one, slots)

    @property
    def differ(self) -> bool:
        """Return whether a text has several laws, by what the others drew."""
        return any(
            distance(part.masses, self.of_slots(part.slots)) > MOST_ROUNDINGS * EPSILON * len(part.slots)
            for part in self.parts
        )

    @property
    def tells(self) -> bool:
        """Return True: each departure says itself what it lacks."""
        return True

    @property
    def why_unknown(self) -> str:
        """Return the reason why the law cannot show that a claim holds."""
        kept = f"it keeps what changes with every call: {', '.join([*self.keeps][:3])}"
        return self.reason or (f"it reads its environment: {'; '.join([*self.reads][:3])}" if self.reads else kept)

    def of_request(self, problem: Problem, request: TextsRequest) -> "TextsLaw":
        """Return the law of one request, ready to be judged."""
        each = EPSILON * request.tokens * request.texts
        tolerance, explained = (most * each + self.resolution for most in (ROUNDINGS, MOST_ROUNDINGS))
        return replace(self, problem=problem, request=request, tolerance=tolerance, explained=explained)

    @property
    def asked(self) -> TextsRequest:
        """Return the request. Only laws of a request are judged."""
        assert self.request is not None
        return self.request

    @property
    def claims(self) -> list[str]:
        asked = self.asked
        made = {"lossless": True, "same-as-plain": asked.plain is not None, "support": True,
                "logprobs": bool(self.logprobs), "batch": asked.together}  # fmt: skip
        return [claim for claim, is_made in made.items() if is_made]

    @property
    def method(self) -> Method:
        return Method.INTERCEPTION

    @property
    def detail_type(self) -> type[LawDetail]:
        return TextLawDetail

    def facts(self) -> dict[str, Any]:
        return {"exactness": self.exactness if self.measured else Strength.NONE, "paths": self.paths,
                "drawn": len({part.drawn for part in self.parts} - {None}),
                "calls": self.calls, "missed": self.missed, "confirmations": self.confirmations,
                "tokens": self.asked.tokens, "dtype": "float32", **self.size, **self.asked.facts}  # fmt: skip

    @cached_property
    def size(self) -> dict[str, Any]:
        return size_of(self.problem)

    def undecided(self, found: Departure) -> str:
        return f"a deviation of {found.size:.2g} may be rounding, and may be none"

    @cached_property
    def lossless(self) -> Departure:
        """Return the departure from the law that the settings define."""
        expected = self.asked.expected
        if isinstance(expected, InputError):
            return self._own_alone or self._against(str(expected))
        return self._against(lambda slots: _independent(expected, slots))

    @property
    def _own_alone(self) -> Departure | None:
        """Return the departure of a law that is compared only with its own without speculation: engines may differ."""
        expected, plain = self.asked.expected, self.asked.plain
        if not isinstance(expected, EnginesDiffer) or plain is None or not (self.known and plain.known):
            return None
        return Departure(not_claimed=f"{expected}: same-as-plain alone is judged")

    @property
    def same_as_plain(self) -> Departure:
        """Return the departure from the decoder's own law without speculation."""
        plain = self.asked.plain
        assert plain is not None
        if not plain.known:
            return self._against(f"the distribution without speculation is not known: {plain.why_unknown}")
        if plain.differ:
            return self._against("without speculation a request's distribution depends on what the others drew")
        return self._against(plain.of_slots, plain.resolution, plain.missed)

    def _against(
        self, other: "Callable[[Sequence[int]], TextMasses] | str", resolution: float = 0.0, missed: float = 0.0
    ) -> Departure:
        """Return the departure from another law, or an open one if there is none (a reason stands in its place).

        other: function from places of texts in a call to their law.
        """
        if not self.measured and (unwritten := self.findings.get(UNWRITTEN)):
            texts = unwritten.partition(": ")[2]
            entry = LawEntry("one call, repeated", "one output, whatever memory held before", texts)
            return Departure(inf, witness=lambda: self.shown(entry, why=unwritten))
        if not self.measured or isinstance(other, str):
            return Departure(open=str(other) if self.measured else self.why_unknown)
        compared = [(part, other(part.slots)) for part in self.each]
        part, right = max(compared, key=lambda pair: distance(pair[0].masses, pair[1]))
        tolerance = self.tolerance + resolution
        return Departure(distance(part.masses, right), tolerance, self.explained + resolution,
                         lambda: self._side_by_side(part, right), tolerance + self.missed + missed)  # fmt: skip

    def _side_by_side(self, part: SlotsMasses, other: TextMasses) -> Witness:
        """Return the laws of the first tokens on which they differ, the largest gap first."""
        found, why = part.masses, self._which(part)
        raised = {text: p for text, p in found.items() if isinstance(text, str) and p > LOGPROBS_OFF}
        if raised and not any(isinstance(text, str) for text in other):
            entries = [LawEntry(text, "0", _number(p)) for text, p in raised.items()]
        else:
            longest = max(len(text) for law in (found, other) for text in law if isinstance(text, tuple))
            pairs = [(marginal(found, n), marginal(other, n)) for n in range(1, longest + 1)]
            seen, right = next((pair for pair in pairs if distance(*pair) > LOGPROBS_OFF), pairs[-1])
            worst = sorted(seen.keys() | right.keys(), key=lambda t: (-abs(seen.get(t, 0) - right.get(t, 0)), t))
            entries = [LawEntry(_text(t), _number(right.get(t, 0)), _number(seen.get(t, 0))) for t in worst]
        return self.shown(entries[0], laws=tuple(entries[:MOST_ENTRIES]), why=why)

    def _which(self, part: SlotsMasses) -> str:
        """Say which of several requests a law is of, if it is not of all."""
        if part.drawn is None:
            return f"behind another request: {self.behind}" if self.behind else ""
        names = " and ".join(str(slot + 1) for slot in part.slots)
        return f"request {names} of {self.asked.texts} in one call, given what the others drew"

    @property
    def support(self) -> Departure:
        """Return the mass of texts that the settings rule out."""
        expected = self.asked.expected
        if not self.measured or isinstance(expected, InputError):
            return self._own_alone or Departure(open=str(expected) if self.measured else self.why_unknown)
        ruled_out = [(part, _impossible(part, expected)) for part in self.each]
        part, impossible = max(ruled_out, key=lambda pair: sum(pair[1].values()))
        if not impossible:
            return Departure(0.0)
        worst = max(impossible, key=lambda text: impossible[text])
        entry, why = LawEntry(_text(worst), "0", f"{impossible[worst]:.3g}"), self._which(part)
        return Departure(sum(impossible.values()), witness=lambda: self.shown(entry, why=why), stated=True)

    @property
    def logprobs_reported(self) -> Departure:
        """Return the largest distance of a reported logprob from the law's."""
        expected = self.asked.expected
        if self.asked.raw is None and isinstance(expected, InputError):
            return self._own_alone or Departure(open=str(expected))
        worst: tuple[float, LawEntry] = (-1.0, LawEntry("", "", ""))
        for text, both in self.logprobs.items():
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
            return Departure(open="no logprob was reported for an output with a known distribution")
        return Departure(off, LOGPROBS_OFF, LOGPROBS_OFF, lambda: self.shown(entry), LOGPROBS_OFF, stated=True,
                         known=True)  # fmt: skip

    def _right_logprobs(self, text: Prefix) -> list[float] | None:
        if self.asked.raw is not None:
            rows = [self.asked.raw(text[:i])[token] for i, token in enumerate(text)]
            return [log(p) if p else -inf for p in rows]
        assert not isinstance(self.asked.expected, InputError)
        masses = [marginal(self.asked.expected[0], n).get(text[:n], 0.0) for n in range(len(text) + 1)]
        return [log(b / a) for a, b in itertools.pairwise(masses)] if all(masses) else None

    @property
    def batch(self) -> Departure:
        """Return the departure of requests made together from the laws of each alone, as independent ones."""
        each = self.alone or self.asked.expected
        if isinstance(each, InputError):
            return Departure(open=str(each))
        return self._against(lambda slots: each[slots[0]] if len(slots) == 1 else _independent(each, slots))


def text_law_from(answer: Mapping[str, Any]) -> TextsLaw:
    """Return the law that the child process answered (``interception.decoders``)."""
    if "error" in answer:
        return TextsLaw(exactness=Strength.NONE, reason=answer["error"], raises=answer.get("kind", "error"))
    seen, findings = answer.get("seen"), dict(answer.get("findings", {}))
    if seen:
        texts = "; ".join(seen["texts"])
        kind = UNSTEADY if seen["differs"] == "from call to call" else UNWRITTEN
        text = f"the same call gives different outputs {seen['differs']}: with seed {seen['seed']} {texts}"
        findings = {kind: text, **findings}
    numbers = ("behind", "resolution", "paths", "numbers", "calls", "reason", "raises", "missed", "confirmations")
    return TextsLaw(
        masses=None if answer["law"] is None else _masses(answer["law"]),
        parts=[SlotsMasses((*p["slots"],), _masses(p["law"]), p.get("drawn")) for p in answer.get("parts", ())],
        alone=[*map(_masses, answer.get("each_alone", ()))], exactness=Strength(answer.get("exactness", "none")),
        findings=findings,
        reads=tuple(answer.get("reads", ())), keeps=tuple(answer.get("keeps", ())),
        logprobs={tuple(text): (low, high) for text, low, high in answer.get("logprobs", ())},
        **{name: answer[name] for name in numbers if name in answer},
    )  # fmt: skip


def distance(law: TextMasses, other: TextMasses) -> float:
    """Return the total variation between two laws."""
    return sum(abs(law.get(o, 0.0) - other.get(o, 0.0)) for o in law.keys() | other.keys()) / 2


def _masses(law: Sequence[Sequence[Any]]) -> TextMasses:
    """Return a law from its JSON: [text or error, probability]."""
    return {text if isinstance(text, str) else tuple(text): p for text, p in law}


def _of_slots(law: TextMasses, slots: Sequence[int]) -> TextMasses:
    """Return the law of some of the texts of one call."""
    found: dict[Any, float] = {}
    for texts, p in law.items():
        some = texts if isinstance(texts, str) else joined(separated(texts)[slot] for slot in slots)
        found[some] = found.get(some, 0.0) + p
    return found


def _independent(laws: Any, slots: Sequence[int]) -> dict[Prefix, float]:
    """Return the law of the texts in these slots, each with its own law of ``laws``; errors are left out."""
    return independent([{text: p for text, p in laws[slot].items() if not isinstance(text, str)} for slot in slots])


def _impossible(part: SlotsMasses, expected: Sequence[TextMasses]) -> dict[Any, float]:
    """Return the texts that are written and ruled out by the settings, with their probabilities."""
    law = _independent(expected, part.slots)
    return {texts: p for texts, p in part.masses.items() if p and not law.get(texts)}


def _text(text: Any) -> str:
    return text if isinstance(text, str) else " | ".join(prefix_key(part) or "nothing" for part in separated(text))


def _number(p: float) -> str:
    return f"{p:.6g}"
