"""Wide problems with entries of rows in each other's place: what a cache could know a row by is as it was, the row is
not."""

import numpy as np
import pytest

from draftproof.benchmarks.choose_wide_battery import choose
from draftproof.models.wide import LEAST_EXCHANGED, exchanged, wide_battery

BATTERY = wide_battery()
PAIRS = {p.vocabulary: (p, exchanged(p)) for p in BATTERY if exchanged(p) in BATTERY}


def test_each_vocabulary_of_an_audit_has_such_a_pair_the_original_first():
    assert PAIRS.keys() == {p.vocabulary for p in BATTERY if p.vocabulary >= LEAST_EXCHANGED}
    assert all(BATTERY.index(p) < BATTERY.index(twin) for p, twin in PAIRS.values())
    assert choose() == BATTERY


@pytest.mark.parametrize("vocabulary", PAIRS)
def test_rows_agree_in_what_they_may_be_remembered_by_and_differ_elsewhere(vocabulary):
    problem, twin = PAIRS[vocabulary]
    v, sums = problem.vocabulary, []
    for prefix in ((), tuple(tokens[0] for tokens in problem.live)):
        row, other = problem.target_row(prefix), twin.target_row(prefix)
        differ = np.flatnonzero(row != other)
        strides = [*range(2, 37 if v >= 1000 else 17), *(s for s in (49, 64, 100, 128, 1000, 1024, 4096) if s < v)]
        assert all((row[::s] == other[::s]).all() for s in strides)
        assert all((row[s - 1 :: s] == other[s - 1 :: s]).all() for s in (8, 16, 64) if s < v)
        assert all((row[::-s] == other[::-s]).all() for s in (8, 64, 1000))
        assert v // 4 <= differ[0] and differ[-1] < v - v // 4
        tied = problem.kind == "ties" and len(prefix) == problem.gamma  # of which all are the largest
        assert tied or (row.argmax(), row.max()) == (other.argmax(), other.max())
        assert ((row > 0).sum(), row.sum()) == ((other > 0).sum(), pytest.approx(other.sum(), abs=1e-15))
        sums.append(row.sum() == other.sum())
        assert np.abs(row - other).sum() / 2 > 1e-3 and len(differ) >= 4
        if len(prefix) < problem.gamma:
            assert (problem.draft_row(prefix) == twin.draft_row(prefix)).all()
            live = list(problem.live[len(prefix)])
            assert (row[live] == other[live]).all()
    assert any(sums), "to the last bit, of one of the rows"
