"""The engines that ``make engines`` unpacks, audited: their known truth (make engines)."""

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.reports.audits.api import audit
from draftproof.verifiers.adapters.registry import ADAPTERS

pytestmark = [pytest.mark.unpacked, pytest.mark.needs("torch")]

OPTIMAL = {"vllm-v2-block", "sglang-block"}
"""They reach block verification's acceptance."""

INTERPRETED = {name for name, adapter in ADAPTERS.items() if "triton" in adapter.engines}


@pytest.mark.parametrize("name", [name for name, adapter in ADAPTERS.items() if adapter.engines])
def test_an_engine_has_the_law_that_is_known(name):
    if missing := ADAPTERS[name].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    problems = [toy(2)] if name in INTERPRETED else [toy(2), toy(3), drawn(3, 2, "zeros")]
    report = audit(name, problems, explain=False, dtypes=["float32"], timeout=600.0)
    by_claim = {(e.claim, e.problem): e for e in report.evidence}
    if name == "vllm-ascend-block":  # from three draft tokens on; with two it uses the token rule
        assert report.verdict == "refuted"
        assert by_claim["lossless", toy(2).name].holds
        assert by_claim["lossless", toy(3).name].total_variation > 0.2
        return
    assert report.verdict == "lossless"
    assert by_claim["optimal", toy(2).name].holds == (name in OPTIMAL)
