"""Rows of a batch that influence each other: refuted, each way by the company in which it shows; right ones are not."""

import numpy as np
import pytest

from draftproof.corpus.site.engines_page import batch_verdict
from draftproof.models.battery import drawn, toy
from draftproof.models.tree_battery import drawing
from draftproof.proofs.driven.batches import WAYS, influences
from draftproof.proofs.driven.subjects import DrivenObject
from draftproof.proofs.time_limits import TimeLimits
from draftproof.reports.audits.functions.batch_influence import NOT_TRIED
from draftproof.reports.audits.report import Report
from draftproof.tests.choices import long_unless
from draftproof.tests.reports.audited import audited
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects import driven, trees
from draftproof.verifiers.zoo import batched_rows
from draftproof.verifiers.zoo.catalogue import BATCH_MUTANTS

pytestmark = pytest.mark.interception

OTHERS, RAGGED, PLACEHOLDERS, GREEDY, SLOT, SEEDED, MANY_RAGGED = WAYS
ROUNDS = dict.fromkeys(WAYS, 32) | {MANY_RAGGED: 4}
SHOWN_BY = {
    "B01": OTHERS, "B02": RAGGED, "B03": GREEDY, "B04": RAGGED, "B05": PLACEHOLDERS, "B06": SLOT, "B07": PLACEHOLDERS,
}  # fmt: skip
PROBLEMS = [drawn(3, gamma, "generic") for gamma in (1, 2, 3)]


def answer_of(function, seed=0):
    answer = influences(DrivenObject(function, "it", None, "float64", TimeLimits(30.0)), PROBLEMS, seed)
    return answer | {"ways": [one["way"] for one in answer["influenced"]]}


@pytest.mark.parametrize("name", long_unless(BATCH_MUTANTS, [*BATCH_MUTANTS][::2]))
def test_a_mutant_of_batches_is_seen_in_the_company_that_shows_it_and_named_back(name):
    for seed in range(3):
        answer = answer_of(getattr(batched_rows, BATCH_MUTANTS[name].function.partition(":")[2]), seed)
        assert SHOWN_BY[name] in answer["ways"] and answer["explained"] == [name]


def by_place(rows, k):
    return rows[k] if rows[k].seed is None else rows[k]._replace(seed=rows[k].seed + k)


def of_the_last(rows, k):
    return rows[k]._replace(random=rows[-1].random | {"accept": rows[k].random["accept"]})


def of_the_first(rows, k):
    accept = np.resize(rows[0].random["accept"], len(rows[k].tokens))
    return rows[k]._replace(random=rows[k].random | {"accept": accept})


class Loses(batched_rows.Batched):
    def together(self, rows):
        return super().together(rows)[:5]


class Raises(batched_rows.Batched):
    def together(self, rows):
        if len({len(row.tokens) for row in rows}) > 1:
            raise IndexError("rows of different lengths")
        return super().together(rows)


def test_other_mixtures_lost_rows_and_exceptions_are_seen_and_only_the_same_mixture_is_named():
    assert answer_of(driven.Together(of_the_first))["explained"] == ["B01"]
    another = answer_of(driven.Together(of_the_last))
    assert another["influenced"] and another["explained"] == []
    assert answer_of(batched_rows.Batched(by_place))["ways"] == [SEEDED]
    assert {*answer_of(Loses(batched_rows.alone))["ways"]} == {*WAYS}
    raised = answer_of(Raises(batched_rows.alone))["ways"]
    assert RAGGED in raised and OTHERS not in raised


class InBlocks(batched_rows.Batched):
    """Answers the rows from the 17th on in the opposite order, where they have several lengths."""

    def together(self, rows):
        first = super().together(rows[:16])
        return first if len({len(row.tokens) for row in rows}) == 1 else [*first, *super().together(rows[16:][::-1])]


def test_a_mistake_of_large_batches_alone_is_seen_where_the_verifier_takes_as_many_rows():
    assert answer_of(InBlocks(batched_rows.alone))["ways"] == [MANY_RAGGED]
    small = type("Small", (batched_rows.Batched,), {"batch": 63})(batched_rows.alone)
    assert MANY_RAGGED in answer_of(small)["not_tried"]


def test_right_batches_are_not_refuted_in_any_company():
    for seed in range(5):
        answer = answer_of(batched_rows.right, seed)
        assert (answer["tried"], answer["ways"]) == (ROUNDS, [])
        assert answer_of(driven.together, seed)["ways"] == []


def test_what_a_verifier_does_not_say_that_it_takes_is_not_tried_and_that_is_said():
    class Plain(batched_rows.Batched):
        placeholders = mixes_greedy = seeded = False

    answer = answer_of(Plain(batched_rows.alone))
    assert answer["not_tried"] == [PLACEHOLDERS, GREEDY, SEEDED]
    assert {*answer["tried"]} == {OTHERS, RAGGED, MANY_RAGGED, SLOT}
    report = Report({"name": "x", "source": "x", "batches": {OTHERS: "32 batches of 8", PLACEHOLDERS: NOT_TRIED}})
    assert batch_verdict(report) == "nothing noticed; not tried: placeholders in some"


def test_an_audit_refutes_a_batch_though_each_row_alone_is_right():
    problems = [drawn(2, 1, "generic")]
    right, wrong = audited(batched_rows.right, problems), audited(batched_rows.placeholder_as_index, problems)
    assert right.verdict == "holds" and right.subject["batches"][OTHERS] == "32 batches of 8"
    assert wrong.verdict == "refuted" and "batch" in wrong.claims
    assert ([same["mutant"] for same in wrong.diagnosis], right.diagnosis) == (["B05"], [])
    validate(wrong.as_json())
    (refuted,) = [e for e in wrong.evidence if e.refuted and e.claim == "batch"]
    assert refuted.problem == PLACEHOLDERS and "of 8 rows" in refuted.witness.why
    assert refuted.replay.startswith("draftproof audit ") and refuted.replay.endswith("--seed 0")
    assert all(e.holds for e in wrong.evidence if e.claim == "lossless")


def test_batches_of_trees_have_several_shapes_and_the_scope_says_how_many_requests_a_call_had():
    problems = [drawing(toy(1), 2)]
    right, wrong = (audited(one, problems, explain=False) for one in (trees.together, trees.shares_parents))
    assert right.verdict == "holds" and wrong.verdict == "refuted"
    assert "up to 64 requests a call" in right.scope.says
    assert "several requests in one call" not in right.not_examined
    refuted = [e for e in wrong.evidence if e.refuted and e.claim in wrong.claims]
    assert {e.claim for e in refuted} == {"batch"} and {e.problem for e in refuted} == {
        OTHERS, RAGGED, MANY_RAGGED, SLOT,
    }  # fmt: skip
    assert all(e.witness.parents for e in refuted) and '"drafting"' in refuted[0].replay
