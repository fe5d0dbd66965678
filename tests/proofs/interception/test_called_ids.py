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


def of_turns(vocabulary, befores=(3, 1, 2, 1, 1, 1), blocks=2):
    """Tokens before a row -> the ids that the rows there call, of so many draft blocks, and how often each replays."""
    row, met, found = RowDraw(np.ones(vocabulary), 5, 0, lambda index, point: index), Counter(), {}
    for number in range(blocks):
        ids = CalledIds(vocabulary, (7,), 0, blocks, number, False, met=met)
        for before in befores:
            ids.take_turn(before)
            found.setdefault(before, []).append(({*ids.of(row)}, ids.replays))
    return found


def test_of_the_rows_after_equally_many_tokens_the_first_of_four_has_special_ids():
    """Over the largest vocabularies too: once only the row behind a whole draft had them."""
    for vocabulary in (90_000, 200_000):
        for before, rows in of_turns(vocabulary, blocks=4).items():
            first, *others = [{65_535, 65_536, 65_537} <= ids for ids, _ in rows]
            assert first and [replays is None for _, replays in rows] == [first, *others], before
            assert others == [k % TURNS == 0 for k in range(1, len(rows))]


def test_special_ids_of_smaller_vocabularies_take_turns_over_the_rows_of_the_largest():
    """After each number of tokens a row has one id or two of any three neighbours, and after one more the others."""
    smaller = {before: rows[0][0] for before, rows in of_turns(90_000).items()}
    assert all(ids >= ENDS for ids in smaller.values())
    largest = {before: rows[0][0] for before, rows in of_turns(200_000).items()}
    for power in (7, 8, 10, 12):
        three = {(1 << power) - 1, 1 << power, (1 << power) + 1}
        assert all(0 < len(ids & three) < 3 for ids in largest.values()), power
        assert largest[1] | largest[2] >= three and largest[2] | largest[3] >= three


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
