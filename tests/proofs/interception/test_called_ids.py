"""The ids of rows that calls lead to: all of a short row, and of a long one together most over all draft blocks."""

from collections import Counter

import numpy as np

from draftproof.models.battery import toy
from draftproof.models.wide import wide_battery
from draftproof.proofs.interception.called_ids import TURNS, CalledIds
from draftproof.proofs.interception.row_draws import RowDraw
from draftproof.proofs.sandbox import Sandbox

ENDS = {0, 1, 127, 128, 129, 255, 256, 257}


def called(name):
    """The ids that each draft block calls of a row of all ids of a problem."""
    problem = next(p for p in wide_battery() if p.name == name)
    row = RowDraw(np.ones(problem.vocabulary), 5, 0, lambda index, point: index)
    count, met = problem.count(problem.gamma), Counter()
    for number, block in enumerate(problem.prefixes(problem.gamma)):
        ids = CalledIds(problem.vocabulary, block, number, count, number, False, met=met)
        ids.take_turn(1)
        yield problem, {*ids.of(row)}


def test_every_id_of_a_short_row_is_called_on_one_draft_block_or_another():
    for name, most in (("wide-dense-draft-V70-gamma1", 60), ("wide-dense-V1003-gamma2", 320)):
        problems, ids = zip(*called(name), strict=True)
        assert set.union(*ids) == {*range(problems[0].vocabulary)} - {5}
        assert max(map(len, ids)) < most


def test_every_id_is_called_where_there_is_one_draft_block_or_the_row_is_of_few():
    row = RowDraw(np.ones(1003), 5, 0, lambda index, point: index)
    assert {*CalledIds(1003, (0,), 0, 1, 0, False).of(row)} == {*range(1003)} - {5}
    for _, ids in called("wide-dense-V9-gamma2"):
        assert ids == {*range(9)} - {5}


def test_rows_of_many_draft_blocks_share_all_ids_and_some_have_every_special_one():
    ids = [each for _, each in called("wide-near-draft-V2000-gamma1")]
    assert len(set.union(*ids)) > 0.6 * 2000 and max(map(len, ids)) < 60
    assert sum(each >= ENDS for each in ids) >= len(ids) // TURNS


def test_of_the_rows_after_equally_many_tokens_the_first_of_four_has_every_special_id():
    """Over the largest vocabularies too: once only the row behind a whole draft had them."""
    row, met, full = RowDraw(np.ones(200_000), 5, 0, lambda index, point: index), Counter(), {}
    for number in range(2):
        ids = CalledIds(200_000, (7,), 0, 2, number, False, met=met)
        for before in (3, 1, 2, 1, 1, 1):
            ids.take_turn(before)
            full.setdefault(before, []).append({*ids.of(row)} >= ENDS | {65_535, 65_536, 65_537})
            assert (ids.replays is None) == full[before][-1]
    assert full == {3: [True, False], 2: [True, False], 1: [True, False, False, False, True, False, False, False]}


ASKS = """
import os
from draftproof.tests.subjects.wide import by_search

def verify(target_probs, draft_probs, draft_tokens, rng):
    emitted = by_search(target_probs, draft_probs, draft_tokens, rng)
    os.environ.get(f"{int(draft_tokens[0])} and {len(emitted) - 1} accepted")
    return emitted
"""


def test_every_path_is_called_with_plain_numbers_and_what_it_asks_is_noted(tmp_path):
    problem = next(p for p in wide_battery() if p.name == "wide-ids-V32000-gamma1")
    subject = tmp_path / "subject.py"
    subject.write_text(ASKS, encoding="utf-8")
    with Sandbox(f"{subject}:verify") as child:
        child.start([toy(1)])
        laws = [answer["law"] for answer in child.law(problem) if "law" in answer]
        asked = {read["key"] for read in child.surroundings()["reads"]}
    target, draft = problem.target_row(()), problem.draft_row(())
    rejected = [x for x in problem.live[0] if target[x] < draft[x]]
    paths = {f"{x} and 1 accepted" for x in problem.live[0]} | {f"{x} and 0 accepted" for x in rejected}
    assert None not in laws and len(laws) == 19 and len(rejected) > 5
    assert {name for name in asked if name.endswith("accepted")} >= paths
