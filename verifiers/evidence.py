"""Evidence for or against a claim, with the witness of a refutation: what every room shares."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from .claims import CLAIMS, VARIATION
from .details import AnyDetail, Detail, LawDetail, LoopLawDetail, SamplesDetail, TextLawDetail
from .verdicts import (
    ERROR,
    HOLDS,
    NO_EVIDENCE,
    NOT_CLAIMED,
    REFUTED,
    Basis,
    EvidenceVerdict,
    Method,
    Strength,
    merge_verdicts,
)

__all__ = [
    "ERROR",
    "HOLDS",
    "NOT_CLAIMED",
    "NO_EVIDENCE",
    "REFUTED",
    "Evidence",
    "EvidenceVerdict",
    "LawEntry",
    "Method",
    "Strength",
    "Witness",
    "merge_verdicts",
    "without_smallest",
]  # fmt: skip


@dataclass(frozen=True)
class LawEntry:
    """An outcome under two laws.

    sequence: the outcome: tokens joined by commas, or a quantity such as E[tau].
    expected, observed: its probability or value, as text; a rational where that is short.
    """

    sequence: str
    expected: str
    observed: str


@dataclass(frozen=True, kw_only=True)
class Witness:
    """A witness of a claim that fails: one outcome, what was expected of it and what was observed.

    problem: the problem in its JSON form, or the place in a decoded text (prompt, position); empty if it has none.
    sequence, expected, observed: as in ``LawEntry``.
    smallest: whether the problem is the result of the search for the smallest.
    draft_block: the draft tokens for which it was emitted, joined by commas.
    parents: of those tokens, where they are a draft tree, joined by commas.
    laws: entries of the two laws side by side, the worst first.
    prefixes: (prefix, expected, observed) for the prefixes that deviate most.
    why: what else is known of the deviation, in words.
    where: the part of the verification that departs, in words. line: the source line that decides it.
    """

    problem: dict[str, Any] = field(default_factory=dict)
    sequence: str
    expected: str
    observed: str
    smallest: bool = False
    draft_block: str | None = None
    parents: str | None = None
    laws: tuple[LawEntry, ...] = ()
    prefixes: tuple[tuple[str, float, float], ...] = ()
    why: str | None = None
    where: str | None = None
    line: str | None = None

    @property
    def entries(self) -> tuple[LawEntry, ...]:
        """Return the entries to show: those of both laws, or the outcome alone."""
        return self.laws or (LawEntry(self.sequence, self.expected, self.observed),)

    def __str__(self) -> str:
        return f"{self.sequence}: expected {self.expected}, observed {self.observed}"

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, without what it does not have."""
        shown = vars(self) | {"laws": [*map(vars, self.laws)] or None}
        shown |= {"prefixes": [*map(list, self.prefixes)] or None}
        return {name: value for name, value in shown.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A piece of evidence: what was found out about one claim, on one problem, by one method.

    claim: a key of CLAIMS, or the name of a statement of the papers.
    problem: the name of what it was examined on.
    total_variation: the deviation that was measured, in [0, 1], or an exact rational.
    bound: the rounding allowed or the detection limit: a deviation below it can remain unseen.
    witness: where the claim fails.
    replay: the command that shows it again.
    detail: facts that belong to the method.
    """

    claim: str
    method: Method
    verdict: EvidenceVerdict
    problem: str | None = None
    total_variation: Any = None
    bound: Any = None
    witness: Witness | None = None
    replay: str | None = None
    detail: AnyDetail = field(default_factory=Detail)

    @property
    def holds(self) -> bool:
        return self.verdict == HOLDS

    @property
    def refuted(self) -> bool:
        return self.verdict == REFUTED

    @property
    def dtype(self) -> str:
        """Return the numbers it speaks of: exact, float64, float32, ..."""
        return self.detail.dtype or "exact"

    @property
    def out_of_scope(self) -> bool:
        """Return whether nothing is decided, for a reason that says nothing of what was examined."""
        return self.verdict == NO_EVIDENCE and bool(self.detail.out_of_scope)

    @property
    def own_alone(self) -> bool:
        """Return whether a decoder's law is compared only with its own without speculation: engines may differ."""
        return self.verdict == NOT_CLAIMED and isinstance(self.detail, TextLawDetail)

    @property
    def case(self) -> tuple[str, ...]:
        """Return what it is about: the problem in one kind of numbers, and of a decoder the request."""
        asked = self.detail
        request = (asked.sampling, asked.setting, str(asked.settings)) if isinstance(asked, TextLawDetail) else ()
        return self.problem or "", self.dtype, *request

    @property
    def law(self) -> LawDetail:
        """Return what is known of the law of a function; of any other evidence nothing."""
        return self.detail if isinstance(self.detail, LawDetail) else LawDetail()

    @property
    def limit(self) -> float | None:
        """Return what can remain unseen, or is allowed to rounding."""
        return self.bound if self.detail.detection_limit is None else self.detail.detection_limit

    @property
    def unit(self) -> str:
        """Return the unit of the deviation and the limit."""
        known = CLAIMS.get(self.claim)
        return known.unit if known else VARIATION

    @property
    def strength(self) -> Strength:
        """Return how much it shows; of a law of which that is not known, no more than that it was observed."""
        if self.method.basis is Basis.RUN:
            return Strength.OBSERVED
        if self.method.sampled:
            return Strength.SAMPLED
        if self.verdict == NO_EVIDENCE:
            return Strength.NONE
        if self.bound is not None and self.bound != self.bound:  # not a number
            return Strength.OBSERVED
        walked = Strength.EXACT if isinstance(self.detail, LoopLawDetail) else None
        known = self.law.exactness or walked
        return known if known and known.decides else Strength.OBSERVED

    @property
    def why_undecided(self) -> str | None:
        """Return why there is no verdict, or no law in place of samples."""
        return self.detail.reason or (self.detail.why_not_exact if isinstance(self.detail, SamplesDetail) else None)

    def with_detail(self, **changes: Any) -> "Evidence":
        """Return the same with other facts."""
        return replace(self, detail=msgspec.structs.replace(self.detail, **changes))

    def not_claimed(self, why: str) -> "Evidence":
        """Return the same where the claim is not made, with the reason."""
        return replace(self.with_detail(why=why), verdict=NOT_CLAIMED, witness=None)

    def undecided(self, reason: str) -> "Evidence":
        """Return the same where nothing is decided, with the reason."""
        return replace(self.with_detail(reason=reason), verdict=NO_EVIDENCE)

    @property
    def facts(self) -> dict[str, Any]:
        """Return the detail in its JSON form, without its kind."""
        facts: dict[str, Any] = msgspec.to_builtins(self.detail)
        del facts["kind"]
        return facts

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form; ``detail`` has the name of its type in ``kind``."""
        witness = self.witness and self.witness.as_json()
        return vars(self) | {"witness": witness, "detail": msgspec.to_builtins(self.detail)}


def without_smallest(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence without what the search for the smallest problem says again of a refutation that is there
    already."""
    refuted = {(e.claim, e.dtype) for e in evidence if e.refuted and not (e.witness and e.witness.smallest)}
    return [e for e in evidence if not (e.witness and e.witness.smallest) or (e.claim, e.dtype) not in refuted]
