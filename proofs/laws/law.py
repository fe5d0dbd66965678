"""What all measured laws have in common, and how far a law is from what a claim says of it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from ...models.law import Prefix
from ...verifiers.claims import CLAIMS
from ...verifiers.details import LawDetail
from ...verifiers.evidence import REFUTED, EvidenceVerdict, Method, Strength, Witness
from ..rounding.rule import excused
from . import verdict_rule

UNDECIDED = (
    "{} {:.2g} in {}: one epsilon a decision is TV {rule:.2g}, the rounding of the reference's formulas on this "
    "problem at most TV {theorem:.2g} (proofs/note.md, section 5); between the two nothing is decided"
)
"""Why a deviation is neither called rounding nor refuted."""

NOT_LOSSLESS = "not lossless on this problem: the optimum is that of valid verifiers"
"""Why nothing is claimed of E[tau] under a law that is refuted."""

MAX_ENTRIES = 8
"""Entries of the two laws that a witness sets side by side."""


AnyLaw = TypeVar("AnyLaw", bound="Law")


ASKED_AGAIN = "key-asked-again"
"""A finding: a number of which the tokens of a block tell is asked for again by the next one."""


class Departure(NamedTuple):
    """How far a law is from what a claim says of it.

    size: total variation, probability or tokens; of a law that is not known, what is known of it at least.
    tolerance, explained: as of ``verdict_rule.decide``.
    witness: makes what shows it, where it refutes.
    bound: that the evidence states; of total variations it is the law's own.
    detail: makes facts for the evidence.
    what: the size in words.
    open: why nothing is decided unless it refutes.
    not_claimed: why the claim is not made of this law.
    """

    size: Any = 0.0
    tolerance: float = 0.0
    explained: float = 0.0
    witness: Callable[[], Witness] | None = None
    bound: float | None = None
    detail: Callable[[], Mapping[str, Any]] = dict
    what: str = "TV"
    open: str | None = None
    not_claimed: str | None = None

    @property
    def verdict(self) -> EvidenceVerdict:
        """What the rule says of the size alone."""
        return verdict_rule.decide(self.size, self.tolerance, self.explained)

    @property
    def refutes(self) -> bool:
        """Whether no rounding explains it."""
        return self.verdict == REFUTED


@dataclass(frozen=True, eq=False)
class Law:
    """The measured law of what a verifier emits on one problem. Checks withdraw it; nothing else changes it.

    problem: as given.
    dtype: of the rows.
    exactness: how it is known.
    tolerance: the total variation up to which a deviation is rounding, by the rule and by the theorem.
    explained: that up to which it may be, by one of the two; at least the tolerance.
    rounding: {"rule", "theorem"}: the two, without what the law's resolution adds to them.
    arithmetic: the type by which they are computed, where the function computes in a finer one than the rows'.
    certain: the tolerance of the types in which operations were followed; less than ``tolerance`` where others may be.
    paths: ways the random numbers can fall.
    reason: why no law is known, if none is.
    out_of_scope: whether that is the time, the number of ways or a style that is not followed, and nothing seen.
    findings: kind -> what else was noticed.
    missed: total variation by which a driven subject's law may be off: what random requests could not show.
    real_calls: {"calls", "limit"} of the real calls that the law was compared with, if it was.

    A subclass has a property for each claim, a ``Departure``; ``method``: of its evidence; ``size``: of its problem.
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
    real_calls: Mapping[str, float] | None = None

    @property
    def known(self) -> bool:
        return self.reason is None

    @property
    def tells(self) -> bool:
        """Whether anything can be said of it: it is known, or what is known of it refutes losslessness."""
        return self.known or self.lossless.refutes

    @cached_property
    def lossless(self) -> Departure:
        raise NotImplementedError

    @property
    def method(self) -> Method:
        raise NotImplementedError

    @property
    def size(self) -> dict[str, Any]:
        raise NotImplementedError

    def departure(self, claim: str) -> Departure:
        """How far it is from what the claim says: as its judge finds, or else the property of its name."""
        if judge := CLAIMS[claim].judge:
            module, _, name = judge.partition(":")
            return getattr(import_module(module), name)(self)
        return getattr(self, claim)

    @property
    def detail_type(self) -> type[LawDetail]:
        """Of the facts."""
        return LawDetail

    def facts(self) -> dict[str, Any]:
        """What evidence of any claim says of the law."""
        if not self.tells:
            beyond = {"out_of_scope": True} if self.out_of_scope else {}
            return {"reason": self.reason, "dtype": self.dtype, **self.size, **beyond}
        facts = {"exactness": self.exactness, "dtype": self.dtype, "paths": self.paths, **self.size}
        facts |= {"arithmetic": self.arithmetic} if self.arithmetic else {}
        return facts | ({"real_calls": self.real_calls} if self.real_calls else {})

    def undecided(self, found: Departure) -> str:
        """Why a deviation that the rule does not decide is neither rounding nor a refutation."""
        return UNDECIDED.format(found.what, found.size, self.computed_in, **self.rounding)

    @property
    def computed_in(self) -> str:
        """The type by which rounding is excused."""
        return self.arithmetic or self.dtype

    @property
    def decisions(self) -> int:
        """What the lattice of its uniforms is multiplied by, to move the law as a whole."""
        raise NotImplementedError

    def on_lattice(self: AnyLaw, bits: int | None) -> AnyLaw:
        """The same law, judged as one of uniforms of so many bits; None: of those that the rows need."""
        if bits is None:
            return self
        more = self.decisions * 2.0**-bits
        return replace(self, tolerance=excused(self.tolerance, more), explained=excused(self.explained, more))

    def withdrawn(self: AnyLaw, reason: str) -> AnyLaw:
        """The same law, not to be believed, for this reason unless it has one."""
        return replace(self, reason=self.reason or reason, out_of_scope=False)


LEAST = 1e-3
"""Probability from which on the token drafted there has to be rejected."""


def decided_together(
    blocks: Iterable[Prefix], target: Callable[[Prefix], Any], draft: Callable[[Prefix], Any]
) -> list[list[int]]:
    """The sets of positions that are decided by one block, without those that another has in it, as sorted lists.

    A position is decided by a block if a right verifier can accept its token, by M_b / M_s, and has to reject it with
    probability LEAST at least; or if the target excludes it, and then it is the last one.

    target, draft: from a prefix to its row.
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
