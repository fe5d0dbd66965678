"""What a refuted function may be right about, if it was meant otherwise: padded results, less precision than its rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....proofs.audit_claims import lossless
from ....proofs.measurement import Measurement
from ....proofs.rounding_rule import rounding_allowed
from ....verifiers.evidence import Evidence


def hints(measurements: Sequence[Measurement], judged: Sequence[Sequence[Evidence]]) -> dict[str, str]:
    """By the kind of finding, a sentence; they change no verdict.

    judged: the evidence on each measurement.
    """
    pairs = [(m, e) for m, items in zip(measurements, judged) for e in items if m.known and e.claim == "lossless"]
    refuted = [(m, e) for m, e in pairs if e.refuted]
    texts = {"padding": _padding(refuted, len(pairs)), "precision": _precision(refuted)}
    return {kind: text for kind, text in texts.items() if text}


def _padding(refuted: Sequence[tuple[Measurement, Evidence]], examined: int) -> str:
    """Whether the results are right once the tokens outside the vocabulary at their ends are cut off."""
    cut = [(measurement, _without_padding(measurement)) for measurement, _ in refuted]
    values = sorted({value for _, (_, padding) in cut for value in padding})
    if not values:
        return ""
    left = sum(lossless(shorter).refuted for _, (shorter, _) in cut)
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


def _precision(refuted: Sequence[tuple[Measurement, Evidence]]) -> str:
    """Whether every deviation of float64 rows is one that float32 may have."""
    allowed = [rounding_allowed(m.problem.gamma, "float32") for m, _ in refuted]
    deviations = [float(e.total_variation) for _, e in refuted if e.total_variation is not None]
    if not refuted or len(deviations) < len(refuted) or any(m.dtype != "float64" for m, _ in refuted):
        return ""
    if any(deviation > most for deviation, most in zip(deviations, allowed)):
        return ""
    return (
        f"deviates on {len(refuted)} problems, by TV {max(deviations):.2g} at most: no more than float32 rounds "
        f"(TV {min(allowed):.2g}); if it is made for float32, judge it by that, with --dtype float32"
    )
