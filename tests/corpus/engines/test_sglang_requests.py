"""SGLang's requests under EAGLE, from its own functions: which settings change a text, and mends that were tried."""

import os
import subprocess
import sys

import pytest

from draftproof.corpus.site.engine_issues import FOLDER
from draftproof.reports.audits.engines.audit import audit_engine, engine_from
from draftproof.verifiers.adapters.registry import engine_folder

from .test_mends import ADAPTERS, mended

DECODER = f"{ADAPTERS}.sglang_requests:decode"
ENDS = engine_folder("sglang") / "sglang/srt/managers/schedule_batch.py"

pytestmark = [
    pytest.mark.unpacked,
    pytest.mark.needs("torch"),
    pytest.mark.skipif(not ENDS.is_file(), reason="needs sglang: make engines"),
]

CUT = "        target_probs = target_probs.reshape(bs, verify_input.draft_token_num, -1)\n"
MIN_P = """        least = target_probs.amax(-1, keepdim=True) * sampling_info.min_ps
        target_probs = target_probs * (target_probs >= least)
"""
REPEATED = "torch.repeat_interleave(sampling_info.{}, verify_input.draft_token_num)"
JOINTLY = f"""        whole = sampling_softmax(next_token_logits, temperatures=expanded_temperature)
        kept = top_p_renorm_prob(whole, {REPEATED.format("top_ps")}) > 0
        target_probs = kept * top_k_renorm_prob(whole, {REPEATED.format("top_ks")})
"""
SETTINGS = (
    "def update_finish_state(self, new_accepted_len: int = 1):\n        if self.finished():\n            return\n"
)
ONE_BY_ONE = """        if new_accepted_len > 1:
            run = self.output_ids[-new_accepted_len:]
            del self.output_ids[-new_accepted_len:]
            for token in run:
                self.output_ids.append(token)
                self.update_finish_state(1)
            return
"""
COLD = "target_probs = sampling_softmax(\n            next_token_logits, temperatures=expanded_temperature\n        )"


def distances(decoder, settings, **asked):
    """Total variation from the law without speculation, largest of all requests but on ties, which a stand-in cuts."""
    report = audit_engine(engine_from(decoder), levels=("exact",), settings=settings, **asked)
    assert report.failure is None
    found = [e for e in report.evidence if e.claim == "same-as-plain" and not str(e.problem).startswith("tied-")]
    return max(float(e.total_variation) for e in found)


def test_its_temperature_is_right_and_a_planted_one_is_refuted(tmp_path):
    planted = mended(tmp_path, DECODER, (COLD, "target_probs = torch.softmax(next_token_logits, -1)"))
    right, wrong = (distances(name, {"temperature": 0.5}, tokens=2) for name in (DECODER, planted))
    assert right < 1e-6 and wrong > 0.01


@pytest.mark.parametrize(
    ("settings", "mend"),
    [
        ({"min_p": 0.4}, (CUT, MIN_P + CUT)),
        ({"top_k": 2, "top_p": 0.6}, (CUT, JOINTLY + CUT)),
        ({"eos": [2], "stop": [[1]]}, (SETTINGS, SETTINGS + ONE_BY_ONE)),
    ],
)
def test_a_text_follows_its_settings_with_the_mends_of_the_issues_alone(settings, mend, tmp_path):
    assert distances(DECODER, settings) > 0.01
    assert distances(mended(tmp_path, DECODER, mend), settings) < 1e-6


@pytest.mark.parametrize("settings", [{"frequency_penalty": 1.0}, {"eos": [1], "min_tokens": 2}])
def test_penalties_and_minimum_lengths_are_told_the_last_token_of_a_run_alone(settings):
    assert distances(DECODER, settings) > 0.01


@pytest.mark.parametrize(
    ("name", "given", "seen"),
    [("sglang-decoder-cuts", ENDS.parents[1],
      "tensor([[0.4444, 0.3333, 0.2222, 0.0000]]) tensor([[0.4000, 0.3000, 0.2000, 0.1000]])\n"
      "tensor([[0.5714, 0.4286, 0.0000, 0.0000]]) tensor([[1., 0., 0., 0.]])\n"),
     ("sglang-decoder-dflash", ENDS.parents[1] / "speculative" / "dflash_utils.py",
      "[[2.0, 1.0, 0.0], [2.0, 1.0, 0.0]]\n"),
     ("sglang-decoder-stop", ENDS, "[0, 9, 0, 1]\n[0, 9]\n"),
     ("sglang-decoder-penalties", ENDS, "[5, 3, 6] of [5, 1, 2, 3, 4, 5, 6]\n")],
)  # fmt: skip
def test_a_reproduction_shows_it_without_this_project(name, given, seen):
    done = subprocess.run([sys.executable, "-I", str(FOLDER / f"{name}.py"), os.fspath(given)],
                          capture_output=True, text=True)  # fmt: skip
    assert done.stdout == seen, done.stderr
