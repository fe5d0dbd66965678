"""The claims of an audit (``verifiers.claims``), judged on a measured law of any kind."""

from math import inf

from msgspec import convert

from ..verifiers.claims import CLAIMS, VARIATION
from ..verifiers.evidence import HOLDS, NO_EVIDENCE, NOT_CLAIMED, REFUTED, Evidence, EvidenceVerdict
from .laws.law import Departure, Law


def judge(law: Law) -> list[Evidence]:
    """Judge every claim that is made of a law."""
    return [judge_claim(law, claim) for claim in law.claims]


def verdict(law: Law, claim: str) -> EvidenceVerdict:
    """Return the verdict on one claim. A law known in part can refute, and never holds."""
    if not law.tells:
        return NO_EVIDENCE
    found = law.departure(claim)
    if found.not_claimed:
        return NOT_CLAIMED
    decided = found.verdict
    return NO_EVIDENCE if decided == HOLDS and (found.open or not _known(law, found)) else decided


def _known(law: Law, found: Departure) -> bool:
    return law.known if found.known is None else found.known


def refuted(law: Law, *claims: str) -> bool:
    """Return whether a law refutes one of these claims."""
    return any(verdict(law, claim) == REFUTED for claim in claims)


def judge_claim(law: Law, claim: str) -> Evidence:
    """Judge one claim on one law. If nothing is decided, the detail has the reason."""
    decided, found = verdict(law, claim), law.departure(claim) if law.tells else Departure()
    facts, bound, variation = {**law.facts(), **found.detail()}, found.bound, None
    witness = found.witness() if found.witness and decided == REFUTED else None
    known = _known(law, found)
    if decided != NOT_CLAIMED and (known or witness):
        varies = CLAIMS[claim].unit == VARIATION and found.size is not None and found.size < inf
        variation = found.size if varies or found.stated else None
        if varies and bound is None:
            bound = (found.explained if witness else law.tolerance) + law.missed
    if decided == NOT_CLAIMED:
        facts["why"] = found.not_claimed
    elif decided == NO_EVIDENCE and law.tells:
        facts["reason"] = found.open or (law.undecided(found) if known else law.why_unknown)
    elif decided == HOLDS and claim == "lossless" and (found.size or 0) > law.certain:
        facts["if_it_computes_in"] = law.computed_in
    detail = convert(facts, law.detail_type)
    return Evidence(claim=claim, method=law.method, verdict=decided, problem=law.problem.name,
                    total_variation=variation, bound=bound, witness=witness, detail=detail)  # fmt: skip


def lossless(law: Law) -> Evidence:
    """Judge the completed law against the target's, over the rows in use (Eq. 7; Lemma 8 for a modified target)."""
    return judge_claim(law, "lossless")


def support(law: Law) -> Evidence:
    """Judge whether a token of target probability 0 is never emitted, however small its probability."""
    return judge_claim(law, "support")


def optimal(law: Law) -> Evidence:
    """Judge E[tau] against the largest of all valid verifiers (Theorem 2; on trees, two proved bounds)."""
    return judge_claim(law, "optimal")
