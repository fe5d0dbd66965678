"""The statistical route in every precision: rounding is no refutation, a deviation beyond it is, and the limit says so."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from draftproof.models.battery import drawn
from draftproof.proofs.laws import as_float, in_field, joint_law
from draftproof.proofs.measurement import Measurement, rounding_allowed
from draftproof.reports.sampling import goodness
from draftproof.verifiers.evidence import NO_EVIDENCE, REFUTED

PROBLEM = drawn(3, 2, "generic")
SETTINGS = SimpleNamespace(seed=0)


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
    return goodness(Measurement(PROBLEM, exact), counts, SETTINGS, 1e-6, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_a_right_source_is_not_refuted_in_any_precision(dtype):
    found = evidence(dtype, 0.0)
    assert found.verdict == NO_EVIDENCE
    assert found.detail["rounding_allowed"] == (0 if dtype == "float64" else rounding_allowed(PROBLEM.gamma, dtype))


def test_what_rounding_explains_is_refuted_where_there_is_no_such_rounding():
    size = 0.8 * rounding_allowed(PROBLEM.gamma, "bfloat16")
    assert [evidence(dtype, size).verdict for dtype in ("float64", "float32", "bfloat16")] == [
        REFUTED, REFUTED, NO_EVIDENCE,
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_all_that_rounding_may_do_and_chance_besides_are_no_refutation(seed):
    """The gate is a bound on the true distance: the distance that was seen is beyond the allowance half of the time."""
    assert evidence("bfloat16", rounding_allowed(PROBLEM.gamma, "bfloat16"), seed=seed).verdict == NO_EVIDENCE


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_a_deviation_at_the_limit_that_is_told_is_refuted(dtype):
    limit = evidence(dtype, 0.0).bound
    assert limit > rounding_allowed(PROBLEM.gamma, dtype)
    assert evidence(dtype, limit).verdict == REFUTED


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_what_is_no_output_is_refuted_in_every_precision(dtype):
    assert evidence(dtype, 0.0, strange=1).verdict == REFUTED
