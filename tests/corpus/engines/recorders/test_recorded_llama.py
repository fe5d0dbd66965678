"""llama.cpp's two loops with a draft model, recorded by the C header in their own process."""

import pytest

from draftproof.recording import header
from draftproof_engines.recorders.llama_cpp import COIN, CUTS, EQUALITY, OPEN, PATCH, program, report
from draftproof_engines.recorders.small_pair import forged_pair

built = pytest.mark.skipif(not program(EQUALITY).is_file(), reason="needs llama.cpp: make recorders-llama")


def refuted(found):
    return {e.claim for e in found.evidence if e.refuted}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return forged_pair(tmp_path_factory.mktemp("forged") / "pair", gguf=True)


def test_the_patch_is_short_and_uses_the_header():
    lines = PATCH.read_text().splitlines()
    assert len(lines) <= 60 and f'+#include "{header().name}"' in lines


@built
@pytest.mark.unpacked
@pytest.mark.parametrize("settings", [OPEN, CUTS], ids=["open", "cuts"])
def test_comparing_samples_is_not_refuted_and_its_rows_are_those_of_the_settings(pair, settings):
    found = report(EQUALITY, pair, settings)
    assert (
        found.verdict != "refuted" and found.steps["counts"]["recorded"] > 500 and found.steps["judged"]["rows"] > 1000
    )
    assert found.steps["rule"] == "equality"


@built
@pytest.mark.unpacked
def test_llama_speculative_drafts_otherwise_than_it_says_and_subtracts_rows_by_position(pair):
    found = report(COIN, pair, OPEN)
    assert {"drafts", "lossless"} <= refuted(found) and "follows-rule" not in refuted(found)
    cut = report(COIN, pair, CUTS)
    assert "follows-rule" in refuted(cut) and cut.steps["refuted_at"] <= 100
    assert cut.steps["behaves_like"][0]["name"] == "M11"
