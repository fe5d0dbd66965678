"""Which positions a problem decides is read off its rows, and the scope says no more."""

import itertools

import pytest

from draftproof.benchmarks.choose_wide_battery import MANY_IDS, many_ids
from draftproof.models.battery import drawn, toy
from draftproof.models.errors import InputError
from draftproof.models.long_blocks import LENGTHS, LENGTHS_APART, apart, together
from draftproof.models.wide import DRAFTED_IDS, wide, wide_from
from draftproof.proofs.laws.law import decided_together
from draftproof.reports.audits.positions import ALONE, PAIRS, TOGETHER, how_decided

pytestmark = pytest.mark.exact


def decides(positions, gamma, wanted):
    """Return whether a report's scope has these positions of blocks of gamma tokens decided together."""
    return any(set(wanted) <= set(one) for one in positions.get(str(gamma), ()))


def decided(problem):
    if hasattr(problem, "live"):
        return decided_together(problem.prefixes(problem.gamma), problem.target_row, problem.draft_row)
    return decided_together(problem.prefixes(problem.gamma), problem.target.row, problem.draft.row)


def test_positions_at_which_both_rows_are_equal_are_not_decided_and_none_is_behind_a_sure_rejection():
    assert decided(toy(3)) == [[0, 1, 2]] and decided(drawn(3, 2, "equal")) == []
    assert set(decided(drawn(2, 3, "one-hot-target"))[0]) <= {0, 1, 2}
    assert decided(wide(8, 12)) == [[0, 6, 11]]
    certain = wide_from({"vocabulary": 8, "gamma": 2, "wide": {"kind": "few", "live": [[0], [1]], "agree": [0]}})
    assert decided(certain) == [[1]]


def test_every_position_is_decided_by_itself_or_with_the_next_one_and_a_multiple_of_every_distance():
    for gamma in LENGTHS:
        assert decided(together(gamma)) == [[*range(gamma)]]
        assert decided(apart(gamma, pairs=False)) == [[k] for k in range(gamma)]
    for seed in (0, 7):
        for gamma in LENGTHS_APART:
            sets = decided(apart(gamma, seed))
            pairs = {(a, b) for one in sets for a in one for b in one if a < b}
            assert all((k, k + 1) in pairs for k in range(gamma - 1))
            met = {b - a for a, b in pairs}
            assert all(any(d % k == 0 for d in met) for k in range(1, gamma))
            assert how_decided(gamma, sets) == PAIRS
    assert decided(apart(64, 0)) != decided(apart(64, 1))


def test_what_is_decided_is_told():
    positions = {"3": [[0, 1, 2]], "6": [[0], [1], [2], [3], [4], [5]], "7": [[0, 3], [3, 6]], "9": []}
    positions["8"] = [[k, k + 1] for k in range(7)] + [[0, 7]]
    assert [how_decided(int(g), s) for g, s in positions.items()] == [
        TOGETHER, ALONE, "positions 0, 3, 6", "no position", PAIRS,
    ]  # fmt: skip
    assert decides(positions, 3, {0, 2}) and decides(positions, 8, {0, 7}) and decides(positions, 7, [3])
    assert not decides(positions, 7, {0, 6}) and not decides(positions, 5, {0}) and not decides(positions, 6, {0, 1})


def test_the_usual_special_ids_can_be_drafted_at_wide_vocabularies():
    for v in MANY_IDS:
        (live,) = many_ids(v).live
        assert {i for i in DRAFTED_IDS if i < v} | {v - 1} | {1 << k for k in range(18) if 1 << k < v} <= set(live)
        assert decided(many_ids(v)) == [[0]]
        ids = list(live)
        ratios = many_ids(v).target_row(())[ids] / many_ids(v).draft_row(())[ids]
        bounds = (0.0, 0.1, 0.3, 0.45, 0.6, 0.9, 1.0, 1.3)  # a mistake can need that a token is so much likelier
        assert all(((low < ratios) & (ratios < high)).any() for low, high in itertools.pairwise(bounds))
    problem = many_ids(32_000)
    assert sorted(problem.target_row((0,)))[-2:] == [0.0, 1.0]


@pytest.mark.parametrize(("live", "departures"), [([[0], [1, 2]], [[1]]), ([[0, 1], [1]], [[0], []])])
def test_departures_are_later_positions_of_a_block_with_one_token_or_two_at_each(live, departures):
    with pytest.raises(InputError, match="departures must be a list of 2 lists of later positions"):
        wide_from({"vocabulary": 8, "gamma": 2, "wide": {"kind": "few", "live": live, "departures": departures}})
