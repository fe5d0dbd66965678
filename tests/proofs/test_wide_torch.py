"""Wide problems in torch: what the precision of the rows does to a law is measured, in chunks of a vocabulary too."""

import pytest

from draftproof.models.battery import toy
from draftproof.models.wide import wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.wide_claims import judge_wide
from draftproof.proofs.wide_measurement import measured_wide
from draftproof.reports.audits.functions.subject import subject_from

pytest.importorskip("torch")


@pytest.mark.parametrize(("name", "dtype", "least", "most"), [
    ("transformers", "bfloat16", 1e-5, 0.02),
    ("batched-token", "float64", 0.0, 1e-12), pytest.param("batched-block", "float32", 1e-10, 3e-6, marks=pytest.mark.long),
])  # fmt: skip
def test_the_deviation_that_a_precision_causes_is_measured(name, dtype, least, most):
    if name == "transformers":
        pytest.importorskip("transformers")
    subject, problem = subject_from(name), wide(1030, 1)
    with Sandbox(subject.target, subject.array, dtype, torch=True) as sandbox:
        sandbox.start([toy(1)])
        measurement = measured_wide(problem, dtype, sandbox.law(problem))
    law = judge_wide(measurement)[0]
    assert law.holds and measurement.unknown == 0.0, measurement.reason
    assert least <= law.total_variation <= most
