"""Races in plain Python over a whole vocabulary: the best score so far against the next one, again and again."""

from pathlib import Path

import numpy as np
import pytest

from draftproof.models.battery import toy
from draftproof.models.wide import wide
from draftproof.proofs.interception.noise_rows import levels, same_at_levels
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.tests.subjects import race_loops

pytestmark = pytest.mark.interception

SIZE = 1103
"""Of a vocabulary in which not every token is called."""


@pytest.fixture(scope="module")
def box():
    with Sandbox("", timeout=600) as box:
        yield box


def law_of(box, name, kind="dense", size=SIZE):
    box.load(f"{Path(race_loops.__file__)}:{name}", [toy(1)])
    problem = wide(size, 1, kind)
    return measured_wide(problem, box.dtype, box.law(problem))


@pytest.mark.parametrize("name", ["gumbel", "gumbel_of_numpy", "divided", "smallest", "by_max", "two_levels"])
def test_a_right_race_has_its_law_to_rounding(box, name):
    law = law_of(box, name)
    assert law.known and law.lossless.verdict == "holds", law.reason
    assert law.lossless.size < 1e-13
    assert law.called < SIZE


LONG = [pytest.param("smallest", kind, marks=pytest.mark.long) for kind in ("tails", "zeros")]


@pytest.mark.parametrize(("name", "kind"), [("smallest", "peaked"), ("below_the_next", "tails"), *LONG])
def test_so_it_has_where_most_of_the_row_weighs_next_to_nothing(box, name, kind):
    law = law_of(box, name, kind)
    assert law.known and law.lossless.verdict == "holds", law.reason


@pytest.mark.parametrize(("name", "least"), [("powers", 1e-3), ("doubled", 5e-3), ("without_the_last", 0.1)])
def test_a_wrong_race_is_refuted_by_its_law(box, name, least):
    law = law_of(box, name)
    assert law.known and law.lossless.verdict == "refuted" and law.lossless.size > least


WITHOUT_LAW = [
    "capped", "logistic", "one_fixed", "one_that_stays", "one_in_turn", "the_one_before", "next_passed_over",
    "by_a_margin", "a_close_one_before", "better_in_vain", "bent_between_levels",
]  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT_LAW)
def test_what_is_no_race_or_depends_on_who_was_ahead_is_never_cleared(box, name):
    law = law_of(box, name)
    assert not law.known and law.reason


@pytest.mark.parametrize(
    ("name", "kind", "size"),
    [
        ("two_levels_of_a_likely_winner", "dense", 1503),
        ("a_floor_for_one", "peaked", 1503),
        ("a_fallback_that_rises", "dense", 1203),
    ],
)
def test_what_few_contestants_do_where_they_are_likely_or_the_others_late_is_seen(box, name, kind, size):
    law = law_of(box, name, kind, size)
    assert not law.known and law.reason


def test_a_contestant_that_passes_the_leaders_score_elsewhere_is_seen_at_the_levels():
    weights = np.array([1.0, 0.3, 0.05])
    at = levels(weights) / weights.sum()
    assert same_at_levels(lambda noise: weights / noise, weights, 0, 2e-13, 0.0, at)
    assert not same_at_levels(lambda noise: weights / np.maximum(noise, [0, 0, 1e-4]), weights, 0, 2e-13, 0.0, at)
    assert not same_at_levels(lambda noise: weights / noise, weights * [1, 1, 1 + 1e-9], 0, 2e-13, 0.0, at)
