"""The ids of rows that calls lead to, shared by draft blocks: together they leave out none of a short row."""

import numpy as np
import pytest

from draftproof.models.wide import ALL_CALLED, wide_battery
from draftproof.proofs.interception.called_ids import TURNS, CalledIds, turn
from draftproof.proofs.interception.row_draws import RowDraw

ENDS = {0, 1, 127, 128, 129, 255, 256, 257}


def called(problem, blocks, position):
    """The ids that each of the blocks calls of a row of all ids at a position."""
    row = RowDraw(np.ones(problem.vocabulary), 5, 0, lambda index, point: index)
    count = problem.count(problem.gamma)
    for number, block in blocks:
        shared = lambda after, b=block, n=number: turn(problem, b, n, after)  # noqa: E731
        yield {*CalledIds(problem.vocabulary, block, number, count, number, shared, False).of(row, position)}


SHORT = [p for p in wide_battery() if 127 <= p.vocabulary <= ALL_CALLED and not p.exchanged]


@pytest.mark.parametrize("problem", SHORT, ids=lambda p: p.name)
def test_every_id_of_a_short_row_is_called_at_each_position_whichever_token_is_rejected_there(problem):
    blocks = [*enumerate(problem.prefixes(problem.gamma))]
    everything = {*range(problem.vocabulary)} - {5}
    for position in range(problem.gamma):
        for token in problem.live[position]:
            ids = [*called(problem, [b for b in blocks if b[1][position] == token], position)]
            assert set.union(*ids) == everything
            assert all(ENDS & everything | {problem.vocabulary - 1} <= each for each in ids)
    assert set.union(*called(problem, blocks, problem.gamma)) == everything


def test_rows_of_many_draft_blocks_share_all_ids_and_some_have_every_special_one():
    near = next(p for p in wide_battery() if p.name == "wide-near-draft-V2000-gamma1")
    ids = [*called(near, enumerate(near.prefixes(1)), 1)]
    assert len(set.union(*ids)) > 0.6 * near.vocabulary and max(map(len, ids)) < 60
    assert sum(each >= ENDS for each in ids) >= len(ids) // TURNS
    dense = next(p for p in wide_battery() if "dense-draft" in p.name)
    assert set.union(*called(dense, enumerate(dense.prefixes(1)), 0)) == {*range(70)} - {5}
