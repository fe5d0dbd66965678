"""The measured law of a subject, and how far it departs from what a claim says of it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from ...models.law import Prefix
from ...models.problem import as_json
from ...verifiers.claims import FUNCTION, claims_of
from ...verifiers.details import LawDetail
from ...verifiers.evidence import NO_EVIDENCE, REFUTED, EvidenceVerdict, LawEntry, Method, Strength, Witness
from ..rounding.rounding_allowed import excused
from . import verdict_rule

UNDECIDED = (
    "{} {:.2g} in {}: one epsilon a decision is TV {rule:.2g}, the rounding of the reference's formulas on this "
    "problem at most TV {theorem:.2g} (proofs/note.md, section 5); between the two nothing is decided"
)
"""Reason why a deviation is neither called rounding nor refuted."""

NOT_LOSSLESS = "not lossless on this problem: the optimum is that of valid verifiers"
"""Reason why nothing is claimed of E[tau] under a refuted law."""

MAX_ENTRIES = 8
"""Number of entries of the two laws that a witness shows side by side."""

ASKED_AGAIN = "key-asked-again"
"""Kind of finding: a block asks again for a random number that the tokens of the previous block reveal."""

NO_KEY = "it has no parameter key: its noise is not decided by one"
"""Reason why nothing is claimed of the average over keys."""

AnyLaw = TypeVar("AnyLaw", bound="Law")


class Departure(NamedTuple):
    """A distance between a law and what a claim says of it.

    size: total variation, probability or tokens. Of a law known in part: a lower bound. None: it is not known.
    tolerance, explained: as in ``verdict_rule.decide``.
    witness: function that makes the witness of a refutation.
    bound: the bound that the evidence states; for a total variation the law's own if None.
    detail: function that makes further facts for the evidence.
    what: the size in words.
    open: reason why nothing is decided unless the size refutes.
    not_claimed: reason why the claim is not made of this law.
    stated: whether the evidence states the size although it is no total variation.
    known: whether the departure is known in full; None: as the law is.
    """

    size: Any = None
    tolerance: float = 0.0
    explained: float = 0.0
    witness: Callable[[], Witness] | None = None
    bound: float | None = None
    detail: Callable[[], Mapping[str, Any]] = dict
    what: str = "TV"
    open: str | None = None
    not_claimed: str | None = None
    stated: bool = False
    known: bool | None = None

    @property
    def verdict(self) -> EvidenceVerdict:
        """Return what the rule says of the size alone."""
        if self.size is None:
            return NO_EVIDENCE
        return verdict_rule.decide(self.size, self.tolerance, self.explained)

    @property
    def refutes(self) -> bool:
        """Return whether no rounding explains the size."""
        return self.verdict == REFUTED


@dataclass(frozen=True, eq=False)
class Law:
    """A measured law of what a subject emits on one problem. Checks withdraw it; nothing else changes it.

    It is made from paths (``small_measurement``, ``wide_measurement``), from a partition of chosen random numbers
    (``small_measurement`` too) or from a table of texts (``text_laws``).

    problem: the problem as given.
    dtype: the dtype of the rows.
    exactness: how the law is known.
    tolerance: total variation that is rounding by the rule and by the theorem.
    explained: total variation that may be rounding by one of the two; at least the tolerance.
    rounding: {"rule", "theorem"}: both measures, without what the law's resolution adds.
    arithmetic: the dtype it computes in, if finer than that of the rows.
    certain: tolerance of the dtypes that were observed; less than ``tolerance`` if others may have been used.
    paths: number of ways the random numbers can fall.
    reason: why no law is known; None if it is.
    out_of_scope: whether the reason is the number of paths or an untraced style, and nothing was seen.
    findings: kind -> what else was noticed.
    missed: total variation of a law by calls that random requests could have failed to show.
    between_levels: total variation that may hide between the levels of noise at which races were looked at.
    confirmations: number of random requests that confirmed a law by calls.
    real_calls: {"calls", "limit"} of the real calls that the law was compared with.
    """

    problem: Any
    _: KW_ONLY
    dtype: str = "exact"
    exactness: Strength = Strength.EXACT
    tolerance: float = 0.0
    explained: float = 0.0
    rounding: Mapping[str, Any] = field(default_factory=dict)
    arithmetic: str | None = None
    certain: float = math.inf
    paths: int = 0
    reason: str | None = None
    out_of_scope: bool = False
    findings: Mapping[str, str] = field(default_factory=dict)
    missed: float = 0.0
    between_levels: float = 0.0
    confirmations: int = 0
    real_calls: Mapping[str, float] | None = None

    @property
    def known(self) -> bool:
        """Return whether the law can show that a claim holds."""
        return self.reason is None

    @property
    def tells(self) -> bool:
        """Return whether anything follows from it: it is known, or its known part refutes losslessness."""
        return self.known or self.lossless.refutes

    @property
    def why_unknown(self) -> str:
        """Return the reason why the law cannot show that a claim holds."""
        return self.reason or ""

    @property
    def claims(self) -> list[str]:
        """Return the names of the claims that are judged on it."""
        keyed = self.tells and "key" in self.findings
        return [name for name in claims_of(FUNCTION) if name != "lossless-over-keys" or keyed]

    def departure(self, claim: str) -> Departure:
        """Return how far the law departs from what a claim says."""
        return JUDGES[claim](self)

    @cached_property
    def lossless(self) -> Departure:
        raise NotImplementedError

    @property
    def lossless_over_keys(self) -> Departure:
        """Return the departure of a watermarked verifier's law, averaged over its keys.

        A keyed function is run with a fresh key in each call (``watermark_keys.over_keys``), so the measured law
        is the average over keys. It includes what one label decides twice within a block.
        """
        return self.lossless if "key" in self.findings else Departure(not_claimed=NO_KEY)

    @property
    def method(self) -> Method:
        """Return the method that the evidence names."""
        raise NotImplementedError

    @cached_property
    def size(self) -> dict[str, Any]:
        """Return the size of the problem, as the evidence states it."""
        raise NotImplementedError

    @property
    def detail_type(self) -> type[LawDetail]:
        """Return the type of the evidence's detail."""
        return LawDetail

    def facts(self) -> dict[str, Any]:
        """Return what evidence of any claim states about the law."""
        if not self.tells:
            beyond = {"out_of_scope": True} if self.out_of_scope else {}
            return {"reason": self.reason, "dtype": self.dtype, **self.size, **beyond}
        facts = {"exactness": self.exactness, "dtype": self.dtype, "paths": self.paths, **self.size}
        facts |= {"arithmetic": self.arithmetic} if self.arithmetic else {}
        facts |= {"between_levels": self.between_levels} if self.between_levels else {}
        return facts | ({"real_calls": self.real_calls} if self.real_calls else {})

    def undecided(self, found: Departure) -> str:
        """Return why a departure that the rule leaves open is neither rounding nor a refutation."""
        return UNDECIDED.format(found.what, found.size, self.computed_in, **self.rounding)

    @property
    def computed_in(self) -> str:
        """Return the dtype by which rounding is excused."""
        return self.arithmetic or self.dtype

    def shown(self, entry: LawEntry, **more: Any) -> Witness:
        """Return the witness of one outcome on the problem. more: further fields."""
        return Witness(**vars(entry), problem=as_json(self.problem), **more)

    @property
    def decisions(self) -> int:
        """Return the factor by which the lattice of uniforms can move the law as a whole."""
        raise NotImplementedError

    def on_lattice(self: AnyLaw, bits: int | None) -> AnyLaw:
        """Return the law judged as one of uniforms with this many bits; None: with those that the rows need."""
        if bits is None:
            return self
        more = self.decisions * 2.0**-bits
        return replace(self, tolerance=excused(self.tolerance, more), explained=excused(self.explained, more))

    def withdrawn(self: AnyLaw, reason: str) -> AnyLaw:
        """Return the law marked as not to be believed; an earlier reason stays."""
        return replace(self, reason=self.reason or reason, out_of_scope=False)


