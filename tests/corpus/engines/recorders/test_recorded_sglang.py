"""SGLang's own proposals and verifier under Triton's interpreter, recorded: token, block, and planted bugs."""

import json
import os
import subprocess
import sys

import pytest

from draftproof.reports.audits.steps.run import audit_steps
from draftproof.verifiers.adapters.registry import engine_folder
from draftproof_engines.recorders.sibling_trees import parents_of
from draftproof_engines.recorders.vllm_recordings import importable

NEEDED = ("sglang", "sglang-needs")
pytestmark = [
    pytest.mark.unpacked,
    pytest.mark.needs("torch", "triton"),
    pytest.mark.skipif(
        not all(engine_folder(name).is_dir() for name in NEEDED), reason="needs SGLang: make engines"
    ),
]  # fmt: skip
SAMPLED, STEPS = [{"temperature": t} for t in (1.0, 0.7, 1.3, 1.0)], 40
PLANTED = {
    "follows-rule": """
own = eagle_utils.chain_speculative_sampling_triton
def halved(**given):
    own(**{**given, "draft_probs": given["draft_probs"] * 0.5})
eagle_utils.chain_speculative_sampling_triton = halved
""",
    "rows": """
own = eagle_utils.sampling_softmax
eagle_utils.sampling_softmax = lambda logits, temperatures=None: own(logits, temperatures=temperatures * 1.2)
""",
    "drafts": """
own = spec_utils.fast_sample
def colder(probs, **given):
    return own(probs ** 3 / (probs ** 3).sum(-1, keepdim=True), **given)
spec_utils.fast_sample = colder
""",
}
RUNS = {
    "token": {}, "block": {"block": True}, "greedy": {"settings": [{"temperature": 0}] * 2},
    **{f"{claim} planted": {"edit": edit} for claim, edit in PLANTED.items()},
}  # fmt: skip


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """A folder of recordings by name of the run. SGLang is imported once, which takes half a minute."""
    folder = tmp_path_factory.mktemp("sglang")
    usual = {"vocabulary": 16, "gamma": 4, "steps": STEPS, "block": False, "settings": SAMPLED, "edit": ""}
    runs = [{**usual, **run, "folder": str(folder / name)} for name, run in RUNS.items()]
    path = os.pathsep.join([importable(folder), *(str(engine_folder(name)) for name in NEEDED)])
    module = [sys.executable, "-m", "draftproof_engines.recorders.sglang_run", json.dumps(runs)]
    done = subprocess.run(module, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for run, line in zip(runs, done.stdout.splitlines()[-len(runs) :], strict=True):
        assert json.loads(line) == {"recorded": STEPS * len(run["settings"]), "failed": 0, "error": ""}
    return folder


@pytest.mark.parametrize("rule", ["token", "block"])
def test_as_published_it_is_not_refuted(rule, recordings):
    report = audit_steps(recordings / rule)
    assert report.steps["rule"] == rule
    assert {e.claim: e.verdict for e in report.evidence} == {
        "follows-rule": "no-evidence", "lossless": "no-evidence", "drafts": "no-evidence", "rows": "holds",
        "batch": "no-evidence",
    }  # fmt: skip


def test_a_greedy_batch_is_not_refuted(recordings):
    assert audit_steps(recordings / "greedy").verdict != "refuted"


@pytest.mark.parametrize("claim", PLANTED)
def test_a_planted_bug_is_refuted_by_the_claim_that_it_breaks(claim, recordings):
    assert claim in [e.claim for e in audit_steps(recordings / f"{claim} planted").evidence if e.refuted]


def test_parents_are_read_from_children_and_siblings():
    assert parents_of([1, 3, 5, -1, -1, -1], [-1, 2, -1, 4, -1, -1]) == [-1, -1, 0, 0, 1]
    with pytest.raises(ValueError, match="every node"):
        parents_of([1, -1, -1], [-1, -1, -1])
