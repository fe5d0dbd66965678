"""The claims of an audit (``verifiers.evidence.CLAIMS``), judged on a measurement: one function each."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..models.errors import InputError
from ..models.law import Prefix, prefix_key
from ..models.problem import as_json, rows_of, size_of
from ..models.rationals import as_float, as_fraction
from ..verifiers.evidence import CLAIMS, HOLDS, NO_EVIDENCE, NOT_CLAIMED, REFUTED, Evidence, LawEntry, Witness
from ..verifiers.registry import reference
from .claims import coupling_bound
from .field import QQ, rational
from .laws import completed, expected_accepted, joint_law, output_law, total_variation
from .measurement import Measurement

NOT_BOUNDED = "not valid in the plain loop, so Theorem 2 does not bound it"
"""Why nothing is claimed of E[tau] under greedy block verification."""

CERTIFIED_TO = 1e-6
"""How far apart the two proved bounds on the largest E[tau] of a draft tree may be for what lies between to be optimal."""

NOT_CERTIFIED = (
    "bound not certified: the largest E[tau] of all valid rules lies between {:.9g} and {:.9g}, and so does this"
)

UNDECIDED = (
    "{} {:.2g} in {}: one epsilon a decision is TV {rule:.2g}, the rounding of the reference's formulas on this problem "
    "at most TV {theorem:.2g} (proofs/note.md, section 5); between the two nothing is decided"
)
"""Why a deviation is neither called rounding nor refuted."""

MAX_ENTRIES, MAX_PREFIXES = 8, 30
"""Entries of the two laws that a witness sets side by side; prefixes whose probabilities it has for the picture."""


def probability_text(probability: Any, tolerance: Any = 0) -> str:
    """A probability for a person: the simplest rational within the tolerance, else twelve digits."""
    exact = as_fraction(probability)
    slack = max(as_float(tolerance), 1e-15)
    simple = exact.limit_denominator(10**6)
    if abs(float(simple - exact)) <= slack and (simple != 0 or exact == 0):
        return str(simple)
    return f"{float(exact):.12g}"


def measured_text(measurement: Measurement, probability: Any, tolerance: Any = 0) -> str:
    """A measured probability for a person: as many digits as are known, of a law with logarithms in it; else as above."""
    if not measurement.has_logarithms:
        return probability_text(probability, tolerance)
    known = -math.log10(max(as_float(tolerance), 1e-12))
    return f"{as_float(probability):.{max(int(known), 2)}g}"


def judge(measurement: Measurement) -> list[Evidence]:
    """All claims on one measurement. Without a law there is no evidence, and the reason is given."""
    if not measurement.known:
        name, detail = measurement.problem.name, {"reason": measurement.reason, "dtype": measurement.dtype}
        detail |= size_of(measurement.problem)
        unknown = Evidence(claim="", method=_method(measurement), verdict=NO_EVIDENCE, problem=name, detail=detail)
        return [replace(unknown, claim=claim) for claim in CLAIMS]
    law, accepted = lossless(measurement), optimal(measurement)
    if law.refuted and "above" not in accepted.detail and accepted.verdict != NOT_CLAIMED:
        accepted = accepted.not_claimed("not lossless on this problem: the optimum is that of valid verifiers")
    return [law, support(measurement), accepted]


def _method(measurement: Measurement) -> str:
    if measurement.exactness == "driven":
        return "driving"
    return "enumeration" if measurement.dtype == "exact" else "interception"


def _evidence(
    claim: str,
    measurement: Measurement,
    witness: Witness | None = None,
    deviation: float | None = None,
    bound: float | None = None,
    **detail: Any,
) -> Evidence:
    facts = {"exactness": measurement.exactness, "dtype": measurement.dtype, "paths": measurement.paths}
    if measurement.exactness == "driven":
        facts |= {"missed": measurement.missed, "confirmations": measurement.confirmations}
        facts |= {"numbers": measurement.numbers}
    return Evidence(
        claim=claim,
        method=_method(measurement),
        verdict=REFUTED if witness else HOLDS,
        problem=measurement.problem.name,
        total_variation=deviation,
        bound=bound,
        witness=witness,
        detail=facts | detail,
    )


def lossless(measurement: Measurement) -> Evidence:
    """The completed law against the target's, over the rows in use (Eq. 7; Lemma 8 where the target is modified).

    What is not a sequence of 1..gamma+1 tokens of the vocabulary, an exception say, counts as deviation in full. Holds where
    the deviation is rounding by the rule and by the theorem, is refuted where it is by neither (``rounding_rule``).
    """
    continued, length = measurement.completion()
    outcomes = measurement.outcomes()
    observed: dict[Any, Any] = completed(measurement.outputs(), continued, length)
    observed |= {o: p for o, p in outcomes.items() if not measurement.is_output(o)}
    expected = joint_law(measurement.in_use.target, length)
    deviation = as_float(total_variation(observed, expected))
    witness = _side_by_side(measurement, observed, expected) if deviation > measurement.explained else None
    bound = (measurement.explained if witness else measurement.tolerance) + measurement.missed
    detail = size_of(measurement.problem) | ({"rounding": measurement.rounding} if measurement.rounding else {})
    evidence = _evidence("lossless", measurement, witness, deviation, bound, **detail)
    if measurement.tolerance < deviation <= measurement.explained:
        reason = _undecided(measurement, deviation, "TV")
        return replace(evidence, verdict=NO_EVIDENCE, detail=evidence.detail | {"reason": reason})
    return evidence


def _undecided(measurement: Measurement, deviation: float, what: str) -> str:
    return UNDECIDED.format(what, deviation, measurement.dtype, **measurement.rounding)


def _side_by_side(measurement: Measurement, observed: Mapping, expected: Mapping) -> Witness:
    """Where the laws differ most, and the law of the shortest prefix on which they differ at all."""
    slack = rational(measurement.tolerance)
    problem = as_json(measurement.problem)
    malformed = {o: p for o, p in observed.items() if o not in expected and not measurement.is_output(o) and p > slack}
    if malformed:
        worst = max(sorted(malformed, key=str), key=lambda o: malformed[o])
        block = next(b for b, law in measurement.blocks.items() if law.get(worst, 0) != 0)
        emitted = worst if isinstance(worst, str) else f"emits {prefix_key(worst)}"
        entry = LawEntry(emitted, "0", measured_text(measurement, malformed[worst], slack))
        return Witness(**entry._asdict(), problem=problem, **_drafted(measurement, block), laws=(entry,))
    shorter: list[dict[Prefix, Any]] = []
    gaps: dict[Prefix, Any] = {}
    for length in range(1, measurement.completion()[1] + 1):
        shorter = [_marginal(law, length) for law in (observed, expected)]
        gaps = {o: abs(shorter[0].get(o, 0) - shorter[1].get(o, 0)) for o in shorter[0].keys() | shorter[1].keys()}
        if max(gaps.values()) > slack / 4:
            break
    laws = tuple(
        LawEntry(
            prefix_key(o),
            probability_text(shorter[1].get(o, 0), slack),
            measured_text(measurement, shorter[0].get(o, 0), slack),
        )
        for o in sorted(gaps, key=lambda o: (-gaps[o], o))[:MAX_ENTRIES]
    )
    prefixes = _by_prefix(measurement, observed, expected)
    return Witness(**laws[0]._asdict(), problem=problem, laws=laws, prefixes=prefixes)


def _by_prefix(measurement: Measurement, observed: Mapping, expected: Mapping) -> tuple[tuple[str, float, float], ...]:
    """(prefix, expected, observed) for the prefixes of every length, those that deviate most if there are many."""
    entries = []
    for length in range(1, measurement.completion()[1] + 1):
        seen, right = _marginal(observed, length), _marginal(expected, length)
        entries += [(o, as_float(right.get(o, 0)), as_float(seen.get(o, 0))) for o in seen.keys() | right.keys()]
    entries.sort(key=lambda e: (-abs(e[1] - e[2]), len(e[0]), e[0]))
    worst = sorted(entries[:MAX_PREFIXES], key=lambda e: (len(e[0]), e[0]))
    return tuple((prefix_key(o), p, q) for o, p, q in worst)


def _marginal(law: Mapping, length: int) -> dict[Prefix, Any]:
    shorter: dict[Prefix, Any] = {}
    for outcome, probability in law.items():
        if isinstance(outcome, tuple):
            shorter[outcome[:length]] = shorter.get(outcome[:length], 0) + probability
    return shorter


def support(measurement: Measurement) -> Evidence:
    """A token that the target gives probability 0 is never emitted, with however small a probability.

    zeros: whether the target gives any token probability 0; if it does not, only what is outside the vocabulary could be noticed.
    """
    worst, problem = None, measurement.problem
    zeros = any(p == 0 for row in rows_of(measurement.in_use.target) for p in row)
    for block, law in measurement.blocks.items():
        for outcome, probability in law.items():
            if not isinstance(outcome, tuple):
                continue
            for i, token in enumerate(outcome[: problem.gamma + 1]):
                if not 0 <= token < problem.vocabulary or measurement.in_use.target.row(outcome[:i])[token] == 0:
                    if worst is None or probability > worst[2]:
                        worst = (block, outcome, probability, i)
                    break
    if worst is None:
        return _evidence("support", measurement, zeros=zeros)
    block, outcome, probability, i = worst
    entry = LawEntry(prefix_key(outcome[: i + 1]), "0", _rare(as_fraction(probability)))
    witness = Witness(**entry._asdict(), problem=as_json(problem), **_drafted(measurement, block))
    return _evidence("support", measurement, witness, zeros=zeros)


def _drafted(measurement: Measurement, block: Prefix) -> dict[str, Any]:
    """The draft of a witness: its tokens, and of a tree their parents."""
    parents = measurement.tree(block)[0].parents if block and measurement.draws_trees else None
    return {"draft_block": prefix_key(block), "parents": parents and prefix_key(parents)}


def _rare(chance: Fraction) -> str:
    """A small probability: 2^-53 where it is one, else as it is or in digits."""
    power = chance.denominator.bit_length() - 1
    if chance.numerator == 1 and chance.denominator == 1 << power and power > 6:
        return f"2^-{power}"
    return str(chance) if chance.denominator < 10**6 else f"{float(chance):.3g}"


def optimal(measurement: Measurement) -> Evidence:
    """E[tau] against block verification's, the exact optimum of all valid verifiers on these rows (Theorem 2).

    Below it is the price of the rule in tokens per call; above it proves bias. Of a draft tree against two bounds on what the
    best valid rule accepts (``tree_optimum``); nothing is decided between them where they are far apart.
    """
    if reason := _why_not_comparable(measurement):
        return _evidence("optimal", measurement).not_claimed(reason)
    accepted = expected_accepted(measurement.outputs()) if measurement.outputs() else 0
    slack, first = measurement.problem.gamma * measurement.explained, {}
    if measurement.draws_trees:
        from .tree_optimum import largest_acceptance, most_of_first_step  # scipy and its solver: for trees alone

        try:
            reached, optimum = largest_acceptance(measurement.in_use)
        except InputError as error:
            return _evidence("optimal", measurement).not_claimed(str(error))
        first = most_of_first_step(measurement)
    else:
        reached = optimum = expected_accepted(output_law(measurement.in_use, reference("block")))
    gap, below = as_float(accepted - optimum), as_float(reached - accepted)
    short, apart = below > slack, as_float(optimum - reached)
    detail = {
        "expected_accepted": measured_text(measurement, accepted, rational(slack)),
        "optimum": probability_text(optimum, rational(slack)),
        "tokens_per_call_lost": below if short else 0.0,
        **first,
    }
    if apart > CERTIFIED_TO:
        detail["reached"] = probability_text(reached)
    if gap > slack:
        detail["above"] = _above(measurement, accepted, slack)
    witness = None
    if gap > slack or short:
        entry = LawEntry("E[tau]", detail.get("reached", detail["optimum"]), detail["expected_accepted"])
        witness = Witness(**entry._asdict(), problem=as_json(measurement.problem))
    bound = measurement.problem.gamma * (measurement.explained + measurement.missed) + apart
    evidence = _evidence("optimal", measurement, witness, bound=bound, **detail)
    if not witness and apart > CERTIFIED_TO:
        reason = NOT_CERTIFIED.format(as_float(reached), as_float(optimum))
        return replace(evidence, verdict=NO_EVIDENCE, detail=evidence.detail | {"reason": reason})
    if not witness and measurement.problem.gamma * measurement.tolerance < abs(gap) <= slack:
        return replace(
            evidence,
            verdict=NO_EVIDENCE,
            detail=evidence.detail | {"reason": _undecided(measurement, abs(gap), "E[tau] off by")},
        )
    return evidence


def _above(measurement: Measurement, accepted: Any, slack: float) -> str:
    """What it means to accept more than the optimum."""
    why = "certificate" if measurement.draws_trees else "Theorem 2"
    above = f"more than any valid verifier accepts ({why}): bias is proved without a look at the law"
    if not measurement.draws_trees and as_float(accepted - sum(coupling_bound(measurement.in_use).values())) > slack:
        above += "; more than any coupling allows (Lemma 10)"
    return above


def _why_not_comparable(measurement: Measurement) -> str | None:
    """Why Theorem 2 says nothing of what was measured, if it does not."""
    if measurement.modifies_target:
        return NOT_BOUNDED
    failed = sum((p for o, p in measurement.outcomes().items() if not measurement.is_output(o)), QQ(0))
    if as_float(failed) > measurement.explained:
        return f"with probability {probability_text(failed)} it emits no sequence of 1 to gamma + 1 tokens"
    strays = measurement.strays()
    if strays and max(map(as_float, strays.values())) > measurement.tolerance:
        stray = prefix_key(max(sorted(strays), key=lambda o: strays[o]))
        return f"emits {stray}, which is not an accepted draft prefix and one more token (Definition 1)"
    return None
