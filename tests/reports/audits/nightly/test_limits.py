"""A night says what it would have seen: the limit of its test, whose miss rate tests/stattests holds."""

import pytest

from draftproof.models.battery import drawn
from draftproof.reports.audits.nightly.checks import check_of, law_of
from draftproof.reports.audits.nightly.detection import MISS_RATE, detection_limits
from draftproof.reports.audits.nightly.status import status
from draftproof.reports.pages.nightly.page import page
from draftproof.reports.pages.nightly.summary import limits, variation
from draftproof.stattests.anytime import min_detectable_anytime
from draftproof.stattests.eprocess import cohort_alpha
from draftproof.tests.reports.audits.nightly.parts import a_check, recorded

pytestmark = pytest.mark.needs("sqlalchemy")

DRAWS = 20_000


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


def test_a_check_states_the_limit_of_its_own_draws_and_one_without_draws_none(history):
    history.enrol("another.py:f", "sha256:00", [a_check()])
    report = status(history)
    assert {check["detects"] for check in report["checks"]} == {None}
    assert "No sample was drawn so far" in page(report) and "was noticed" not in page(report)
    _, check = recorded(history, 3)
    own = detection_limits(law_of(check.parameters), 2000, 3, 2, 1, history.lifetime_alpha)
    assert [check["detects"] for check in status(history)["checks"]] == [None, own]
