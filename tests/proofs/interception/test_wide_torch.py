"""Wide problems in torch: what the precision of the rows does to a law is measured, in chunks of a vocabulary too."""

import pytest

from draftproof.models.battery import toy
from draftproof.models.wide import wide, wide_battery
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.choices import long_unless
from draftproof.tests.proofs.interception.one_call import wide_law

pytest.importorskip("torch")
SUBJECTS = "draftproof.tests.subjects.wide_torch"


@pytest.mark.parametrize(("name", "dtype", "least", "most"), [
    pytest.param("transformers", "bfloat16", 1e-5, 0.02, marks=pytest.mark.long),
    ("batched-token", "float64", 0.0, 1e-12), pytest.param("batched-block",
    "float32", 1e-10, 3e-6, marks=pytest.mark.long),
])  # fmt: skip
def test_the_deviation_that_a_precision_causes_is_measured(name, dtype, least, most):
    if name == "transformers":
        pytest.importorskip("transformers")
    subject, problem = subject_from(name), wide(1030, 1)
    with Sandbox(subject.target, subject.array, dtype, torch=True) as sandbox:
        sandbox.start([toy(1)])
        measurement = measured_wide(problem, dtype, sandbox.law(problem))
    law = judge(measurement)[0]
    assert law.holds and measurement.unknown == 0.0, measurement.reason
    assert least <= law.total_variation <= most


def test_thresholds_of_a_running_sum_have_a_law_and_a_tile_left_out_is_refuted(torch_child):
    laws = {}
    problem = wide(4001, 1)
    sandbox = torch_child("float64")
    for name in ("by_thresholds", "without_the_last_tile"):
        measurement = wide_law(sandbox, f"{SUBJECTS}:{name}", problem)
        laws[name] = judge(measurement)[0]
        assert measurement.unknown == 0.0 and measurement.paths < 10, measurement.reason
    right, wrong = laws["by_thresholds"], laws["without_the_last_tile"]
    assert right.holds and right.total_variation < 1e-12
    assert wrong.refuted and 1e-4 < wrong.total_variation < 0.1


def test_several_with_replacement_are_looked_up_in_a_running_sum_of_the_type(torch_child):
    """As torch draws them: in single precision off by TV 1e-3 over 262,144 tokens."""
    problem, sandbox = wide(10_007, 1), torch_child("float32")
    measurement = wide_law(sandbox, f"{SUBJECTS}:by_weights_of_several", problem)
    law = judge(measurement)[0]
    assert law.holds and measurement.looked_up > 1e-5
    assert 1e-6 < law.total_variation < 1e-3


RACES = {
    "race_in_place": "holds", "race_of_logarithms": "holds", "race_in_rows": "holds", "race_to_a_power": "refuted",
    "race_with_less_of_one": "refuted", "race_of_capped_noise": "no-evidence",
    "race_changed_through_a_view": "no-evidence", "race_run_twice": "no-evidence",
    "race_of_running_sums": "no-evidence", "race_of_a_softmax": "no-evidence", "race_of_stairs": "no-evidence",
    "race_of_a_sine": "no-evidence", "race_through_a_matrix": "no-evidence",
}  # fmt: skip


@pytest.mark.long
def test_a_race_of_a_row_of_noise_has_its_law_and_any_other_use_of_the_row_has_none(torch_child):
    problem = wide(127, 1)
    sandbox = torch_child("float32")
    for name, verdict in RACES.items():
        measurement = wide_law(sandbox, f"{SUBJECTS}:{name}", problem)
        law = judge(measurement)[0]
        assert law.verdict == verdict, (name, measurement.reason, law.total_variation)
        assert verdict == "no-evidence" or (measurement.paths < 5 and 0.001 < measurement.between_levels < 0.06)


@pytest.mark.parametrize(
    "name", long_unless(["wide-zeros-V9-gamma9", "wide-zeros-V128-gamma2"], {"wide-zeros-V9-gamma9"})
)
def test_a_race_of_all_rows_at_once_has_a_law_where_a_residual_has_no_mass(torch_child, name):
    """One row of zeros, or of 0 / 0, had every number of all later problems followed for itself: 67 had no law."""
    problem, sandbox = next(p for p in wide_battery() if p.name == name), torch_child("float64")
    for subject, verdict in (("", "holds"), ("_normalised", "holds"), ("_of_the_row_before", "refuted")):
        measurement = wide_law(sandbox, f"{SUBJECTS}:batched_race{subject}", problem)
        assert (measurement.unknown, measurement.reason) == (0.0, None), measurement.reason
        assert judge(measurement)[0].verdict == verdict and measurement.paths < 100


def test_code_that_writes_to_its_softmax_has_a_law_and_changed_logits_are_refuted(torch_child):
    laws, problem, sandbox = {}, wide(40_000, 1), torch_child("float64")
    for name in ("writes_to_its_softmax", "changes_its_logits"):
        measurement = wide_law(sandbox, f"{SUBJECTS}:{name}", problem)
        assert measurement.unknown == 0.0, measurement.reason
        laws[name] = judge(measurement)[0]
    assert laws["writes_to_its_softmax"].holds and laws["writes_to_its_softmax"].total_variation < 1e-12
    assert laws["changes_its_logits"].refuted
