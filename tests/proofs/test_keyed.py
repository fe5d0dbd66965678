"""The claim lossless-over-keys: right watermarks keep it, planted wrong ones are refuted, others do not make it."""

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.problem import problem_from
from draftproof.proofs.audit_claims import judge_claim
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.api import audit
from draftproof.tests.subjects import watermarks
from draftproof.verifiers.evidence import HOLDS, NOT_CLAIMED, REFUTED

pytestmark = pytest.mark.exact
CLAIM = "lossless-over-keys"
HALVES = problem_from({"vocabulary": 3, "gamma": 1, "target": ["1/2", "0", "1/2"], "draft": ["1/2", "1/2", "0"]})


def judged(name, *problems, module="watermarks"):
    """The evidence of the claim on each problem."""
    with Sandbox(f"draftproof.tests.subjects.{module}:{name}") as sandbox:
        sandbox.load(f"draftproof.tests.subjects.{module}:{name}", [toy(1)])
        return [judge_claim(measured(p, "float64", sandbox.law(p)), CLAIM) for p in problems]


@pytest.mark.parametrize("name", ["right", "fresh_coin", "by_the_token_before"])
def test_a_watermark_with_numbers_of_its_own_for_each_place_keeps_the_law_over_keys(name):
    for found in judged(name, drawn(3, 2, "generic"), drawn(3, 2, "zeros")):
        assert found.verdict == HOLDS and found.total_variation < 1e-12


@pytest.mark.parametrize(
    ("name", "problem"),
    [("from_the_target", toy(1)), ("one_number", drawn(3, 2, "generic")), ("by_the_token_before", toy(3))],
)
def test_a_wrong_watermark_is_refuted_with_its_witness(name, problem):
    """A context that comes again within a block, of three drafted tokens, repeats its coin; two tokens do not show that
    coin and replacement are one number, for what is left of the target is one token."""
    (found,) = judged(name, problem)
    assert found.verdict == REFUTED and found.total_variation > 1e-3
    assert found.witness.expected != found.witness.observed


def test_every_key_of_a_small_key_space_is_gone_through():
    found, few = judged("four_keys", HALVES, toy(2))
    assert (found.verdict, found.total_variation) == (HOLDS, 0)
    assert few.verdict == REFUTED  # four keys are too few for thirds
    (wrong,) = judged("four_keys_from_the_target", HALVES)
    assert (wrong.verdict, wrong.total_variation) == (REFUTED, 0.25)


def test_one_wrong_key_of_many_is_found():
    (found,) = judged("one_key_of_many", HALVES)
    assert (found.verdict, found.total_variation) == (REFUTED, 0.5 / 200)


def test_what_takes_no_key_does_not_make_the_claim():
    (found,) = judged("right", toy(1), module="regions")
    assert found.verdict == NOT_CLAIMED and "no parameter key" in found.detail.why
    report = audit("token", [toy(1)], claims=(CLAIM,), levels=("exact",), explain=False)
    assert report.verdict != HOLDS and CLAIM not in {e.claim for e in report.evidence}


def test_an_audit_decides_by_it_if_it_is_asked_for_and_says_that_laws_are_averages():
    report = audit(watermarks.from_the_target, [toy(1)], claims=(CLAIM,), levels=("exact",), explain=False)
    assert report.verdict == REFUTED and "averages over keys" in report.findings["key"]
    assert any("drafts that the key decides too" in sentence for sentence in report.not_examined)
