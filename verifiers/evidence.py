"""What can be claimed of a verifier, and evidence for or against it: the words that all packages share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

HOLDS, REFUTED, NO_EVIDENCE, NOT_CLAIMED, ERROR = "holds", "refuted", "no-evidence", "not-claimed", "error"

WORST_FIRST = (REFUTED, ERROR, NO_EVIDENCE, NOT_CLAIMED, HOLDS)
"""The order in which verdicts decide when they are merged."""

CLAIMS = {
    "lossless": "X^tau, Y, completed by the target, follows the target's law (Sun et al. 2025, Eq. 7)",
    "support": "a token that the target gives probability 0 is never emitted, not even at u = 0",
    "optimal": "E[tau] equals block verification's, the largest of all valid verifiers (Theorem 2); of a draft tree, their bound",
}
"""The claims that an audit examines."""

LOOP_CLAIMS = {
    "rows": "each block is verified with both models' rows of its own text, under the settings asked for",
    "drafts": "draft tokens are drawn from the draft's rows of their own text",
    "noise": "no random number is used twice: by two rows, streams or purposes",
    "acceptance": "E[tau] of the first iteration is the verifier's own on this pair",
}
"""The claims that an end-to-end run examines besides."""

BATCH_CLAIMS = {"batch": "a row of a batch emits what it emits alone"}
"""The claim that is examined besides where a verifier takes many requests in one call."""


def merge_verdicts(verdicts: Iterable[str]) -> str:
    """The verdict on several pieces of evidence together: the worst of them; no-evidence if there is none."""
    return min(verdicts, key=WORST_FIRST.index, default=NO_EVIDENCE)


class LawEntry(NamedTuple):
    """One outcome under two laws.

    sequence: the outcome: tokens joined by commas, or a quantity such as E[tau].
    expected, observed: its probability or value, as text; a rational where that is short.
    """

    sequence: str
    expected: str
    observed: str


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Where a claim fails: one outcome, what was expected of it and what was observed.

    sequence, expected, observed: as in ``LawEntry``.
    problem: the problem in its JSON form, or the place in a decoded text (prompt, position); empty if it has none.
    draft_block: the draft tokens for which it was emitted, joined by commas.
    parents: of those tokens, where they are a draft tree, joined by commas.
    laws: entries of the two laws side by side, the worst first.
    prefixes: (prefix, expected, observed) for the prefixes that deviate most.
    why: what else is known of the deviation, in words.
    smallest: whether the problem is the result of the search for the smallest.
    """

    sequence: str
    expected: str
    observed: str
    problem: Mapping[str, Any] = field(default_factory=dict)
    draft_block: str | None = None
    parents: str | None = None
    laws: tuple[LawEntry, ...] = ()
    prefixes: tuple[tuple[str, float, float], ...] = ()
    why: str | None = None
    smallest: bool = False

    @property
    def entries(self) -> tuple[LawEntry, ...]:
        """The entries to show: those of both laws, or the outcome alone."""
        return self.laws or (LawEntry(self.sequence, self.expected, self.observed),)

    def __str__(self) -> str:
        return f"{self.sequence}: expected {self.expected}, observed {self.observed}"

    def as_json(self) -> dict[str, Any]:
        laws, prefixes = [entry._asdict() for entry in self.laws] or None, [*map(list, self.prefixes)] or None
        optional = {
            "draft_block": self.draft_block,
            "parents": self.parents,
            "laws": laws,
            "prefixes": prefixes,
            "why": self.why,
        }
        shown = {"problem": dict(self.problem), "sequence": self.sequence, "expected": self.expected,
                 "observed": self.observed, "smallest": self.smallest}  # fmt: skip
        return shown | {name: value for name, value in optional.items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Witness":
        laws = tuple(LawEntry(**entry) for entry in data.get("laws", ()))
        prefixes = tuple((prefix, expected, observed) for prefix, expected, observed in data.get("prefixes", ()))
        return cls(**{**data, "laws": laws, "prefixes": prefixes})


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was found out about one claim, on one problem, by one method.

    claim: a key of CLAIMS, LOOP_CLAIMS or BATCH_CLAIMS, or the name of a statement of the papers.
    method: how it was examined, such as enumeration, interception, chi-square, betting.
    verdict: holds, refuted, no-evidence, not-claimed or error.
    problem: the name of what it was examined on.
    total_variation: the deviation that was measured, in [0, 1], or an exact rational.
    bound: the rounding allowed or the detection limit: a deviation below it can remain unseen.
    witness: where the claim fails.
    replay: the command that shows it again.
    detail: facts that belong to the method (dtype, samples, p_value, ...).
    """

    claim: str
    method: str
    verdict: str
    problem: str | None = None
    total_variation: Any = None
    bound: Any = None
    witness: Witness | None = None
    replay: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return self.verdict == HOLDS

    @property
    def refuted(self) -> bool:
        return self.verdict == REFUTED

    @property
    def dtype(self) -> str:
        """The numbers it speaks of: exact, float64, float32, ..."""
        return str(self.detail.get("dtype", "exact"))

    def not_claimed(self, why: str) -> "Evidence":
        """The same where the claim is not made, with the reason."""
        return replace(self, verdict=NOT_CLAIMED, witness=None, detail={**self.detail, "why": why})

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "witness": self.witness and self.witness.as_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Evidence":
        return cls(**{**data, "witness": data["witness"] and Witness.from_json(data["witness"])})


def without_smallest(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence without what the search for the smallest problem says again of a refutation that is there already."""
    refuted = {(e.claim, e.dtype) for e in evidence if e.refuted and not (e.witness and e.witness.smallest)}
    return [e for e in evidence if not (e.witness and e.witness.smallest) or (e.claim, e.dtype) not in refuted]
