"""Detection limits hold: nearly every recording of a fault is refuted by its limit."""

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.reports.audits.steps.judge import RecordingJudge
from draftproof.reports.audits.steps.progress import judge_all

from .simulated_limits import PILOTS, POPULATION, RECORDINGS, TRAFFIC, World

pytestmark = pytest.mark.usefixtures("simulated")

FAULTS = "M11", "M30", "token 1 accepted whatever the rows say", "bonus token at 0.5 times the temperature"


def least_share(comparisons):
    """The share of recordings below which none of so many faults falls if each shows with probability .999."""
    return binom.ppf(1e-3 / comparisons, RECORDINGS, 0.999) / RECORDINGS


def test_faults_show_by_their_limits_and_not_by_half_of_them(tmp_path):
    world = World(TRAFFIC["V = 12, gamma 2"], tmp_path, 400)
    limits = world.limits(240, seed=0)
    assert limits["M11"] < 200 < limits["M30"] < 900
    assert "token 5 accepted whatever the rows say" not in limits, "no step has five drafted tokens"
    shares = [world.share(name, limits[name], RECORDINGS) for name in FAULTS]
    assert min(shares) >= least_share(len(FAULTS))
    wrong = world.traffic._replace(control="M30").record(tmp_path / "wrong", np.arange(limits["M30"]) + 1000)
    assert judge_all(RecordingJudge(wrong)).steps.fortune.refuted_at < limits["M30"], "the judge itself"
    assert world.share("M30", limits["M30"] // 2, RECORDINGS) < 0.98, "a limit that is too small is seen"


@pytest.mark.simulation
@pytest.mark.parametrize("count", PILOTS)
@pytest.mark.parametrize("title", TRAFFIC)
def test_every_fault_shows_by_its_limit(title, count, tmp_path):
    world = World(TRAFFIC[title], tmp_path, POPULATION)
    limits = world.limits(count, seed=1)
    assert len(limits) >= 20
    shares = {name: world.share(name, limit, RECORDINGS) for name, limit in limits.items()}
    assert {name: share for name, share in shares.items() if share < least_share(len(limits))} == {}
