"""What a refuted function may be right about, if it was meant otherwise: padded results, less precision than its rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....proofs.audit_claims import lossless
from ....proofs.measurement import Measurement
from ....proofs.rounding_rule import look_up_at_most, rounding_allowed, wide_rounding_allowed
from ....verifiers.evidence import REFUTED, Evidence

LAWS = ("interception", "driving")
"""Methods that give a law."""


def padding_hint(measurements: Sequence[Measurement], judged: Sequence[Sequence[Evidence]]) -> dict[str, str]:
    """Whether results are right once the tokens outside the vocabulary at their ends are cut off; changes no verdict.

    judged: the evidence on each measurement.
    """
    pairs = [(m, e) for m, items in zip(measurements, judged) for e in items if m.known and e.claim == "lossless"]
    text = _padding([m for m, e in pairs if e.refuted], len(pairs))
    return {"padding": text} if text else {}


def drafting_hint(
    measurements: Sequence[Measurement], judged: Sequence[Sequence[Evidence]], compared: bool
) -> dict[str, str]:
    """Whether results are right wherever trees are drawn in some ways, and wrong in others; changes no verdict.

    compared: whether calls of one problem after another were, which shows state.
    """
    verdicts: dict[str, set[str]] = {}
    for measurement, items in zip(measurements, judged):
        if measurement.draws_trees and measurement.known:
            of_way = verdicts.setdefault(measurement.problem.tree.how, set())
            of_way |= {e.verdict for e in items if e.claim == "lossless"}
    right = [way for way, seen in verdicts.items() if REFUTED not in seen]
    if not right or len(right) == len(verdicts):
        return {}
    wrong = " and ".join(way for way in verdicts if way not in right)
    text = (
        f"on the problems examined, lossless is refuted for trees drawn {wrong}, not for trees drawn {' and '.join(right)}"
        + ("" if compared else " (calls of one problem after another were not compared)")
    )
    return {"drafting": f"{text}; if it is made for the latter alone, judge it by them: --drafting {','.join(right)}"}


def precision_hint(evidence: Sequence[Evidence]) -> dict[str, str]:
    """Whether every deviation of float64 rows is one that float32 may have; changes no verdict."""
    refuted = [e for e in evidence if e.claim == "lossless" and e.refuted and e.method in LAWS]
    others = [e for e in evidence if e.claim == "lossless" and e.refuted and e.method not in LAWS]
    if not refuted or others or any(e.dtype != "float64" or e.total_variation is None for e in refuted):
        return {}
    if any(float(e.total_variation) > _allowed_in_float32(e) for e in refuted):
        return {}
    worst = max(refuted, key=lambda e: float(e.total_variation))
    text = (
        f"deviates on {len({e.problem for e in refuted})} problems, by TV {float(worst.total_variation):.2g} at most: no "
        f"more than float32 rounds (TV {_allowed_in_float32(worst):.2g} there); if it is made for float32, judge it by "
        "that, with --dtype float32"
    )
    return {"precision": text}


def _allowed_in_float32(evidence: Evidence) -> float:
    detail = evidence.detail
    if "ids_called" in detail:
        vocabulary = detail["vocabulary"]
        return wide_rounding_allowed(detail["gamma"], "float32", vocabulary) + look_up_at_most("float32", vocabulary)
    return rounding_allowed(detail["gamma"], "float32")


def _padding(refuted: Sequence[Measurement], examined: int) -> str:
    cut = [*map(_without_padding, refuted)]
    values = sorted({value for _, padding in cut for value in padding})
    if not values:
        return ""
    left = sum(lossless(shorter).refuted for shorter, _ in cut)
    holds = f"lossless holds on all {examined} problems" if not left else f"lossless is refuted on {left} of {examined}"
    padding = ", ".join(map(str, values[:4]))
    return f"returns {padding} after the tokens; with that cut off {holds}: return the tokens alone, tau + 1 of them"


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
