"""The claims of an audit (``verifiers.claims``), judged on a measured law, small, wide or driven."""

from msgspec import convert

from ..verifiers.claims import CLAIMS, FUNCTION, VARIATION, claims_of
from ..verifiers.evidence import HOLDS, NO_EVIDENCE, NOT_CLAIMED, REFUTED, Evidence, EvidenceVerdict
from .laws.law import Departure, Law

NO_KEY = "it has no parameter key: its noise is not decided by one"


def judge(law: Law) -> list[Evidence]:
    """All claims of one law; of those that have a judge of their own, those that are known to be made of it."""
    found = [judge_claim(law, claim) for claim in claims_of(FUNCTION)]
    return [e for e in found if not CLAIMS[e.claim].judge or (law.tells and e.verdict != NOT_CLAIMED)]


def verdict(law: Law, claim: str) -> EvidenceVerdict:
    """The verdict on one claim. What is known of a law in part can refute, and never holds."""
    if not law.tells:
        return NO_EVIDENCE
    found = law.departure(claim)
    if found.not_claimed:
        return NOT_CLAIMED
    decided = found.verdict
    return NO_EVIDENCE if decided == HOLDS and (found.open or not law.known) else decided


def refuted(law: Law, *claims: str) -> bool:
    """Whether one of these claims is refuted of the law."""
    return any(verdict(law, claim) == REFUTED for claim in claims)


def judge_claim(law: Law, claim: str) -> Evidence:
    """One claim of one law. Where nothing is decided, the detail has the reason."""
    decided, found = verdict(law, claim), law.departure(claim) if law.tells else Departure()
    facts, bound, variation = {**law.facts(), **found.detail()}, found.bound, None
    witness = found.witness() if found.witness and decided == REFUTED else None
    if CLAIMS[claim].unit == VARIATION and decided != NOT_CLAIMED and (law.known or witness):
        variation, bound = found.size, (found.explained if witness else law.tolerance) + law.missed
    if decided == NOT_CLAIMED:
        facts["why"] = found.not_claimed
    elif decided == NO_EVIDENCE and law.known:
        facts["reason"] = found.open or law.undecided(found)
    elif decided == HOLDS and claim == "lossless" and found.size > law.certain:
        facts["if_it_computes_in"] = law.computed_in
    detail = convert(facts, law.detail_type)
    return Evidence(claim=claim, method=law.method, verdict=decided, problem=law.problem.name,
                    total_variation=variation, bound=bound, witness=witness, detail=detail)  # fmt: skip


def lossless(law: Law) -> Evidence:
    """The completed law against the target's, over the rows in use (Eq. 7; Lemma 8 where the target is modified)."""
    return judge_claim(law, "lossless")


def support(law: Law) -> Evidence:
    """A token that the target gives probability 0 is never emitted, with however small a probability."""
    return judge_claim(law, "support")


def optimal(law: Law) -> Evidence:
    """E[tau] against the largest of all valid verifiers on these rows (Theorem 2; of a tree, two proved bounds)."""
    return judge_claim(law, "optimal")


def lossless_over_keys(law: Law) -> Departure:
    """What a watermarked verifier emits: the completed law of a keyed function, averaged over its keys.

    A keyed function is run with a key drawn anew in each call (``calling_convention.over_keys``), so that the law that
    is measured is the average over keys; what one label decides twice, within a block, is in it.
    """
    return law.lossless if "key" in law.findings else Departure(not_claimed=NO_KEY)
