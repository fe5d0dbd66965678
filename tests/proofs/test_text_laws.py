"""Claims of decoders' texts on given laws: the right hold, planted ones are refuted, what is not known is open."""

from dataclasses import replace
from math import log

import pytest

from draftproof.models.battery import toy
from draftproof.models.decoding_settings import EnginesDiffer, NoTextLaw, joined
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.laws.text_laws import EPSILON, MOST_ROUNDINGS, UNWRITTEN, TextsLaw, TextsRequest
from draftproof.proofs.laws.text_masses import SlotsMasses
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, NOT_CLAIMED, REFUTED
from draftproof.verifiers.verdicts import Strength

pytestmark = pytest.mark.exact
RIGHT = {(0,): 0.25, (1,): 0.75}
WRONG = {(0,): 0.26, (1,): 0.74}


def law(masses=RIGHT, **fields):
    return TextsLaw(masses=masses, **fields)


def verdicts(found, expected=RIGHT, **request):
    asked = TextsRequest(1, 1, [expected], facts={"sampling": "plain", "settings": {}}, **request)
    return {e.claim: e for e in judge(found.of_request(toy(1), asked))}


def moved(size):
    return {(0,): 0.25 + size, (1,): 0.75 - size}


@pytest.mark.parametrize(
    ("size", "verdict"),
    [(0.0, HOLDS), (0.9 * EPSILON, HOLDS), (8 * EPSILON, NO_EVIDENCE), (1.1 * MOST_ROUNDINGS * EPSILON, REFUTED)],
)
def test_a_text_may_be_off_by_an_epsilon_a_token_and_is_refuted_beyond_64(size, verdict):
    found = verdicts(law(moved(size)))["lossless"]
    assert found.verdict == verdict and (found.witness is not None) == (verdict == REFUTED)
    assert found.bound == EPSILON and found.total_variation == pytest.approx(size)


@pytest.mark.parametrize(
    ("claim", "right", "wrong"),
    [("same-as-plain", {"plain": law()}, {"plain": law(WRONG)}), ("support", {}, {"expected": {(1,): 1.0}})],
)
def test_a_claim_of_the_request_holds_on_the_right_law_and_not_on_a_planted_one(claim, right, wrong):
    assert verdicts(law(), **right)[claim].verdict == HOLDS
    found = verdicts(law(), **wrong)[claim]
    assert found.verdict == REFUTED and found.witness


@pytest.mark.parametrize(("reported", "verdict"), [(log(0.25), HOLDS), (log(0.26), REFUTED), (float("nan"), REFUTED)])
def test_logprobs_are_judged_whether_or_not_the_law_is_known(reported, verdict):
    logprobs = {(0,): ([reported], [reported])}
    for found in (law(logprobs=logprobs), law(None, reason="too long", logprobs=logprobs)):
        assert verdicts(found)["logprobs"].verdict == verdict


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (law(None, reason="too long", exactness=Strength.NONE), "too long"),
        (law(reads=("the clock",)), "it reads its environment: the clock"),
        (law(keeps=("CALLS",)), "it keeps what changes with every call: CALLS"),
    ],
)
def test_a_law_that_is_not_known_shows_nothing_that_holds_and_can_be_refuted(found, reason):
    assert {(e.verdict, e.detail.reason) for e in verdicts(found).values()} == {(NO_EVIDENCE, reason)}
    if found.masses:
        assert verdicts(replace(found, masses=WRONG))["lossless"].verdict == REFUTED
    assert "not known" in verdicts(law(), plain=found)["same-as-plain"].detail.reason


def test_texts_of_unwritten_memory_are_refuted_without_a_law():
    findings = {UNWRITTEN: "the same call gives different outputs: 0; 1"}
    found = verdicts(law(None, exactness=Strength.NONE, findings=findings))
    assert found["lossless"].verdict == REFUTED and found["lossless"].total_variation is None
    assert found["support"].verdict == NO_EVIDENCE


TIED, NOTHING_LEFT = EnginesDiffer("top_k 2 cuts between tokens that are as likely"), NoTextLaw("no token is allowed")


@pytest.mark.parametrize(("plain", "verdict"), [(RIGHT, HOLDS), (WRONG, REFUTED)])
def test_where_engines_may_differ_a_law_is_compared_only_with_its_own_without_speculation(plain, verdict):
    found = verdicts(law(), TIED, plain=law(plain))
    assert {claim: e.verdict for claim, e in found.items()} == {
        "lossless": NOT_CLAIMED, "support": NOT_CLAIMED, "same-as-plain": verdict,  # what may be written is not known
    }  # fmt: skip
    assert found["lossless"].own_alone and found["lossless"].detail.why.startswith(str(TIED))


