"""The verdict on a requirement, by one function of its rows of evidence, and what would close an open one."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec.structs import replace

from ....verifiers.evidence import ERROR, HOLDS, REFUTED, Strength
from ..scope import WIDE_ROUNDING
from .evidence_rows import EvidenceRow, evidence_rows, subjects
from .plan import Collected, Requirement, all_claims, one_of

MET, SAMPLED, OPEN, FAILED = "met", "sampled only", "open", "refuted"

VERDICTS = {
    MET: "every part that the plan names for it shows the claim exactly, or to the resolution stated, on what was "
    "examined",
    SAMPLED: "nothing was refuted, and what was compared was sampled or happened in this run: a deviation below the "
    "limit remains unseen",
    OPEN: "it is not shown: no evidence counts, or what does leaves more unseen than is asked, or a part could not be "
    "run to its end",
    FAILED: "a part that counts shows that the claim is false",
}
"""Verdicts on requirements, and what each means."""

WORST_FIRST = (FAILED, OPEN, SAMPLED, MET)

NOT_NAMED = "the plan does not name it for this requirement, and it refutes the same subject"

Verdict = Annotated[str, one_of(WORST_FIRST)]


def verdict_of(rows: Sequence[EvidenceRow], detection_limit: float | None = None, parts: Iterable[str] = ()) -> str:
    """Return the verdict that rows of evidence give: the worst of those that count.

    detection_limit: the largest total variation that may remain unseen; without one any limit will do.
    parts: those that are asked for, in addition to those of the rows.
    Guarantee: met only if every part has a row that counts, and all of these hold by an exact law, a proof, or a
    certificate. A refutation of which it is unknown whether it speaks of what is asked leaves the requirement open.
    """
    counting = [row for row in rows if row.counts]
    if any(row.verdict == REFUTED for row in counting):
        return FAILED
    if not counting or silent_parts(rows, parts) or any(row.unplaced and row.verdict == REFUTED for row in rows):
        return OPEN
    if not all(_shows(row, detection_limit) for row in counting):
        return OPEN
    return MET if all(row.strength.decides for row in counting) else SAMPLED


def _variations(rows: Sequence[EvidenceRow]) -> list[float]:
    """Return the total variations that rows leave unseen; what was only observed states none."""
    named = [row for row in rows if row.unit == "total variation" and row.strength != "observed"]
    return [row.limit for row in named if row.limit is not None]


WITHOUT_LIMIT = ("proof", "partial", "symbolic", "certificate", "exact")
"""Kinds of evidence that leave nothing unseen where they state no limit."""


def silent_parts(rows: Sequence[EvidenceRow], parts: Iterable[str] = ()) -> list[str]:
    """Return the parts, asked for or in the rows, that have no row that counts."""
    counting = {row.part for row in rows if row.counts}
    return [part for part in dict.fromkeys([*parts, *(row.part for row in rows)]) if part not in counting]


def _shows(row: EvidenceRow, detection_limit: float | None) -> bool:
    """Return whether a row that is not refuted shows anything: it holds, or its samples would have shown a
    deviation."""
    if row.verdict == HOLDS:
        if detection_limit is None:
            return row.strength.decides or row.strength is Strength.OBSERVED
        if row.unit != "total variation":
            return row.strength.decides
        if row.limit is None:
            return row.strength in WITHOUT_LIMIT
        return row.strength.decides and row.limit <= detection_limit
    if row.verdict == ERROR or row.strength != "sampled" or row.limit is None:
        return False
    return detection_limit is None or (row.unit == "total variation" and row.limit <= detection_limit)


def overall(verdicts: Iterable[str]) -> str:
    """Return the worst verdict; open if there is none."""
    return min(verdicts, key=WORST_FIRST.index, default=OPEN)


class Judged(Requirement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A requirement with its evidence and the verdict that follows.

    claim_says: the claim in words.
    reading: the verdict with what it rests on, in words that say no more than the evidence.
    strength: kinds of the evidence that counts.
    closing: what would have to be shown for it to be met, a sentence each; empty if it is met.
    """

    claim_says: str
    verdict: Verdict
    reading: str
    strength: list[str]
    closing: list[str]
    evidence: list[EvidenceRow]


