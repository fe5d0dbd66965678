"""What meets no requirement: parts whose report decides nothing, and beside parts that refute the same subject."""

import pytest
from msgspec.structs import replace

from draftproof.reports.audits.compliance.plan import Collected, Part, Requirement
from draftproof.reports.audits.compliance.requirements import MET, NOT_NAMED, OPEN, SAMPLED, judged
from draftproof.reports.audits.report import OUT_OF_TIME
from draftproof.tests.reports.audits.compliance.compliance_parts import got
from draftproof.tests.reports.report_parts import GOOD_SUBJECT, item
from draftproof.verifiers.details import TextLawDetail
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, Method, Witness

pytestmark = pytest.mark.exact

REQUIRED = Requirement("R1", "it is lossless", "lossless", ("a",))
SMALLEST = Witness(sequence="0", expected="1", observed="0", smallest=True)


def test_a_part_that_refutes_the_same_subject_is_not_passed_over_where_the_plan_does_not_name_it():
    refuted = item(REFUTED, witness=SMALLEST)
    of_it, of_another = got(refuted), got(refuted, subject=GOOD_SUBJECT | {"digest": "sha256:2"})
    of_it.id = of_another.id = "b"
    made = judged(REQUIRED, [got(item()), of_it])
    assert made.verdict == OPEN
    assert made.closing == [f"b does not count: {NOT_NAMED}"]
    assert judged(REQUIRED, [got(item()), of_another]).verdict == MET
    assert judged(replace(REQUIRED, scope={"dtype": "float32"}), [got(item()), of_it]).closing != made.closing


@pytest.mark.parametrize(("digest", "expected"), [("sha256:1", OPEN), ("sha256:2", MET)])
def test_an_alarm_of_another_version_of_the_subject_leaves_nothing_open(digest, expected):
    night = {"night": "2026-11-20", "log_e": 9.0, "draws": 10}
    check = {"subject": "f", "version": f"1.0 {digest} float64 numpy", "check": "p", "current": True, "state": "alarm",
             "witness": None, "detects": None, "nights": [night]}  # fmt: skip
    history = {"checks": [check], "state": "alarm", "failures": [], "scope": "1 problem"}
    alarm = Collected.of(Part("n", "nightly", {"file": "n.json"}), history=history)
    assert judged(REQUIRED, [got(item()), alarm]).verdict == expected


OF_TEXTS = {"tokens": 2, "settings": {}, "setting": "defaults", "calls": 3, "smallest_probability": 0.1, "gamma": 2}


@pytest.mark.parametrize(
    ("facts", "findings", "why"),
    [
        ({"sampling": "speculative", "ways_of_plain": False}, {}, None),
        ({"sampling": "plain"}, {}, "it was examined without a draft: that is no speculation"),
        ({"sampling": "speculative", "ways_of_plain": True}, {}, "nothing shows that tokens were drafted"),
        ({"sampling": "speculative"}, {OUT_OF_TIME: "s"}, "it had no time for all that it examines"),
    ],
)
def test_a_decoder_whose_report_decides_nothing_does_not_meet_a_requirement(facts, findings, why):
    detail = TextLawDetail(dtype="float32", vocabulary=2, exactness="exact", **OF_TEXTS, **facts)
    law = Evidence(
        claim="lossless", method=Method("interception"), verdict=HOLDS, problem="p", bound=1e-7, detail=detail
    )
    made = judged(REQUIRED, [got(law, findings=findings)])
    assert (made.verdict, made.evidence[0].why) == (OPEN if why else MET, why)


def test_what_bets_on_sets_leave_unseen_is_no_total_variation():
    bets = got(item(NO_EVIDENCE, "betting", bound=0.05))
    assert judged(REQUIRED, [bets]).verdict == SAMPLED
    assert judged(replace(REQUIRED, detection_limit=0.1), [bets]).closing == [
        "a leaves 0.05 (of a set of tokens); the plan asks for 0.1: more samples are needed"
    ]
