"""sglang-jax's verifiers on a CPU, recorded: chains inside its jitted caller, and draft trees in eager JAX."""

import numpy as np
import pytest

from draftproof.models.recorded_steps import Recording
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.verifiers.adapters.protocol import Row
from draftproof.verifiers.adapters.registry import engine_folder
from draftproof_engines.adapters import sglang_jax
from draftproof_engines.lifted import Edit

pytestmark = [
    pytest.mark.unpacked,
    pytest.mark.skipif(
        not all(engine_folder(engine).is_dir() for engine in ("sglang-jax", "jax")),
        reason="needs sglang-jax: make engines",
    ),
]
V, GAMMA = 16, 4


def batches(count, size=8, parents=None, seed=0):
    """Requests with rows of one Markov target, each drafted token the likeliest of another model."""
    rng = np.random.default_rng(seed)
    target, draft = (rng.dirichlet(np.ones(V), V) for _ in range(2))
    nodes = GAMMA if parents is None else len(parents)
    for _ in range(count):
        rows = []
        for _ in range(size):
            tokens = []
            start = int(rng.integers(V))
            for node in range(nodes):
                above = node - 1 if parents is None else parents[node]
                elder = [] if parents is None else [tokens[k] for k in range(node) if parents[k] == above]
                order = np.argsort(-draft[tokens[above] if above >= 0 else start])
                tokens.append(int(next(x for x in order if x not in elder)))
            random = {"accept": rng.random(nodes), "last": rng.random()}
            rows.append(Row(target[[start, *tokens]], None, np.array(tokens), random, parents=parents))
        yield rows


def recorded(folder, engine, verify, repeats=60, **how):
    from draftproof_engines.recorders.sglang_jax_verify import JaxRecording

    recording = JaxRecording(folder)
    recording.around(verify.__globals__)
    for rows in batches(repeats, **how):
        engine.together(rows)
    recording.close()
    recorder = recording.recorder
    assert recorder.recorded + recorder.dropped == repeats * 8 and not recorder.failed, recorder.error
    return audit_steps(folder)


def test_the_chain_as_published_is_not_refuted(tmp_path):
    engine = sglang_jax.JaxChain()
    report = recorded(tmp_path, engine, engine.verify)
    assert {e.claim: e.verdict for e in report.evidence} == {
        "follows-rule": "no-evidence", "lossless": "no-evidence", "rows": "holds", "batch": "no-evidence",
    }  # fmt: skip


def test_a_replacement_from_the_targets_row_is_refuted(tmp_path, monkeypatch):
    bug = Edit("jnp.where(vocab_ids == rejected_token[:, None], 0.0, p_emit)", "p_emit", "the rejected token stays")
    monkeypatch.setattr(sglang_jax, "CHAIN_DRIVEN", (*sglang_jax.CHAIN_DRIVEN, bug))
    engine = sglang_jax.JaxChain()
    report = recorded(tmp_path, engine, engine.verify, repeats=20)
    assert report.verdict == "refuted"


def test_a_tree_is_recorded_with_its_parents(tmp_path):
    parents, engine = [-1, -1, 0, 0, 1], sglang_jax.JaxTree(False)
    recorded(tmp_path, engine, engine.input.sample, repeats=1, parents=parents)
    recording = Recording.open(tmp_path)
    shard = recording.read(recording.shards[0])
    assert shard.cut("draft_parents", 0).tolist() == parents
