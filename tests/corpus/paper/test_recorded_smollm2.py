"""Steps recorded in this project's own loop on the open model that make smollm2 installs, judged, and their gain."""

import json
from pathlib import Path

import pytest

import draftproof
from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop import DecodingLoop
from draftproof.models.pairs.presets import load_preset
from draftproof.models.pairs.prompts import EMBEDDED, prompts
from draftproof.recording import Recorder
from draftproof.reports.audits.steps.run import audit_steps

pytestmark = [pytest.mark.smollm2, pytest.mark.needs("torch", "transformers", "gguf", "safetensors")]

PAIRED = Path(draftproof.__file__).parent / "corpus" / "site" / "evidence" / "smollm2-gamma-4" / "tables.json"
"""A run in which each draft block was given to both verifiers, at the settings below."""

GAMMA, SETTINGS, SEEDS, BATCH = 4, {"temperature": 0.6, "max_new_tokens": 16}, 2, 6


def recorded(recorder, first):
    """A loop that records every block. first: number of its first text."""

    class Recorded(DecodingLoop):
        def verified(self, drafted):
            given, rows = super().verified(drafted), drafted.probabilities()
            for k, text in enumerate(self.open):
                if recorder.chosen():
                    emitted = given.tokens[k][: int(given.accepted[k]) + 1]
                    recorder.step(rows.target[k], drafted.tokens[k], emitted, rows.draft[k], request=first + text,
                                  place=len(self.texts[text]))  # fmt: skip
            return given

    return Recorded


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder, pair = tmp_path_factory.mktemp("steps"), load_preset("smollm2")
    texts = [pair.encode(prompt) for prompt in prompts(EMBEDDED)[:12]]
    with Recorder(
        folder, pair.vocabulary, rule="token", settings={"temperature": 0.6}, engine="draftproof"
    ) as recorder:
        for seed in range(SEEDS):
            for k in range(0, len(texts), BATCH):
                loop = recorded(recorder, seed * len(texts) + k)
                generate(pair.target, pair.draft, texts[k : k + BATCH], "token", gamma=GAMMA, seed=seed, loop=loop,
                         vocabulary=pair.vocabulary, **SETTINGS)  # fmt: skip
    assert not recorder.failed and not recorder.dropped
    return audit_steps(folder)


def test_the_loop_is_not_refuted(report):
    assert not [e for e in report.evidence if e.refuted]
    assert report.steps["judged"]["steps"] > 100


def test_the_gain_of_block_verification_covers_what_the_paired_runs_measured(report):
    _, low, high = report.steps["acceptance"]["rules"]["block"]["gain"]
    [paired] = [o for o in json.loads(PAIRED.read_text())["orderings"] if o["measure"] == "same blocks"]
    assert low < paired["mean"] < high and low > 0
