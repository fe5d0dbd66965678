"""Law vectors: a law holds or fails, and counts are at best not refuted."""

from fractions import Fraction

import pytest

from draftproof.reports.audits.vectors.judgement import FAILED, LEFT_OUT, NOT_REFUTED, PASSED
from draftproof.reports.audits.vectors.suite import suite
from draftproof.tests.reports.audits.vectors.vectors_parts import judged_answers, law_answers, of_laws


def test_a_law_holds_exactly_and_counts_are_only_not_refuted():
    exact = of_laws(judged_answers(law_answers("block", "law"), ["block", "lossless"], ["law"]))
    assert [exact[v["id"]].status for v in suite()["laws"] if v["rule"] in ("block", "lossless")] == [PASSED] * 12
    judgement = judged_answers(law_answers("block", "counts"), ["block", "lossless"], ["law"])
    counted = [j for j in of_laws(judgement).values() if j.status != LEFT_OUT]
    assert [j.status for j in counted] == [NOT_REFUTED] * 12
    assert all("can remain unseen" in j.why for j in counted)
    assert judgement.verdict == "inconclusive"


@pytest.mark.parametrize("kind", ["law", "counts"])
def test_laws_of_trees_are_judged_whatever_the_rule(kind):
    """Right: accepts nothing and draws from the target. Wrong: draws from the draft."""
    trees = [vector for vector in suite()["laws"] if vector["rule"].startswith("trees-")]
    for of, verdict in (("target", "inconclusive"), ("draft", "refuted")):
        given = {}
        for vector in trees:
            row = [Fraction(p) for p in vector["problem"][of][""]]
            law = {str(x): str(p) for x, p in enumerate(row)}
            counts = {x: int(10**5 * Fraction(p)) for x, p in law.items() if Fraction(p)}
            given[vector["id"]] = {kind: law if kind == "law" else counts}
        rules = sorted({vector["rule"] for vector in trees})
        judgement = judged_answers(given, rules, ["law"])
        statuses = {j.status for j in of_laws(judgement).values() if j.status != LEFT_OUT}
        right = {PASSED} if kind == "law" else {NOT_REFUTED}
        assert (judgement.verdict, statuses) == (verdict, right if of == "target" else {FAILED})


def test_wrong_laws_and_wrong_counts_fail():
    assert judged_answers(law_answers("token", "law"), ["block"], ["law"]).verdict == "refuted"
    assert judged_answers(law_answers("token", "counts"), ["block"], ["law"]).verdict == "refuted"
    assert judged_answers(law_answers("greedy-block", "counts"), ["lossless"], ["law"]).verdict == "refuted"
    name = next(v["id"] for v in suite()["laws"] if v["flags"] == ["Lossless", "Support"])
    right = law_answers("token", "law")[name]["law"]
    for law in (
        {**right, "9": 0.0},
        {**right, "x": 0.0},
        {},
        {k: v / 2 for k, v in right.items()},
        {**right, next(iter(right)): -1},
    ):
        assert of_laws(judged_answers({name: {"law": law}}, ["lossless"], ["law"]))[name].status == FAILED
    impossible = {"law": {**right, "2": 2.0**-53}}
    found = of_laws(judged_answers({name: impossible}, ["lossless"], ["law"]))[name]
    assert found.status == FAILED
    assert "the target gives it probability 0" in found.why


def test_rounding_may_emit_what_the_target_allows_and_the_rule_does_not():
    name = "law-token-paper-example-gamma2"  # after a rejection the rule emits 1 alone
    law = law_answers("token", "law")[name]["law"]
    assert "0" not in law
    for mass, status in ((1e-16, PASSED), (2e-13, NOT_REFUTED), (1e-9, FAILED)):
        judged = of_laws(judged_answers({name: {"law": {**law, "0": mass}}}, ["token"], ["law"]))[name]
        assert judged.status == status
        assert ("by the theorem on rounding at most" in judged.why) == (status != PASSED)
