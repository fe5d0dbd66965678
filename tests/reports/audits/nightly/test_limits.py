"""A night says what it would have seen, and would have."""

import numpy as np
import pytest

from draftproof.models.battery import drawn
from draftproof.reports.audits.nightly.checks import CheckCounts, check_of, law_of
from draftproof.reports.audits.nightly.detection import MISS_RATE, NIGHT_HORIZONS, detection_limits
from draftproof.reports.audits.nightly.states import check_states
from draftproof.reports.audits.nightly.status import status
from draftproof.reports.pages.nightly.page import page
from draftproof.reports.pages.nightly.summary import limits, variation
from draftproof.stattests.anytime import min_detectable_anytime
from draftproof.stattests.eprocess import cohort_alpha
from draftproof.tests.reports.audits.nightly.parts import night_of

pytestmark = pytest.mark.needs("sqlalchemy")

DRAWS = 20_000


def a_cohort(history):
    """Eight checks of two sizes, and their numbers."""
    problems = [drawn(*size, "generic", seed) for size in ((3, 1), (2, 3)) for seed in range(4)]
    checks = [check_of(problem, False) for problem in problems]
    return dict(zip(history.enrol("someone.py:f", "sha256:00", checks), checks))


def night(history, checks, day, rng, laws=None):
    for number, check in checks.items():
        law = laws[number] if laws else check.law
        history.record(number, check, night_of(day), day, CheckCounts(rng.multinomial(DRAWS, law), None))


def states(history):
    return {state.name for state in check_states(history.rows(), history.lifetime_alpha).values()}


def moved(law, size):
    """The law at a total variation of ``size`` from the right one, every cell changed by the same factor."""
    rows = law[:-1]
    up = np.argsort(rows)[::2]
    share = rows[up].sum()
    broken = rows * (1 - size / (1 - share))
    broken[up] = rows[up] * (1 + size / share)
    return np.array([*broken, 0.0])


@pytest.mark.parametrize(("within", "clean"), [(NIGHT_HORIZONS[0], 12), (NIGHT_HORIZONS[1], 1)])
def test_a_deviation_at_the_stated_limit_is_in_alarm_within_the_stated_nights(history, within, clean):
    rng, checks = np.random.default_rng([within, clean]), a_cohort(history)
    for day in range(1, clean + 1):
        night(history, checks, day, rng)
    before = {check["id"]: check for check in status(history)["checks"]}
    assert {check["state"] for check in before.values()} == {"quiet"}
    stated = {}
    for number, check in before.items():
        (stated[number],) = [x["total_variation"] for x in check["detects"]["within"] if x["nights"] == within]
    broken = {number: moved(check.law, stated[number]) for number, check in checks.items()}
    for number, law in broken.items():
        assert abs(law - checks[number].law).sum() / 2 == pytest.approx(stated[number])
    for day in range(clean + 1, clean + 1 + within):
        night(history, checks, day, rng, broken)
    assert states(history) == {"alarm"}


def test_a_deviation_far_below_the_stated_limit_goes_unseen_so_the_limit_says_something(history):
    rng, checks = np.random.default_rng(9), a_cohort(history)
    night(history, checks, 1, rng)
    stated = {check["id"]: check["detects"]["within"][0]["total_variation"] for check in status(history)["checks"]}
    night(history, checks, 2, rng, {number: moved(check.law, stated[number] / 4) for number, check in checks.items()})
    assert "alarm" not in states(history)


@pytest.mark.parametrize(("nights", "cohort", "checks"), [(1, 1, 1), (7, 2, 7), (200, 9, 400)])
def test_the_stated_limit_is_that_of_the_test_at_its_share_of_the_budget_and_a_little_larger(nights, cohort, checks):
    law = law_of(check_of(drawn(3, 1, "generic"), False).parameters)
    stated = detection_limits(law, DRAWS, nights, cohort, checks, 1e-3)
    assert (stated["draws_a_night"], stated["miss_rate"]) == (DRAWS, MISS_RATE)
    for limit in stated["within"]:
        share = cohort_alpha(1e-3, cohort)
        exact = min_detectable_anytime(DRAWS, law, limit["nights"], share, MISS_RATE, checks, nights + 1)
        assert exact <= limit["total_variation"] < 1.05 * exact


def test_a_version_shows_the_limit_of_the_check_that_sees_least_rounded_up():
    def check(one, seven):
        within = [{"nights": 1, "total_variation": one}, {"nights": 7, "total_variation": seven}]
        return {"detects": {"draws_a_night": 1, "miss_rate": MISS_RATE, "within": within}}

    assert limits([check(0.02, 0.0101), check(0.0301, 0.01)]) == "0.031 / 0.011"
    assert variation(1.0) == "nothing"
    assert limits([{"detects": None}]) == "-"


def test_a_check_without_draws_states_no_limit(history):
    a_cohort(history)
    report = status(history)
    assert {check["detects"] for check in report["checks"]} == {None}
    assert "No sample was drawn so far" in page(report) and "was noticed" not in page(report)
