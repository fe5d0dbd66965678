"""The statistical route in every precision: rounding is no refutation, a deviation beyond it is."""

from collections import Counter

import numpy as np
import pytest

from draftproof.models.battery import drawn
from draftproof.models.rationals import as_float
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import joint_law
from draftproof.proofs.laws.small_law import Measurement
from draftproof.proofs.rounding.rounding_allowed import sampling_slack
from draftproof.reports.audits import completed_law as completed
from draftproof.reports.audits.functions.samples import goodness
from draftproof.stattests.rounding import deviation
from draftproof.verifiers.evidence import NO_EVIDENCE, REFUTED

GENERIC, MIXED = drawn(3, 2, "generic"), drawn(3, 2, "mixed")
DTYPES = "float64", "float32", "bfloat16"


def completed_law(problem):
    return {o: as_float(p) for o, p in joint_law(in_field(problem).target, problem.gamma + 1).items()}


def found_of(problem, dtype, law, n=20_000, seed=1, strange=0):
    """The evidence of counts drawn from a law of completed outputs, and of so many that are no output."""
    row = np.array([*law.values()])
    draws = np.random.default_rng(seed).multinomial(n, row / row.sum())
    counts = +Counter(dict(zip(law, draws.tolist(), strict=True))) + Counter({(7,): strange})
    return goodness(Measurement(problem, in_field(problem), dtype=dtype), counts, 1e-6, 0)


def evidence(dtype, size, **how):
    """The evidence of a law off the target's by a total variation of ``size``, between the two likeliest sequences."""
    law = completed_law(GENERIC)
    second, first = sorted(law, key=law.get)[-2:]
    return found_of(GENERIC, dtype, law | {first: law[first] + size, second: law[second] - size}, 200_000, **how)


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_each_precision_what_is_right_holds_and_a_deviation_at_the_limit_or_no_output_is_refuted(dtype):
    right, slack = evidence(dtype, 0.0), sampling_slack(in_field(GENERIC), dtype)
    assert right.verdict == NO_EVIDENCE and right.detail.rounding_allowed == slack < right.bound
    assert (slack > 0) == (dtype != "float64")
    assert evidence(dtype, right.bound).verdict == evidence(dtype, 0.0, strange=1).verdict == REFUTED


def test_what_rounding_explains_is_refuted_where_there_is_no_such_rounding():
    slack = sampling_slack(in_field(GENERIC), "bfloat16")
    assert [evidence(dtype, 0.8 * slack).verdict for dtype in DTYPES] == [REFUTED, REFUTED, NO_EVIDENCE]
    # The gate is a bound on the true distance: the one that was seen is beyond the allowance half of the time.
    assert {evidence("bfloat16", slack, seed=seed).verdict for seed in range(5)} == {NO_EVIDENCE}


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_large_outcome_that_changes_places_with_a_rare_one_is_refuted(dtype):
    """Seven outcomes near 1e-6, which in one cell with the one of 0.273 would take all of it unseen."""
    law = completed_law(MIXED)
    found = found_of(MIXED, dtype, law | {(2, 0, 0): law[2, 1, 0], (2, 1, 0): law[2, 0, 0]})
    assert law[2, 0, 0] > 0.27 > 1e-5 > law[2, 1, 0]
    assert found.verdict == REFUTED and found.detail.total_variation_at_least > 0.2
    assert found_of(MIXED, dtype, law).verdict == NO_EVIDENCE


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_at_the_limit_impossible_outcomes_and_a_shift_of_the_others_are_refuted_together(part):
    """part: how much of what rounding may do is on an outcome of probability 0."""
    law = completed_law(MIXED)
    never = next((a, b, c) for a in range(3) for b in range(3) for c in range(3) if not law.get((a, b, c)))
    limit, away = found_of(MIXED, "bfloat16", law).bound, part * sampling_slack(in_field(MIXED), "bfloat16")
    least, most = sorted(law, key=law.get)[-2:]
    wrong = law | {never: away, least: law[least] + limit - away, most: law[most] - limit}
    assert sum(abs(wrong[o] - law.get(o, 0)) for o in wrong) / 2 == pytest.approx(limit) and limit < 0.12
    assert {found_of(MIXED, "bfloat16", wrong, seed=k).verdict for k in range(5)} == {REFUTED}


def test_the_routes_of_one_problem_share_its_rate_of_false_alarms(monkeypatch):
    """A p-value between a share and the whole is no refutation: what is seen has been multiplied by the routes."""
    seen = []
    monkeypatch.setattr(completed, "deviation", lambda *given: seen.append(deviation(*given)) or seen[-1])
    for dtype, routes in (("float64", 2), ("bfloat16", 4)):
        found = evidence(dtype, 0.002).detail
        assert found.p_value == pytest.approx(min(1.0, routes * seen[-1].fit.p_value))
        assert (found.false_alarm_rate, seen[-1].share) == (1e-6, 1e-6 / routes)
