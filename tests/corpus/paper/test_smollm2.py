"""The open model that a package ships, as make smollm2 installs it: read as transformers reads it, two drafters of the
quality that the documents state, and an end-to-end run by its preset."""

import json

import pytest
import torch

from draftproof.models.pairs.gguf_checkpoint import read_gguf
from draftproof.models.pairs.packaged_pair import SMOLLM2, packaged_pair
from draftproof.models.pairs.presets import load_preset
from draftproof_paper.training.training import acceptance

pytestmark = [pytest.mark.smollm2, pytest.mark.needs("torch", "transformers", "gguf")]


@pytest.fixture(scope="module")
def folder():
    return packaged_pair()[0]


@pytest.fixture(scope="module")
def pairs(folder):
    return [load_preset("smollm2", drafter) for drafter in (0, 1)]


@pytest.fixture(scope="module")
def text(pairs):
    """A question and the answer that the target drew."""
    ids = pairs[0].encode("Why is the sky blue?")
    torch.manual_seed(0)
    with torch.inference_mode():
        drawn = pairs[0].target.generate(torch.tensor([ids]), do_sample=True, top_k=0, max_new_tokens=48)
    return drawn[0], len(ids)


def test_every_weight_is_what_transformers_reads_from_the_file():
    from transformers import AutoModelForCausalLM

    file = SMOLLM2.gguf()
    theirs = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    ours = read_gguf(file).weights
    named = {name: part for name, part in theirs.state_dict().items() if name in ours}
    assert len(named) == len(ours) == 272
    assert all(torch.equal(part, torch.from_numpy(ours[name])) for name, part in named.items())


def test_the_drafters_accept_with_the_rates_that_the_documents_state(pairs, text):
    tokens, prompt = text
    with torch.inference_mode():
        laws = [model(tokens[None]).logits[0, prompt - 1 : -1].softmax(-1)
                for model in (pairs[0].target, pairs[0].draft, pairs[1].draft)]  # fmt: skip
    better, worse = (float(acceptance(laws[0], law).mean()) for law in laws[1:])
    assert 0.65 < better < 0.85
    assert 0.35 < worse < 0.62


@pytest.mark.parametrize(
    ("loop", "verdict"), [(None, "inconclusive"), ("draftproof.tests.subjects.wrong_loops:L01", "refuted")]
)
def test_the_loop_is_not_refuted_and_a_wrong_one_is(tmp_path, loop, verdict):
    from draftproof.tests.reports.audits.loops.e2e_parts import command

    file = tmp_path / "report.json"
    words = ["--preset", "smollm2", "--new-tokens", 16, "--samples", 8, "--batch", 4, "--timeout", 1800, "--json", file]
    status, out, _ = command(*words, *(["--loop", loop] if loop else []))
    report = json.loads(file.read_text())
    assert report["verdict"] == verdict, out
    assert status == (1 if loop else 0)
    assert report["failure"] is None
