"""The claims of an audit, judged on a measurement: lossless, support, optimal."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sympy import QQ

from ..models.law import Prefix, prefix_key
from ..models.problem import as_json
from ..models.rationals import as_float, as_fraction
from ..verifiers.evidence import HOLDS, NO_EVIDENCE, NOT_CLAIMED, REFUTED, Evidence
from ..verifiers.registry import reference
from .claims import coupling_bound
from .field import rational
from .laws import completed, expected_accepted, joint_law, output_law, total_variation
from .measurement import Measurement

SHOWN = 8
"""Entries of the two laws that a witness sets side by side."""


MOST_PREFIXES = 30
"""Prefixes of which a witness tells both probabilities, for the picture."""


def told(probability: Any, tolerance: Any = 0) -> str:
    """A probability for a person: the simplest rational within the tolerance, else twelve digits."""
    exact = as_fraction(probability)
    slack = max(as_float(tolerance), 1e-15)
    simple = exact.limit_denominator(10**6)
    if abs(float(simple - exact)) <= slack and (simple != 0 or exact == 0):
        return str(simple)
    return f"{float(exact):.12g}"


def judge(measurement: Measurement) -> list[Evidence]:
    """All claims on one measurement. Without a law there is no evidence, and the reason is given."""
    if not measurement.known:
        detail = {"reason": measurement.reason, "dtype": measurement.dtype}
        return [
            Evidence(claim, "interception", NO_EVIDENCE, measurement.problem.name, detail=detail)
            for claim in ("lossless", "support", "optimal")
        ]
    law, kept = lossless(measurement), support(measurement)
    accepts = optimal(measurement)
    if law.verdict == REFUTED and "above" not in accepts.detail and accepts.verdict != NOT_CLAIMED:
        accepts.verdict, accepts.witness = NOT_CLAIMED, None
        accepts.detail["why"] = "not lossless on this problem: the optimum is that of valid verifiers"
    return [law, kept, accepts]


def _evidence(claim: str, measurement: Measurement, refuted: bool, **fields) -> Evidence:
    detail = {"exactness": measurement.exactness, "dtype": measurement.dtype, "paths": measurement.paths}
    detail |= fields.pop("detail", {})
    method = "enumeration" if measurement.dtype == "exact" else "interception"
    name = measurement.problem.name
    return Evidence(claim, method, REFUTED if refuted else HOLDS, name, detail=detail, **fields)


def lossless(measurement: Measurement) -> Evidence:
    """The completed law against the target's, over the rows in use (Eq. 7; Lemma 8 where the target is modified).

    What is not a sequence of 1..gamma+1 tokens of the vocabulary, an exception say, counts as deviation in full.
    """
    continued, length = measurement.completion()
    outcomes = measurement.outcomes()
    observed: dict[Any, Any] = completed(measurement.outputs(), continued, length)
    observed |= {o: p for o, p in outcomes.items() if not measurement.is_output(o)}
    expected = joint_law(measurement.in_use.target, length)
    deviation = as_float(total_variation(observed, expected))
    refuted = deviation > measurement.tolerance
    witness = _side_by_side(measurement, observed, expected) if refuted else None
    return _evidence(
        "lossless", measurement, refuted, total_variation=deviation, bound=measurement.tolerance, witness=witness
    )


def _side_by_side(measurement: Measurement, observed: Mapping, expected: Mapping) -> dict[str, Any]:
    """Where the laws differ most, and the law of the shortest prefix on which they differ at all."""
    slack = rational(measurement.tolerance)
    strange = {o: p for o, p in observed.items() if o not in expected and not measurement.is_output(o) and p > slack}
    if strange:
        worst = max(sorted(strange, key=str), key=lambda o: strange[o])
        block = next(b for b, law in measurement.blocks.items() if law.get(worst, 0) != 0)
        emitted = worst if isinstance(worst, str) else f"emits {prefix_key(worst)}"
        shown = [{"sequence": emitted, "expected": "0", "observed": told(strange[worst], slack)}]
        return {"problem": as_json(measurement.problem), "draft_block": prefix_key(block), "laws": shown, **shown[0]}
    for length in range(1, measurement.completion()[1] + 1):
        shorter = [_marginal(law, length) for law in (observed, expected)]
        gaps = {o: abs(shorter[0].get(o, 0) - shorter[1].get(o, 0)) for o in shorter[0].keys() | shorter[1].keys()}
        if max(gaps.values()) > slack / 4:
            break
    ranked = sorted(gaps, key=lambda o: (-gaps[o], o))[:SHOWN]
    shown = [
        {
            "sequence": prefix_key(o),
            "expected": told(shorter[1].get(o, 0), slack),
            "observed": told(shorter[0].get(o, 0), slack),
        }
        for o in ranked
    ]
    return {
        "problem": as_json(measurement.problem),
        "laws": shown,
        "prefixes": _by_prefix(measurement, observed, expected),
        **shown[0],
    }


def _by_prefix(measurement: Measurement, observed: Mapping, expected: Mapping) -> list[list]:
    """[prefix, expected, observed] as floats for the prefixes of every length, those that deviate most if there are many."""
    entries = []
    for length in range(1, measurement.completion()[1] + 1):
        seen, right = _marginal(observed, length), _marginal(expected, length)
        entries += [
            (length, o, as_float(right.get(o, 0)), as_float(seen.get(o, 0))) for o in seen.keys() | right.keys()
        ]
    entries.sort(key=lambda e: (-abs(e[2] - e[3]), e[0], e[1]))
    return [[prefix_key(o), p, q] for _, o, p, q in sorted(entries[:MOST_PREFIXES], key=lambda e: (e[0], e[1]))]


def _marginal(law: Mapping, length: int) -> dict[Prefix, Any]:
    shorter: dict[Prefix, Any] = {}
    for outcome, probability in law.items():
        if isinstance(outcome, tuple):
            shorter[outcome[:length]] = shorter.get(outcome[:length], 0) + probability
    return shorter


def support(measurement: Measurement) -> Evidence:
    """A token that the target gives probability 0 is never emitted, however rarely chance would have it."""
    worst = None
    for block, law in measurement.blocks.items():
        for outcome, probability in law.items():
            if not isinstance(outcome, tuple):
                continue
            for i, token in enumerate(outcome[: measurement.problem.gamma + 1]):
                known = 0 <= token < measurement.problem.vocabulary
                if not known or measurement.in_use.target.row(outcome[:i])[token] == 0:
                    if worst is None or probability > worst[2]:
                        worst = (block, outcome, probability, i)
                    break
    if worst is None:
        return _evidence("support", measurement, False)
    block, outcome, probability, i = worst
    chance = as_fraction(probability)
    return _evidence(
        "support",
        measurement,
        True,
        witness={
            "problem": as_json(measurement.problem),
            "draft_block": prefix_key(block),
            "sequence": prefix_key(outcome[: i + 1]),
            "expected": "0",
            "observed": _rare(chance),
        },
    )


def _rare(chance: Fraction) -> str:
    """A small probability: 2^-53 where it is one, else as it is or in digits."""
    power = chance.denominator.bit_length() - 1
    if chance.numerator == 1 and chance.denominator == 1 << power and power > 6:
        return f"2^-{power}"
    return str(chance) if chance.denominator < 10**6 else f"{float(chance):.3g}"


def optimal(measurement: Measurement) -> Evidence:
    """E[tau] against block verification's, the exact optimum of all valid verifiers on these rows (Theorem 2).

    Below it is the price of the rule in tokens per call; above it proves bias.
    """
    if measurement.modifies_target:
        evidence = _evidence("optimal", measurement, False)
        evidence.verdict = NOT_CLAIMED
        evidence.detail["why"] = "not valid in the plain loop, so Theorem 2 does not bound it"
        return evidence
    outputs = measurement.outputs()
    failed = sum((p for o, p in measurement.outcomes().items() if not measurement.is_output(o)), QQ(0))
    if as_float(failed) > measurement.tolerance:
        evidence = _evidence("optimal", measurement, False)
        evidence.verdict = NOT_CLAIMED
        evidence.detail["why"] = f"with probability {told(failed)} it emits no sequence of 1 to gamma + 1 tokens"
        return evidence
    strays = measurement.strays()
    if strays and max(map(as_float, strays.values())) > measurement.tolerance:
        evidence = _evidence("optimal", measurement, False)
        evidence.verdict = NOT_CLAIMED
        stray = prefix_key(max(sorted(strays), key=lambda o: strays[o]))
        evidence.detail["why"] = (
            f"emits {stray}, which is not an accepted draft prefix and one more token (Definition 1)"
        )
        return evidence
    accepted = expected_accepted(outputs) if outputs else 0
    optimum = expected_accepted(output_law(measurement.in_use, reference("block")))
    gap = as_float(accepted - optimum)
    slack = measurement.problem.gamma * measurement.tolerance
    detail = {
        "expected_accepted": told(accepted, rational(slack)),
        "optimum": told(optimum, rational(slack)),
        "tokens_per_call_lost": max(-gap, 0.0) if abs(gap) > slack else 0.0,
    }
    if gap > slack:
        most = sum(coupling_bound(measurement.in_use).values())
        detail["above"] = "more than any valid verifier accepts (Theorem 2): bias is proved without a look at the law"
        if as_float(accepted - most) > slack:
            detail["above"] += "; more than any coupling allows (Lemma 10)"
    witness = None
    if abs(gap) > slack:
        witness = {
            "problem": as_json(measurement.problem),
            "sequence": "E[tau]",
            "expected": detail["optimum"],
            "observed": detail["expected_accepted"],
        }
    return _evidence("optimal", measurement, abs(gap) > slack, bound=slack, witness=witness, detail=detail)
