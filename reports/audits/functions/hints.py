"""Hints at what a refuted function may be right about: padded results, less precision, some ways of drawing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....proofs.audit_claims import refuted, verdict
from ....proofs.laws import verdict_rule
from ....proofs.laws.small_law import Measurement
from ....proofs.rounding.rounding_allowed import EPSILON, look_up_at_most, rounding_allowed, wide_rounding_allowed
from ....verifiers.evidence import REFUTED, Evidence, LawEntry, Method

ENTRY = 0.5
"""Part of a single entry that no rounding in float32 takes or adds."""

LAWS = (Method.INTERCEPTION, Method.DRIVING)
"""Methods that give a law."""


def padding_hint(laws: Sequence[Measurement]) -> dict[str, str]:
    """Say whether results are right once tokens outside the vocabulary are cut off their ends; no verdict changes."""
    known = [law for law in laws if law.known]
    text = _padding([law for law in known if refuted(law, "lossless")], len(known))
    return {"padding": text} if text else {}


def drafting_hint(laws: Sequence[Measurement], compared: bool) -> dict[str, str]:
    """Say whether results are right for trees drawn in some ways, and wrong for others; no verdict changes.

    compared: whether calls of one problem after another were, which shows state.
    """
    verdicts: dict[str, set[str]] = {}
    for law in laws:
        if law.draws_trees and law.known:
            verdicts.setdefault(law.problem.tree.how, set()).add(verdict(law, "lossless"))
    right = [way for way, seen in verdicts.items() if REFUTED not in seen]
    if not right or len(right) == len(verdicts):
        return {}
    wrong = " and ".join(way for way in verdicts if way not in right)
    text = (
        f"on the problems examined, lossless is refuted for trees drawn {wrong}, not for trees drawn "
        + " and ".join(right)
        + ("" if compared else " (calls of one problem after another were not compared)")
    )
    return {"drafting": f"{text}; if it is meant for the latter only, audit it with --drafting {','.join(right)}"}


def precision_hint(evidence: Sequence[Evidence]) -> dict[str, str]:
    """Say whether every deviation of float64 rows is one that float32 may have; no verdict changes."""
    found = [e for e in evidence if e.claim == "lossless" and e.refuted and e.method in LAWS]
    others = [e for e in evidence if e.claim == "lossless" and e.refuted and e.method not in LAWS]
    if not found or others or any(e.dtype != "float64" or e.total_variation is None for e in found):
        return {}
    if any(_beyond_float32(e) for e in found):
        return {}
    worst = max(found, key=lambda e: float(e.total_variation))
    text = (
        f"deviates on {len({e.problem for e in found})} problems, by TV {float(worst.total_variation):.2g} at most: no "
        f"more than float32 rounds (TV {_allowed_in_float32(worst):.2g} there); if it is made for float32, judge it by "
        "that, with --dtype float32"
    )
    return {"precision": text}


def _beyond_float32(evidence: Evidence) -> bool:
    allowed = _allowed_in_float32(evidence)
    if verdict_rule.decide(float(evidence.total_variation), allowed, allowed) == REFUTED:
        return True
    entries = evidence.witness.entries if evidence.detail.wide and evidence.witness else ()
    return any(map(_entry_beyond, entries))


def _entry_beyond(entry: LawEntry) -> bool:
    """Check whether an entry of a wide law is off by more of itself than float32 can be, a look-up included."""
    try:
        expected, observed = float(entry.expected), float(entry.observed)
    except ValueError:
        return True
    return abs(observed - expected) > ENTRY * max(expected, observed) + EPSILON["float32"]


def _allowed_in_float32(evidence: Evidence) -> float:
    vocabulary, gamma = evidence.detail.vocabulary or 0, evidence.detail.gamma or 0
    if evidence.detail.wide:
        return wide_rounding_allowed(gamma, "float32", vocabulary) + look_up_at_most("float32", vocabulary)
    return rounding_allowed(gamma, "float32")


def _padding(failing: Sequence[Measurement], examined: int) -> str:
    cut = [*map(_without_padding, failing)]
    values = sorted({value for _, padding in cut for value in padding})
    if not values:
        return ""
    left = sum(refuted(shorter, "lossless") for shorter, _ in cut)
    holds = f"lossless holds on all {examined} problems" if not left else f"lossless is refuted on {left} of {examined}"
    padding = ", ".join(map(str, values[:4]))
    mended = ": return only the tokens, tau + 1 of them" if left < len(cut) else ""
    return f"returns {padding} after the tokens; with that cut off {holds}{mended}"


def _without_padding(measurement: Measurement) -> tuple[Measurement, set[int]]:
    vocabulary, padding = range(measurement.problem.vocabulary), set()
    blocks: dict[Any, dict[Any, Any]] = {}
    for block, law in measurement.blocks.items():
        blocks[block] = shorter = {}
        for outcome, probability in law.items():
            kept = outcome
            while isinstance(kept, tuple) and len(kept) > 1 and kept[-1] not in vocabulary:
                padding.add(kept[-1])
                kept = kept[:-1]
            shorter[kept] = shorter.get(kept, 0) + probability
    return replace(measurement, blocks=blocks), padding
