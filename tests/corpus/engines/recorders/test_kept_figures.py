"""The page of recorded steps says what was kept of the long recordings of vLLM."""

import json
from pathlib import Path

import pytest

import draftproof
from draftproof_engines.recorders.vllm_recordings import ENOUGH, LONG

ROOT = Path(draftproof.__file__).parent
KEPT = ROOT / "corpus" / "site" / "recorded_vllm.jsonl"
PAGE = ROOT / "corpus" / "site" / "measurements.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the published pages are not in the wheel")


def test_each_method_was_recorded_long_enough_and_raised_no_alarm():
    figures = [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]
    assert {one["what"] for one in figures} == LONG.keys()
    assert [one["what"] for one in figures if one["refuted"] or one["recorded"] < ENOUGH] == []
    recorded = [one["recorded"] for one in figures]
    assert f"{min(recorded):,} to {max(recorded):,} steps" in PAGE.read_text(encoding="utf-8")
