"""End-to-end runs on a GPU: what is refuted and what is not, as on the CPU; half precision is named."""

import pytest
import torch

from draftproof.tests.reports.audits.loops.e2e_parts import examined, refuted
from draftproof.tests.subjects.wrong_loops import SHOWN_WITH, wrong_loop

pytestmark = [
    pytest.mark.engine,
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none here"),
]


@pytest.mark.parametrize("options", [{"verifier": "token"}, {}, {"verifier": "greedy-block"}, {"temperature": 0.0}])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_right_loop_is_not_refuted_on_the_gpu_and_device_and_precision_are_named(forged, trained, options, dtype):
    for pair in (forged, trained):
        report = examined(pair, device="cuda", dtype=dtype, **options)
        assert refuted(report) == set()
        assert report.failure is None
        assert report.environment["device"].startswith("cuda")
        assert report.as_json()["end_to_end"]["dtype"] == dtype


@pytest.mark.parametrize("name", sorted({*SHOWN_WITH} - {"L11"}))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_wrong_loops_are_refuted_on_the_gpu(trained, name, dtype):
    assert examined(trained, device="cuda", dtype=dtype, **wrong_loop(name)).verdict == "refuted"
