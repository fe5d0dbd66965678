"""The statistical route in every precision: rounding is no refutation, a deviation beyond it is."""

from collections import Counter

import numpy as np
import pytest

from draftproof.models.battery import drawn
from draftproof.models.rationals import as_float
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import joint_law
from draftproof.proofs.laws.small_law import Measurement
from draftproof.proofs.rounding.rule import sampling_slack
from draftproof.reports.audits import completed_law as completed
from draftproof.reports.audits.functions.samples import goodness
from draftproof.stattests.rounding import deviation
from draftproof.verifiers.evidence import NO_EVIDENCE, REFUTED

PROBLEM = drawn(3, 2, "generic")


def evidence(dtype, size, n=200_000, seed=1, strange=0):
    """Of completed outputs whose law is off the target's by a total variation of ``size``, between two sequences."""
    exact = in_field(PROBLEM)
    law = {o: as_float(p) for o, p in joint_law(exact.target, PROBLEM.gamma + 1).items()}
    ranked = sorted(law, key=law.get)
    row = np.array([law[o] for o in ranked])
    row[[-1, -2]] += [size, -size]
    draws = np.random.default_rng(seed).multinomial(n, row / row.sum())
    counts = Counter(dict(zip(ranked, draws.tolist(), strict=True)))
    if strange:
        counts[(7,)] = strange
    return goodness(Measurement(PROBLEM, exact, dtype=dtype), counts, 1e-6, 0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_a_right_source_is_not_refuted_in_any_precision(dtype):
    found = evidence(dtype, 0.0)
    assert found.verdict == NO_EVIDENCE
    assert found.detail.rounding_allowed == sampling_slack(in_field(PROBLEM), dtype)
    assert (found.detail.rounding_allowed > 0) == (dtype != "float64")


def test_what_rounding_explains_is_refuted_where_there_is_no_such_rounding():
    size = 0.8 * sampling_slack(in_field(PROBLEM), "bfloat16")
    assert [evidence(dtype, size).verdict for dtype in ("float64", "float32", "bfloat16")] == [
        REFUTED, REFUTED, NO_EVIDENCE,
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_all_that_rounding_may_do_and_chance_besides_are_no_refutation(seed):
    """The gate is a bound on the true distance: the distance that was seen is beyond the allowance half of the time."""
    assert evidence("bfloat16", sampling_slack(in_field(PROBLEM), "bfloat16"), seed=seed).verdict == NO_EVIDENCE


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_a_deviation_at_the_limit_that_is_told_is_refuted(dtype):
    limit = evidence(dtype, 0.0).bound
    assert limit > sampling_slack(in_field(PROBLEM), dtype)
    assert evidence(dtype, limit).verdict == REFUTED


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_what_is_no_output_is_refuted_in_every_precision(dtype):
    assert evidence(dtype, 0.0, strange=1).verdict == REFUTED


def found_of(problem, dtype, row, n=20_000, seed=1):
    """The evidence of counts drawn from a law of completed outputs: sequence -> probability."""
    exact = in_field(problem)
    draws = np.random.default_rng(seed).multinomial(n, list(row.values()))
    counts = Counter(dict(zip(row, draws.tolist(), strict=True)))
    return goodness(Measurement(problem, exact, dtype=dtype), +counts, 1e-6, 0)


def completed_law(problem):
    return {o: as_float(p) for o, p in joint_law(in_field(problem).target, problem.gamma + 1).items()}


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_a_large_outcome_that_changes_places_with_a_rare_one_is_refuted(dtype):
    """Seven outcomes near 1e-6, which in one cell with the one of 0.273 would take all of it unseen."""
    law = completed_law(drawn(3, 2, "mixed"))
    found = found_of(drawn(3, 2, "mixed"), dtype, law | {(2, 0, 0): law[2, 1, 0], (2, 1, 0): law[2, 0, 0]})
    assert law[2, 0, 0] > 0.27 > 1e-5 > law[2, 1, 0]
    assert found.verdict == REFUTED
    assert found.detail.total_variation_at_least > 0.2
    assert found_of(drawn(3, 2, "mixed"), dtype, law).verdict == NO_EVIDENCE


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_at_the_limit_impossible_outcomes_and_a_shift_of_the_others_are_refuted_together(dtype, part):
    """part: how much of what rounding may do is on an outcome of probability 0."""
    problem = drawn(3, 2, "mixed")
    law = completed_law(problem)
    never = next((a, b, c) for a in range(3) for b in range(3) for c in range(3) if not law.get((a, b, c)))
    limit, away = found_of(problem, dtype, law).bound, part * sampling_slack(in_field(problem), dtype)
    least, most = sorted(law, key=law.get)[-2:]
    wrong = law | {never: away, least: law[least] + limit - away, most: law[most] - limit}
    assert sum(abs(wrong[o] - law.get(o, 0)) for o in wrong) / 2 == pytest.approx(limit)
    assert limit < 0.12
    assert [found_of(problem, dtype, wrong, seed=k).verdict for k in range(5)] == [REFUTED] * 5


def test_the_routes_of_one_problem_share_its_rate_of_false_alarms(monkeypatch):
    """A p-value between a share and the whole is no refutation: what is seen has been multiplied by the routes."""
    found = evidence("float64", 0.0)
    assert found.detail.false_alarm_rate == 1e-6
    seen = []
    monkeypatch.setattr(
        completed,
        "deviation",
        lambda counts, law, slack, alpha, *rest: seen.append(deviation(counts, law, slack, alpha, *rest)) or seen[-1],
    )
    for dtype, routes in (("float64", 2), ("bfloat16", 4)):
        p_value = evidence(dtype, 0.002).detail.p_value
        assert p_value == pytest.approx(min(1.0, routes * seen[-1].fit.p_value))
        assert seen[-1].share == 1e-6 / routes
