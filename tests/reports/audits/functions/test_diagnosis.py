"""Diagnosis: each mutant of the zoo is named back, by its law."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from draftproof import audit
from draftproof.models.battery import drawn, toy
from draftproof.models.tree_battery import drawing, ragged
from draftproof.proofs.audit_claims import judge, lossless
from draftproof.proofs.diagnosis import compared, diagnose
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.functions import explanation
from draftproof.reports.audits.report import Report
from draftproof.tests.proofs.enumerated import law_of
from draftproof.tests.reports.audited import audited
from draftproof.verifiers.zoo.catalogue import MUTANTS, TREE_MUTANTS

pytestmark = pytest.mark.interception

SUBJECTS = Path(__file__).parents[3] / "subjects"
DRIVEN = SUBJECTS / "driven.py"
BLOCKS = [drawn(3, 1, "disjoint", 13), drawn(3, 2, "zeros", 2), drawn(3, 2, "generic"), drawn(2, 3, "generic")]
EVEN = [drawing(drawn(3, 1, "generic"), 2, how=how) for how in ("top", "iid", "without-replacement")]
TREES = [
    *EVEN,
    drawing(drawn(4, 1, "generic"), 3, how="without-replacement"),
    drawing(drawn(3, 2, "zeros"), 2, 1, how="top"),
    ragged(drawn(3, 2, "generic"), -1, -1, 1, how="top"),
]
PAIR = drawn(3, 2, "generic")
SAME_LAW: dict[str, set[str]] = {}
"""Mutants that no law tells apart -> all of the same law. None at present: an exception that is none fails the test."""


class Laws:
    """Laws of functions on problems, each measured once, in one child process."""

    def __init__(self, sandbox, trees):
        self.sandbox, self.trees, self.known, self.ways = sandbox, trees, {}, ()

    def __call__(self, subject, problem):
        key = subject, problem.name
        if key not in self.known:
            if self.sandbox.subject != subject:
                about = self.sandbox.load(subject, [TREES[0] if self.trees else toy(1)])
                self.sandbox.subject, self.ways = subject, about["convention"].get("trees", ())
            drawn_so = not self.trees or problem.tree.how in self.ways
            self.known[key] = measured(problem, "float64", self.sandbox.law(problem)) if drawn_so else None
        return self.known[key]

    def named(self, subject, problems, mutants, wanted="lossless"):
        """The mutants that it is diagnosed as once the claim fails, from as few of the problems as tell it apart."""
        known, names = [], set()
        for measurement in filter(None, (self(subject, problem) for problem in problems)):
            known.append(measurement)
            refuted = {(e.claim, m.problem.name) for m in known for e in judge(m) if e.refuted}
            claim = next((c for c in explanation.EXPLAINED if any(c == one for one, _ in refuted)), "")
            if claim != wanted:
                continue
            failing = [m for m in known if (claim, m.problem.name) in refuted]
            chosen = compared(failing, [m for m in known if m not in failing])
            names = {
                same["mutant"]
                for same in diagnose(chosen, mutants, lambda e, m: self(e.measured, m.problem), claim).same
            }
            if len(names) == 1:
                break
        return names


@pytest.mark.long
@pytest.mark.parametrize("trees", [False, True], ids=["blocks", "trees"])
def test_each_mutant_is_named_back_alone_or_with_all_of_the_same_law(trees):
    mutants, problems = (TREE_MUTANTS, TREES) if trees else (MUTANTS, BLOCKS)
    everyone = [*mutants.values()]
    with Sandbox("", timeout=60) as sandbox:
        laws = Laws(sandbox, trees)
        names = {
            name: laws.named(entry.measured, problems, everyone, entry.refutes[0]) for name, entry in mutants.items()
        }
        assert {k: v for k, v in names.items() if v != {k}} == {k: v for k, v in SAME_LAW.items() if k in mutants}
        if not trees:
            assert laws.named(f"{DRIVEN}:ascend", BLOCKS[1:2], everyone) == {"M36"}
            shown = lossless(laws(f"{DRIVEN}:ascend", BLOCKS[1])).witness.observed
            assert "." in shown and "/" not in shown, "a law with logarithms in it is no fraction"
            assert laws.named(f"{DRIVEN}:token", BLOCKS[:2], everyone) == set(), "right: nothing is refuted"
            forms = MUTANTS["M50"].forms
            assert all(laws.named(form.measured, BLOCKS[2:3], everyone) == {"M50"} for form in forms[1::4])
            assert forms[1].title == "residual smoothed by an epsilon: plus 1e-2"


def test_a_function_that_fails_support_alone_is_named_after_the_mutant_that_emits_the_same_impossible_tokens():
    report = audited(f"{DRIVEN}:at_most", [drawn(3, 1, "disjoint", 13)])
    named = [(same["mutant"], same["claim"]) for same in report.diagnosis]
    assert (report.verdict, named) == ("holds", [("M09", "support")])


def test_a_rule_short_of_the_optimum_is_named_only_where_that_was_asked_for():
    for claim, names in (("lossless", []), ("optimal", ["M42"])):
        report = audited(MUTANTS["M42"].target, [toy(2)], claims=(claim,))
        assert [same["mutant"] for same in report.diagnosis] == names


def sevenths(target_probs, draft_probs, draft_tokens, rng):
    """A bug that nobody has reported: a seventh of the draft tokens is accepted untested."""
    for i, x in enumerate(draft_tokens):
        if rng.random() < 6 / 7 and not rng.random() * draft_probs[i][x] < target_probs[i][x]:
            rest = np.maximum(target_probs[i] - draft_probs[i], 0)
            return [*draft_tokens[:i], rng.choice(len(rest), p=rest / rest.sum())]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]


def test_where_no_known_bug_behaves_so_that_is_said_with_the_number_that_was_compared(monkeypatch):
    monkeypatch.setattr(explanation, "LONGEST_SHRINKING", 0.0)
    report = audit(sevenths, [toy(2)])
    count = sum("lossless" in entry.refutes for entry in MUTANTS.values())
    assert report.diagnosis == [] and report.compared["mutants"] == count
    said = (f"none of {count} known bugs behaves like this (on all 3 problems compared)", "")
    assert report.behaves_as == Report.from_json(report.as_json()).behaves_as == [said]
    report.diagnosis = [{"mutant": "M01", "title": "t", "link": "l", "problems": ["p"]}]
    assert report.behaves_as == [("behaves exactly as M01: t (on the problem compared)", "l")]
    assert Report(report.subject).behaves_as == [], "nothing was compared"


def test_a_mutant_whose_law_is_not_known_or_hidden_by_a_lattice_does_not_count_as_compared():
    law, other = law_of(moved=0.1), law_of(moved=0.3)
    entries = [MUTANTS["M01"], MUTANTS["M11"]]
    assert diagnose([law], entries, lambda e, m: other) == ([], 2, 0)
    assert diagnose([law], entries, lambda e, m: None) == ([], 0, 2)
    assert diagnose([law], entries, lambda e, m: other.withdrawn("odd")) == ([], 0, 2)
    assert diagnose([replace(law, grain=0.9)], entries, lambda e, m: other) == ([], 0, 2)
    same = diagnose([replace(law, grain=0.09)], entries, lambda e, m: law).same
    assert [one["mutant"] for one in same] == ["M01", "M11"]
    # What the lattice alone may move a right law by is no sign of a bug.
    assert diagnose([replace(law, grain=0.11)], entries, lambda e, m: law) == ([], 0, 2)


def test_a_difference_that_missed_requests_may_hide_is_looked_for_on_the_other_problems():
    law, other = law_of(moved=0.1), law_of(moved=0.3)
    hidden, entries = replace(law, missed=0.3), [MUTANTS["M01"], MUTANTS["M11"]]
    assert diagnose([hidden], entries, lambda e, m: other) == ([], 0, 2)
    assert diagnose([hidden, law], entries, lambda e, m: other) == ([], 2, 0)
    assert diagnose([hidden, law], entries, lambda e, m: other if m is hidden else law) == ([], 0, 2)
