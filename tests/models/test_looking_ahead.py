"""What is said of a decision that looks ahead is a lower bound of the total variation, if it is made at one place."""

from functools import partial

import numpy as np
import pytest

from draftproof.benchmarks.drawn_deceivers.widths import FloatRows, total_variation
from draftproof.models.battery import drawn, toy
from draftproof.models.looking_ahead import AHEAD, OF_TOKENS, SURE, cells, looking_ahead
from draftproof.models.path_rows import MOST_BLOCKS, path_battery, paths
from draftproof.models.regions import VISIBLE

pytestmark = pytest.mark.exact


def margin(row):
    return float(np.subtract(*np.sort(row)[[-1, -2]]))


PROBLEMS = [drawn(2, 3, "generic"), drawn(3, 2, "generic"), paths(2, 4, 89), paths(3, 2, 50)]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_decision_that_looks_ahead_at_one_place_moves_the_law_at_least_as_far_as_is_said(problem):
    """Token i is not verified where a later row is sure of a token: where it says nothing, the law is the target's."""
    rows, found, moved = FloatRows.of(problem), looking_ahead(problem), 0
    gamma = problem.gamma
    for _, model, _, i, j in (c for c in cells() if c[0] == f"{AHEAD}: one row" and c[2] == gamma):

        def width(prefix, target, draft, tokens, model=model, i=i, j=j):
            row = {"target": target, "draft": draft}[model][j]
            return i - 1 if tuple(tokens[: i - 1]) == prefix and margin(row) > SURE else gamma

        wrong = max(total_variation(rows, partial(width, prefix)) for prefix in problem.prefixes(i - 1))
        effect = found.get((f"{AHEAD}: one row", model, gamma, i, j), 0.0)
        assert wrong >= effect * (1 - 1e-9) - VISIBLE
        assert (wrong > VISIBLE) == (effect > VISIBLE)
        moved += effect > VISIBLE
    assert moved >= 2


def test_a_decision_by_rows_that_are_the_same_behind_all_tokens_has_no_effect():
    seen = {name[1] for name, effect in looking_ahead(toy(3)).items() if effect > VISIBLE}
    assert seen == {"acceptance", *OF_TOKENS}
    assert looking_ahead(drawn(3, 1, "generic")) == {}


def test_problems_of_paths_have_few_blocks():
    for problem in path_battery():
        rows = FloatRows.of(problem).draft
        blocks = [x for x in problem.prefixes(problem.gamma) if all(rows[x[:n]][t] for n, t in enumerate(x))]
        assert 2 <= len(blocks) <= MOST_BLOCKS + problem.gamma, problem.name