def judged(requirement: Requirement, collected: Sequence[Collected]) -> Judged:
    """Return a requirement with the rows of all parts that its plan names for it, and what refutes it in others."""
    named = [got for got in collected if got.id in requirement.parts]
    rows = [row for got in named for row in evidence_rows(requirement, got)]
    about = [subject for got in named for subject in subjects(got)]
    unnamed = [got for got in collected if got.id not in requirement.parts]
    others = [got for got in unnamed if any(one.same(other) for one in subjects(got) for other in about)]
    rows += [
        replace(row, counts=False, unplaced=True, why=NOT_NAMED)
        for got in others
        for row in evidence_rows(requirement, got)
        if row.verdict == REFUTED and row.counts
    ]
    counting = [row for row in rows if row.counts]
    verdict = verdict_of(rows, requirement.detection_limit, requirement.parts)
    return Judged(
        **{name: getattr(requirement, name) for name in Requirement.__struct_fields__},
        claim_says=all_claims()[requirement.claim],
        verdict=verdict,
        reading=_reading(verdict, counting),
        strength=list(dict.fromkeys(row.strength.kind for row in counting)),
        closing=[] if verdict == MET else _what_would_close(requirement, verdict, rows),
        evidence=rows,
    )


def _reading(verdict: str, counting: Sequence[EvidenceRow]) -> str:
    limits = _variations(counting)
    if verdict == MET:
        if {row.part for row in counting} == {row.part for row in counting if row.strength is Strength.PROOF}:
            return "met, by proof"
        rounding = f", up to TV {max(limits):.2g}" if limits and max(limits) >= WIDE_ROUNDING else ""
        return f"met on what was examined{rounding}, not proved for all"
    if verdict == SAMPLED:
        seen = f"; a total variation below {max(limits):.2g} remains unseen" if limits else ""
        return f"sampled only: nothing was refuted{seen}"
    if verdict == FAILED:
        parts = dict.fromkeys(row.part for row in counting if row.verdict == REFUTED)
        return f"refuted by the part{'s' if len(parts) > 1 else ''} {', '.join(parts)}"
    return "open: not shown"


def _what_would_close(requirement: Requirement, verdict: str, rows: Sequence[EvidenceRow]) -> list[str]:
    if not requirement.parts:
        return ["the plan names no part that is to show it"]
    silent = [part for part in silent_parts(rows, requirement.parts) if part in requirement.parts]
    sentences = [
        _closing(row, requirement.detection_limit)
        for row in rows
        if row.counts or row.part in silent or (row.unplaced and row.verdict == REFUTED)
    ]
    if verdict == OPEN and silent:
        asked = ", ".join(f"{name} {value}" for name, value in requirement.scope.items())
        wanted = f"evidence of {', '.join(silent)} on {requirement.claim}"
        sentences.append(wanted + (f" with {asked}" if asked else ""))
    return list(dict.fromkeys(filter(None, sentences)))


def _closing(row: EvidenceRow, wanted: float | None) -> str:
    if not row.counts:
        return f"{row.part} does not count: {row.why}"
    if row.verdict == REFUTED:
        return f"a version that {row.part} does not refute" + (f"; the witness is {row.witness}" if row.witness else "")
    if row.verdict == ERROR:
        return f"{row.part}: {row.why or 'it ended in an error'}"
    if row.strength == "none":
        return f"{row.part} has no distribution and no samples on {row.on}" + (f": {row.why}" if row.why else "")
    sampled = row.strength is Strength.SAMPLED
    if (sampled or (row.strength.decides and row.verdict == HOLDS)) and not _shows(row, wanted):
        left = "states no limit" if row.limit is None else f"leaves {row.limit:.3g} ({row.unit})"
        asked = f"; the plan asks for {wanted:g}" if wanted is not None else ""
        return f"{row.part} {left}{asked}" + (": more samples are needed" if sampled else "")
    if row.strength in ("sampled", "observed"):
        return f"{row.part}: an exact distribution in place of {row.strength.kind}"
    return "" if row.verdict == HOLDS else f"{row.part}: {row.verdict} on {row.on}"
