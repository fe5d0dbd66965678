"""End-to-end runs on a GPU: what is refuted and what is not, as on the CPU; half precision is named."""

import pytest
import torch

from draftproof.tests.reports.audits.loops.e2e_parts import examined, refuted
from draftproof.tests.subjects.wrong_loops import wrong_loop

pytestmark = [
    pytest.mark.engine,
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none here"),
]


@pytest.fixture(scope="module")
def forged(forged):
    return {**forged, "device": "cuda"}


@pytest.fixture(scope="module")
def trained(trained):
    return {**trained, "device": "cuda"}


@pytest.mark.parametrize("verifier", ["token", "block", "greedy-block"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_right_loop_is_not_refuted_on_the_gpu_and_device_and_precision_are_named(forged, trained, verifier, dtype):
    for pair in (forged, trained):
        report = examined(pair, verifier=verifier, dtype=dtype)
        assert refuted(report) == set()
        assert report.failure is None
        assert report.environment["device"].startswith("cuda")
        assert report.as_json()["end_to_end"]["dtype"] == dtype
        assert report.end_to_end.figures["wall_clock_speedup"] > 0


@pytest.mark.parametrize("name", ["L01", "L02", "L03", "L04", "L05", "L06", "L07", "L08", "L09", "L12", "L13", "L14"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_wrong_loops_are_refuted_on_the_gpu(trained, name, dtype):
    assert examined(trained, dtype=dtype, **wrong_loop(name)).verdict == "refuted"


def test_the_law_of_texts_from_the_gpu_gives_a_wrong_loop_away(forged):
    assert {("lossless", "enumeration"), ("lossless", "chi-square")} <= refuted(examined(forged, **wrong_loop("L11")))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_at_temperature_0_every_token_is_the_targets_argmax_but_for_ties(trained, dtype):
    report = examined(trained, temperature=0.0, dtype=dtype)
    assert report.verdict == "inconclusive"