@pytest.mark.parametrize(
    ("expected", "request_"),
    [
        ([TIED], {}),
        ([TIED], {"plain": law(None, reason="too long")}),
        (NOTHING_LEFT, {"plain": law()}),
    ],
)
def test_what_nothing_is_compared_with_stays_open(expected, request_):
    asked = TextsRequest(1, 1, expected, facts={"sampling": "plain", "settings": {}}, **request_)
    assert {e.claim: e for e in judge(law().of_request(toy(1), asked))}["lossless"].verdict == NO_EVIDENCE


def two_texts(first, second, expected, parts=False, plain=True):
    """The verdicts on two requests of one call, which have these laws with speculation and without."""
    masses = {joined([a, b]): p * q for a, p in first.items() for b, q in second.items()}
    by_slot = [SlotsMasses((0,), first, 0), SlotsMasses((1,), second, 0), SlotsMasses((0, 1), masses, 0)]
    found = TextsLaw(parts=by_slot, exactness=Strength.BY_CALLS) if parts else law(masses)
    facts = {"sampling": "speculative", "settings": {}}
    asked = TextsRequest(1, 2, expected, found if plain else None, facts=facts, together=True)
    return {e.claim: e for e in judge(found.of_request(toy(1), asked))}


@pytest.mark.parametrize("parts", [False, True])
def test_each_request_of_a_call_that_has_a_law_is_judged_where_engines_may_differ_about_another(parts):
    right = two_texts(RIGHT, WRONG, [RIGHT, TIED], parts)
    assert {claim: e.verdict for claim, e in right.items()} == dict.fromkeys(right, HOLDS)
    why = f"request 2: {TIED}: same-as-plain alone is judged"
    assert {claim: e.detail.why for claim, e in right.items() if e.detail.why} == dict.fromkeys(
        ("lossless", "support", "batch"), why
    )
    wrong = two_texts(WRONG, RIGHT, [RIGHT, TIED], parts)["lossless"]
    assert wrong.verdict == REFUTED and wrong.witness.why.startswith("request 1 of 2 in one call")


@pytest.mark.parametrize("parts", [False, True])
def test_a_call_whose_first_request_has_no_law_never_holds_and_its_neighbour_can_refute_it(parts):
    found = two_texts(WRONG, RIGHT, [TIED, RIGHT], parts)["lossless"]
    assert found.verdict == NOT_CLAIMED and found.own_alone
    assert two_texts(RIGHT, WRONG, [TIED, RIGHT], parts)["lossless"].verdict == REFUTED
    assert two_texts(RIGHT, {(2,): 1.0}, [TIED, RIGHT], parts)["support"].verdict == REFUTED


@pytest.mark.parametrize(
    ("may", "support", "lossless"), [({(0,), (1,)}, HOLDS, NOT_CLAIMED), ({(1,)}, REFUTED, REFUTED)]
)
def test_a_text_that_no_way_of_cutting_allows_refutes_although_the_law_without_speculation_is_the_same(
    may, support, lossless
):
    asked = TextsRequest(1, 1, [TIED], law(), facts={"sampling": "speculative", "settings": {}}, may={0: may})
    found = {e.claim: e for e in judge(law().of_request(toy(1), asked))}
    assert (found["support"].verdict, found["lossless"].verdict) == (support, lossless)
    assert found["same-as-plain"].verdict == HOLDS
    if lossless == REFUTED:
        assert found["lossless"].total_variation == 0.25 and found["lossless"].witness.sequence == "0"


def test_a_rare_text_that_no_way_of_cutting_allows_refutes_support_alone():
    rare = law({(0,): 2.0**-53, (1,): 1 - 2.0**-53})
    asked = TextsRequest(1, 1, [TIED], rare, facts={"sampling": "speculative", "settings": {}}, may={0: {(1,)}})
    found = {e.claim: e.verdict for e in judge(rare.of_request(toy(1), asked))}
    assert found == {"lossless": NOT_CLAIMED, "same-as-plain": HOLDS, "support": REFUTED}


def test_a_call_of_which_nothing_else_is_compared_stays_open():
    found = two_texts(RIGHT, WRONG, [RIGHT, TIED], plain=False)
    assert {claim: e.verdict for claim, e in found.items()} == dict.fromkeys(found, NO_EVIDENCE)
    assert two_texts(WRONG, RIGHT, [RIGHT, TIED], plain=False)["lossless"].verdict == REFUTED


def test_logprobs_are_not_claimed_where_engines_may_differ():
    found = verdicts(law(logprobs={(0,): ([log(0.25)], [log(0.25)])}), TIED, plain=law(), raw=None)
    assert found["logprobs"].verdict == NOT_CLAIMED


def test_memory_that_was_never_written_refutes_also_where_engines_may_differ():
    unwritten = law(None, reason="unsteady", findings={UNWRITTEN: "the same call: with seed 1 (0,); (1,)"})
    assert verdicts(unwritten, TIED, plain=law())["lossless"].verdict == REFUTED
