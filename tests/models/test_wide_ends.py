"""Over each wide vocabulary of an audit both ends are emitted where a token is rejected, and after a whole block."""

import pytest

from draftproof.models.wide import LEAST_EXCHANGED, WideProblem, ends, wide_battery

BATTERY = wide_battery()
SIZES = sorted({p.vocabulary for p in BATTERY if p.vocabulary >= LEAST_EXCHANGED})


def after_rejections(problem):
    """What of the law the first and the last token have as replacement of a rejected one."""
    target, draft = problem.target_row(()), problem.draft_row(())
    over = (target - draft).clip(min=0.0)
    rejected = sum(max(draft[x] - target[x], 0.0) for x in problem.drafted(()))
    return rejected * over[[0, -1]] / over.sum()


@pytest.mark.parametrize("vocabulary", SIZES)
def test_neither_end_is_drafted_and_each_has_much_of_what_replaces_a_rejected_token(vocabulary):
    problem = ends(vocabulary)
    assert problem in BATTERY and not {0, vocabulary - 1} & {*problem.drafted(())}
    assert after_rejections(problem).min() > 0.2
    assert problem.target_row(problem.live[0][:1])[[0, -1]].tolist() == [0.375, 0.625]


def test_ends_that_are_drafted_are_left_to_the_tokens_between():
    row = WideProblem(12, 1, "ends", ((0, 11),)).target_row(())
    assert row.sum() == pytest.approx(1.0) and (row > 0).nonzero()[0].tolist() == [0, 4, 11]
