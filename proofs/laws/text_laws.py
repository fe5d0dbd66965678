"""The law of a decoder's texts under settings, made from a table of texts, and its claims.

The law is judged by the settings' definitions and by the same decoder without speculation.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, log
from typing import Any, NamedTuple

from ...models.decoding_settings import EnginesDiffer
from ...models.errors import InputError
from ...models.law import Prefix
from ...models.problem import Problem, size_of
from ...verifiers.details import LawDetail, TextLawDetail
from ...verifiers.evidence import LawEntry, Method, Witness
from ...verifiers.verdicts import Strength
from .law import Departure, Law
from .reference_laws import marginal
from .text_masses import (
    SlotsMasses,
    TextMasses,
    distance,
    impossible,
    in_words,
    independent_texts,
    masses_from,
    number,
    of_slots,
)

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


class TextsRequest(NamedTuple):
    """A request to a decoder, with what its law is judged by.

    tokens: the cap of a text. texts: how many texts one call yields.
    expected: the law of each of these texts by the settings' definitions, or the error that says why it has none; an
      error in place of all where no text has a law.
    plain: the law of the same request without speculation; None if the request itself is without.
    raw: function from a text to the row that logprobs are of; None: they are of ``expected``.
    may: the texts that may be written where engines may differ, by the place in a call, as far as that is known.
    facts: facts for the evidence. together: whether the call made several requests.
    """

    tokens: int
    texts: int
    expected: Sequence[TextMasses | EnginesDiffer] | InputError
    plain: "TextsLaw | None" = None
    raw: Callable[[Prefix], Sequence[float]] | None = None
    facts: Mapping[str, Any] = {}
    together: bool = False
    may: Mapping[int, Collection[Prefix]] = {}


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
    def draws_nothing(self) -> bool:
        """Return whether there is a law of one output, and no random number was followed."""
        return self.measured and self.paths == 1 and not self.numbers

    def withdrawn(self, reason: str) -> "TextsLaw":
        """Return the law as one that is not known, for a reason."""
        return replace(self, masses=None, parts=(), reason=reason)

    @property
    def each(self) -> Sequence[SlotsMasses]:
        """Return the laws of texts: of all of them together, or of parts."""
        if self.masses is None:
            return self.parts
        return [SlotsMasses((*range(self.asked.texts),), self.masses)]

    def of_slots(self, slots: Sequence[int]) -> TextMasses:
        """Return the law of some texts. If only laws of single texts are known, they are taken to be independent."""
        if self.masses is not None:
            return of_slots(self.masses, slots)
        one = {part.slots[0]: part.masses for part in reversed(self.parts) if len(part.slots) == 1}
        return independent_texts(one, slots)

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
        """Return the departure from the law that the settings define.

        Where engines may differ, the mass of texts that are ruled out however cuts fall is less than it.
        """
        expected = self.asked.expected
        if isinstance(expected, InputError):
            return self._against(str(expected))
        ruled_out = self.support._replace(tolerance=self.tolerance, explained=self.explained, stated=False)
        if self.asked.may and ruled_out.refutes:
            return ruled_out
        return self._but_unclear(self._against(lambda slots: independent_texts(self.clear, slots), among=self.clear))

    @cached_property
    def clear(self) -> dict[int, TextMasses]:
        """Return the laws that the settings define, by the place of the text in a call."""
        expected = self.asked.expected
        laws = () if isinstance(expected, InputError) else expected
        return {slot: law for slot, law in enumerate(laws) if not isinstance(law, EnginesDiffer)}

    def _but_unclear(self, found: Departure) -> Departure:
        """Return a departure of the requests that have a law, with what is said of those where engines may differ.

        These are compared only with their own law without speculation. If the first request is one of them, the one
        that was asked for, the claim is not made.
        """
        expected, plain = self.asked.expected, self.asked.plain
        errors = () if isinstance(expected, InputError) else enumerate(expected)
        unclear = {slot: str(error) for slot, error in errors if isinstance(error, EnginesDiffer)}
        if not unclear or found.refutes:
            return found
        if plain is None or not (self.known and plain.known):
            return found._replace(open=found.open or next(iter(unclear.values())))
        named = [f"request {slot + 1}: {why}" if self.asked.texts > 1 else why for slot, why in unclear.items()]
        why = f"{'; '.join(named)}: same-as-plain alone is judged"
        return Departure(not_claimed=why) if 0 in unclear else found._replace(detail=lambda: {"why": why})

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
        self,
        other: "Callable[[Sequence[int]], TextMasses] | str",
        resolution: float = 0.0,
        missed: float = 0.0,
        among: Collection[int] | None = None,
    ) -> Departure:
        """Return the departure from another law, or an open one if there is none (a reason stands in its place).

        other: function from places of texts in a call to their law. among: the places to compare; None: all.
        """
        if not self.measured and (unwritten := self.findings.get(UNWRITTEN)):
            texts = unwritten.partition(": ")[2]
            entry = LawEntry("one call, repeated", "one output, whatever memory held before", texts)
            return Departure(inf, witness=lambda: self.shown(entry, why=unwritten))
        if not self.measured or isinstance(other, str):
            return Departure(open=str(other) if self.measured else self.why_unknown)
        compared = [(part, other(part.slots)) for part in self._each_of(among)]
        if not compared:
            return Departure()
        part, right = max(compared, key=lambda pair: distance(pair[0].masses, pair[1]))
        tolerance = self.tolerance + resolution
        return Departure(distance(part.masses, right), tolerance, self.explained + resolution,
                         lambda: self._side_by_side(part, right), tolerance + self.missed + missed)  # fmt: skip

    def _each_of(self, among: Collection[int] | None) -> Iterator[SlotsMasses]:
        """Yield the laws of texts, each as that of its texts in some places of the call; None: in all."""
        for part in self.each:
            places = [k for k, slot in enumerate(part.slots) if among is None or slot in among]
            if len(places) == len(part.slots):
                yield part
            elif places:
                slots = tuple(part.slots[k] for k in places)
                yield SlotsMasses(slots, of_slots(part.masses, places), part.drawn)

    def _side_by_side(self, part: SlotsMasses, other: TextMasses) -> Witness:
        """Return the laws of the first tokens on which they differ, the largest gap first."""
        found, why = part.masses, self._which(part)
        raised = {text: p for text, p in found.items() if isinstance(text, str) and p > LOGPROBS_OFF}
        if raised and not any(isinstance(text, str) for text in other):
            entries = [LawEntry(text, "0", number(p)) for text, p in raised.items()]
        else:
            longest = max(len(text) for law in (found, other) for text in law if isinstance(text, tuple))
            pairs = [(marginal(found, n), marginal(other, n)) for n in range(1, longest + 1)]
            seen, right = next((pair for pair in pairs if distance(*pair) > LOGPROBS_OFF), pairs[-1])
            worst = sorted(seen.keys() | right.keys(), key=lambda t: (-abs(seen.get(t, 0) - right.get(t, 0)), t))
            entries = [LawEntry(in_words(t), number(right.get(t, 0)), number(seen.get(t, 0))) for t in worst]
        return self.shown(entries[0], laws=tuple(entries[:MOST_ENTRIES]), why=why)

    def _which(self, part: SlotsMasses) -> str:
        """Say which of several requests a law is of, if it is not of all."""
        which = f"request {' and '.join(str(slot + 1) for slot in part.slots)} of {self.asked.texts} in one call"
        if part.drawn is not None:
            return f"{which}, given what the others drew"
        if len(part.slots) < self.asked.texts:
            return which
        return f"behind another request: {self.behind}" if self.behind else ""

    @property
    def support(self) -> Departure:
        """Return the mass of texts that the settings rule out."""
        expected = self.asked.expected
        if not self.measured or isinstance(expected, InputError):
            return Departure(open=str(expected) if self.measured else self.why_unknown)
        may = {**{slot: [text for text, p in law.items() if p] for slot, law in self.clear.items()}, **self.asked.may}
        ruled_out = [(part, impossible(part, may)) for part in self._each_of(may)]
        part, texts = max(ruled_out, key=lambda pair: sum(pair[1].values()), default=(None, {}))
        if part is None or not texts:
            return Departure(0.0) if len(may) == self.asked.texts else self._but_unclear(Departure(0.0))
        worst = max(texts, key=lambda text: texts[text])
        entry, why = LawEntry(in_words(worst), "0", f"{texts[worst]:.3g}"), self._which(part)
        return Departure(sum(texts.values()), witness=lambda: self.shown(entry, why=why), stated=True)

    @property
    def logprobs_reported(self) -> Departure:
        """Return the largest distance of a reported logprob from the law's."""
        expected = self.asked.expected
        if self.asked.raw is None and isinstance(expected, InputError):
            return Departure(open=str(expected))
        if self.asked.raw is None and not self.clear:
            return self._but_unclear(Departure())
        worst: tuple[float, LawEntry] = (-1.0, LawEntry("", "", ""))
        for text, both in self.logprobs.items():
            right = self._right_logprobs(text)
            if right is None:
                continue
            for reported in both:
                if len(reported) != len(right):
                    entry = LawEntry(in_words(text), f"{len(right)} logprobs", f"{len(reported)} logprobs")
                    worst = max(worst, (inf, entry), key=lambda found: found[0])
                for place, (value, wanted) in enumerate(zip(reported, right)):
                    off = abs(value - wanted) if value != wanted else 0.0
                    entry = LawEntry(f"logprob {place + 1} of {in_words(text)}", f"{wanted:.6g}", f"{value:.6g}")
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
        masses = [marginal(self.clear[0], n).get(text[:n], 0.0) for n in range(len(text) + 1)]
        return [log(b / a) for a, b in itertools.pairwise(masses)] if all(masses) else None

    @property
    def batch(self) -> Departure:
        """Return the departure of requests made together from the laws of each alone, as independent ones."""
        each, expected = dict(enumerate(self.alone)), self.asked.expected
        if not each and isinstance(expected, InputError):
            return Departure(open=str(expected))
        laws = each or self.clear
        found = self._against(
            lambda slots: laws[slots[0]] if len(slots) == 1 else independent_texts(laws, slots), among=laws
        )
        return found if each else self._but_unclear(found)


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
        masses=None if answer["law"] is None else masses_from(answer["law"]),
        parts=[SlotsMasses((*p["slots"],), masses_from(p["law"]), p.get("drawn")) for p in answer.get("parts", ())],
        alone=[*map(masses_from, answer.get("each_alone", ()))], exactness=Strength(answer.get("exactness", "none")),
        findings=findings,
        reads=tuple(answer.get("reads", ())), keeps=tuple(answer.get("keeps", ())),
        logprobs={tuple(text): (low, high) for text, low, high in answer.get("logprobs", ())},
        **{name: answer[name] for name in numbers if name in answer},
    )  # fmt: skip
