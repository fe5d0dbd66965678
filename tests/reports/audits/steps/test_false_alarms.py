"""Rates of false alarms on recordings of right loops, by simulation."""

from math import log

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.reports.audits.steps.purses import CLAIMS, SHARE
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT

from .recordings import judge_of, record
from .tree_recordings import record_trees

pytestmark = pytest.mark.simulation

RIGHT = (("C10", "token"), ("C04", "block"), ("C02", "equality"), ("C06", "token"), ("C05", "block"))
RIGHT_TREES = (
    ("D01", "spec-infer", IID), ("D01", "spec-infer", WITHOUT_REPLACEMENT), ("D04", "naive", IID),
    ("D02", "without-replacement", WITHOUT_REPLACEMENT), ("D06", "traversal", WITHOUT_REPLACEMENT),
    ("D03", "top-tokens", TOP),
)  # fmt: skip
RECORDINGS, STEPS, TREES = 300, 80, 30


def highest(folder, verify, rule, seed, how=None):
    """Log of the largest fortune of any claim, each with its share of the rate of false alarms."""
    dtype = ("float64", "float32")[seed % 2]
    if how is None:
        record(folder, verify, steps=STEPS, rule=rule, seed=seed, vocabulary=60, dtype=dtype)
    else:
        record_trees(folder, verify, TREES, rule, how, seed, dtype=dtype)
    judge = judge_of(folder, seed=seed)
    groups = [g.fortune.highest + log(g.betting.alpha / SHARE) for g in judge.groups.purses.values()]
    tokens = [f.highest - log(2) for purse in (judge.texts, judge.drafts) for f in purse.fortunes]
    return max(judge.steps.fortune.highest, *groups, *tokens) - log(len(CLAIMS))


@pytest.fixture(scope="module", params=["chains", "trees"])
def fortunes(request, tmp_path_factory):
    folder, found = tmp_path_factory.mktemp("right"), []
    loops = RIGHT if request.param == "chains" else RIGHT_TREES
    for k in range(RECORDINGS):
        verify, rule, *how = loops[k % len(loops)]
        found.append(highest(folder / str(k), verify, rule, k, *how))
    return np.array(found)


@pytest.mark.parametrize("alpha", [1e-3, 0.01, 0.05, 0.2])
def test_right_loops_are_refuted_no_more_often_than_the_level_allows(fortunes, alpha):
    alarms = int((fortunes >= log(1 / alpha)).sum())
    assert alarms <= binom.ppf(0.999, RECORDINGS, alpha)


def test_wrong_loops_are_refuted_at_that_level(tmp_path):
    assert all(highest(tmp_path / str(k), "M11", "token", k) >= log(1e3) for k in range(5))
