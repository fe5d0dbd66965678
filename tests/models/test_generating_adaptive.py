"""Adaptive gamma: the formula, what it is fed, and that the loop follows it."""

from itertools import product

import pytest

from draftproof.models.errors import InputError
from draftproof.models.generating.draft_length import Adaptive, DraftLength, best_gamma
from draftproof.models.generating.result import Iteration
from draftproof.proofs import closed_forms


def test_the_best_gamma_is_that_of_the_closed_forms_wherever_speculating_pays():
    cases = list(product([0.0, 0.05, 0.3, 0.5, 0.8, 0.9, 0.99], [0.01, 0.05, 0.2, 0.5, 1.0], [1, 4, 12]))
    best = [(best_gamma(*case), closed_forms.best_gamma(*case)) for case in cases]
    assert all(found == max(expected, 1) for found, expected in best)
    assert {expected for _, expected in best} > {0, 1, 4, 12}


def test_what_is_measured_is_the_share_of_tried_tokens_accepted_and_the_ratio_of_times_a_step():
    pace = DraftLength(Adaptive(longest=8, first=3))
    assert pace.gamma() == 3
    # tau = 1 of 3: one accepted, two tried; tau = 3 of 3: three and three.
    pace.observe(Iteration(3, (0, 1), (1, 3), (2, 4), draft_seconds=0.3, target_seconds=1.0))
    assert pace.alpha == (1 + 4) / (2 + 5)
    assert pace.cost(None) == pytest.approx(0.1)
    assert pace.gamma() == closed_forms.best_gamma(5 / 7, pace.cost(None), 8)
    pace.observe(Iteration(1, (0,), (0,), (1,), draft_seconds=0.1, target_seconds=3.0))
    assert pace.alpha == (1 + 4) / (2 + 6)
    assert pace.cost(None) == pytest.approx((0.4 / 4) / (4.0 / 2))
    assert DraftLength(5).gamma() == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first": 0}, "first 0 and longest 8, expected 1 <= first <= longest"),
        ({"longest": 3}, "first 4 and longest 3"),
        ({"cost": 0.0}, "cost 0.0, expected a positive number or none"),
    ],
)
def test_a_pace_that_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        Adaptive(**options)