JUDGES: dict[str, Callable[[Law], Departure]] = {
    "lossless": attrgetter("lossless"),
    "lossless-over-keys": attrgetter("lossless_over_keys"),
    "support": attrgetter("support"),
    "optimal": attrgetter("optimal"),
    "same-as-plain": attrgetter("same_as_plain"),
    "logprobs": attrgetter("logprobs_reported"),
    "batch": attrgetter("batch"),
}
"""Functions from a law to its departure, by the name of the claim: those judged on functions and on decoders' texts."""

LEAST = 1e-3
"""Least probability of a forced rejection that counts as deciding a position."""


def decided_together(
    blocks: Iterable[Prefix], target: Callable[[Prefix], Any], draft: Callable[[Prefix], Any]
) -> list[list[int]]:
    """Return the sets of positions that one block decides together: only the largest, as sorted lists.

    A block decides a position if a right verifier can accept its token, by M_b / M_s, and must reject it with
    probability at least LEAST. A token that the target excludes is decided too, and is the last.

    target, draft: function from a prefix to its row.
    """
    found: set[frozenset[int]] = set()
    ratios: dict[Prefix, float] = {}
    for block in blocks:
        decided = set()
        for i, token in enumerate(block):
            here = block[: i + 1]
            if here not in ratios:
                ratios[here] = float(target(here[:-1])[token]) / float(draft(here[:-1])[token])
            if ratios[here] <= 1 - LEAST:
                decided.add(i)
            if not ratios[here]:
                break
        found.add(frozenset(decided))
    return sorted(sorted(one) for one in found if one and not any(one < other for other in found))
