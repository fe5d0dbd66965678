"""The claims of an audit, judged on the measurement of a wide problem."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..models.law import Prefix, prefix_key
from ..verifiers.evidence import CLAIMS, HOLDS, NO_EVIDENCE, REFUTED, Evidence, LawEntry, Witness
from .audit_claims import MAX_ENTRIES, UNDECIDED
from .wide_measurement import WideMeasurement
from .wide_reference import reference_deviations

LOOK_UPS = "; look-ups in a running sum add at most TV {:.2g} by the rule, {:.2g} by the theorem"
IN_PAIRS = " (for sums over the vocabulary in order; in pairs at most TV {theorem_pairwise:.2g})"


def judge_wide(measurement: WideMeasurement) -> list[Evidence]:
    """All claims on one wide measurement. What is known of a law in part can refute, and never holds."""
    law = lossless_wide(measurement)
    if not measurement.known and not law.refuted:
        detail = {"reason": measurement.reason, "dtype": measurement.dtype, **_size(measurement)}
        name = measurement.problem.name
        return [Evidence(claim=claim, method="interception", verdict=NO_EVIDENCE, problem=name, detail=detail)
                for claim in CLAIMS]  # fmt: skip
    return [law, support_wide(measurement), optimal_wide(measurement, law)]


def _size(measurement: WideMeasurement) -> dict[str, Any]:
    sizes = {"vocabulary": measurement.problem.vocabulary, "gamma": measurement.problem.gamma}
    return sizes | ({"smallest_probability": measurement.smallest} if measurement.target else {})


def _evidence(
    claim: str, measurement: WideMeasurement, witness: Witness | None, deviation: float | None, bound: float | None,
    **detail: Any,
) -> Evidence:  # fmt: skip
    """ids_called: calls that confirmed that tokens are treated alike; mass_not_called: of tokens without such a call;
    allowed_to_look_ups: what of the bound is for running sums by the rule (``rounding_rule.look_up_allowed``);
    look_ups_explained: by the theorem (``rounding_rule.look_up_explained``)."""
    facts = {
        "exactness": measurement.exactness, "dtype": measurement.dtype, "paths": measurement.paths,
        "ids_called": measurement.called, "fewest_ids_of_a_row": measurement.least,
        "mass_not_called": measurement.not_called, "allowed_to_look_ups": measurement.looked_up, "look_ups_explained": measurement.looked_up_explained,
        **_size(measurement),
    }  # fmt: skip
    if measurement.unknown:
        facts |= {"mass_unknown": measurement.unknown, "reason": measurement.reason}
    return Evidence(
        claim=claim, method="interception", verdict=REFUTED if witness else HOLDS, problem=measurement.problem.name,
        total_variation=deviation, bound=bound, witness=witness, detail=facts | detail,
    )  # fmt: skip


def lossless_wide(measurement: WideMeasurement) -> Evidence:
    """The completed law against the target's, over the rows in use (Eq. 7). Where part of it is unknown, a lower bound.

    reference_total_variation: of token verification computed plainly in the same precision (``wide_reference``).
    """
    deviation, witness = measurement.total_variation, None
    if deviation > measurement.explained:
        entries = _entries(measurement)
        witness = Witness(**entries[0]._asdict(), problem=measurement.problem.as_json(), laws=entries)
    beside: dict[str, Any] = {"rounding": measurement.rounding} if measurement.rounding else {}
    beside |= {"reference_total_variation": reference_deviations(measurement)} if measurement.emitted else {}
    bound = measurement.explained if witness else measurement.tolerance
    evidence = _evidence("lossless", measurement, witness, deviation, bound, **beside)
    return _undecided(evidence, measurement, deviation, measurement.tolerance, "TV")


def _undecided(
    evidence: Evidence, measurement: WideMeasurement, deviation: float, allowed: float, what: str
) -> Evidence:
    """The evidence; without a verdict where one of rule and theorem explains the deviation and the other does not."""
    if evidence.refuted or deviation <= allowed:
        return evidence
    reason = UNDECIDED.format(what, deviation, measurement.dtype, **measurement.rounding) + IN_PAIRS.format(
        **measurement.rounding
    )
    if measurement.looked_up or measurement.looked_up_explained:
        reason += LOOK_UPS.format(measurement.looked_up, measurement.looked_up_explained)
    return replace(evidence, verdict=NO_EVIDENCE, detail=evidence.detail | {"reason": reason})


def _entries(measurement: WideMeasurement) -> tuple[LawEntry, ...]:
    """Where the laws differ most."""
    gaps: list[tuple[float, str, float, float]] = []
    for prefix, (observed, right) in measurement.frontier.items():
        gap = np.maximum(observed - right, 0) if measurement.unknown else np.abs(observed - right)
        for token in np.argsort(gap)[-MAX_ENTRIES:]:
            key = prefix_key((*prefix, int(token)))
            gaps.append((float(gap[token]), key, float(right[token]), float(observed[token])))
    for outcome, mass in measurement.malformed.items():
        emitted = outcome if isinstance(outcome, str) else f"emits {prefix_key(outcome)}"
        gaps.append((mass, emitted, 0.0, mass))
    gaps.sort(key=lambda entry: (-entry[0], entry[1]))
    return tuple(LawEntry(key, f"{right:.12g}", f"{observed:.12g}") for _, key, right, observed in gaps[:MAX_ENTRIES])


def support_wide(measurement: WideMeasurement) -> Evidence:
    """A token that the target gives probability 0 is never emitted.

    zeros: whether it gives any token probability 0.
    """
    worst: tuple[float, Prefix] | None = None
    for prefix, row in measurement.emitted.items():
        wrong = np.where(measurement.target[prefix] == 0, row, 0.0)
        token = int(wrong.argmax())
        if wrong[token] > (worst[0] if worst else 0.0):
            worst = float(wrong[token]), (*prefix, token)
    witness = None
    if worst:
        problem = measurement.problem.as_json()
        witness = Witness(sequence=prefix_key(worst[1]), expected="0", observed=f"{worst[0]:.3g}", problem=problem)
    zeros = any(bool((row == 0).any()) for row in measurement.target.values())
    return _known(_evidence("support", measurement, witness, None, None, zeros=zeros), measurement)


def optimal_wide(measurement: WideMeasurement, law: Evidence) -> Evidence:
    """E[tau] against block verification's (Theorem 2)."""
    plain = _known(_evidence("optimal", measurement, None, None, None), measurement)
    if not measurement.known:
        return plain
    if law.refuted or measurement.malformed:
        return plain.not_claimed("not lossless on this problem: the optimum is that of valid verifiers")
    accepted, optimum = measurement.expected_accepted(), measurement.optimum()
    slack = measurement.problem.gamma * measurement.explained + 1e-13
    gap, witness = abs(accepted - optimum), None
    if gap > slack:
        problem = measurement.problem.as_json()
        witness = Witness(sequence="E[tau]", expected=f"{optimum:.12g}", observed=f"{accepted:.12g}", problem=problem)
    lost = max(optimum - accepted, 0.0) if witness else 0.0
    detail = {"expected_accepted": f"{accepted:.12g}", "optimum": f"{optimum:.12g}", "tokens_per_call_lost": lost}
    evidence = _evidence("optimal", measurement, witness, None, slack, **detail)
    return _undecided(
        evidence, measurement, gap, measurement.problem.gamma * measurement.tolerance + 1e-13, "E[tau] off by"
    )


def _known(evidence: Evidence, measurement: WideMeasurement) -> Evidence:
    return evidence if measurement.known or evidence.refuted else replace(evidence, verdict=NO_EVIDENCE)
