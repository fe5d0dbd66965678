"""mlx-lm's speculative generation on a CPU, recorded in process on a small forged pair."""

import inspect
import json
from importlib import import_module

import pytest

from draftproof.reports.audits.steps.run import audit_steps
from draftproof.verifiers.adapters.registry import engine_folder
from draftproof_engines.adapters.mlx_engines import use_mlx
from draftproof_engines.recorders.small_pair import GAMMA, V, forged_pair

pytestmark = [
    pytest.mark.unpacked,
    pytest.mark.skipif(
        not all(engine_folder(engine).is_dir() for engine in ("mlx", "mlx-lm")), reason="needs mlx-lm: make engines"
    ),
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    use_mlx()
    from mlx_lm.utils import load_model

    folder = forged_pair(tmp_path_factory.mktemp("forged") / "pair")
    size = json.loads((folder / "target" / "config.json").read_text())["vocab_size"]
    return [load_model(folder / name)[0] for name in ("target", "draft")], size


def generated(pair, folder, texts=30, tokens=32, **settings):
    import mlx.core as mx
    from mlx_lm.sample_utils import make_sampler

    from draftproof_engines.recorders.mlx_generate import recording_mlx

    models, size = pair
    mx.random.seed(0)
    generate = import_module("mlx_lm.generate")
    asked = {name: value for name, value in settings.items() if name != "temperature"}
    with recording_mlx(folder, size, settings) as recorder:
        for k in range(texts):
            sampler = make_sampler(settings["temperature"], **asked)
            for _ in generate.speculative_generate_step(
                mx.array([k % V]), *models, num_draft_tokens=GAMMA, max_tokens=tokens, sampler=sampler
            ):
                pass
    assert recorder.recorded + recorder.dropped == recorder.seen > texts and not recorder.failed, recorder.error
    return audit_steps(folder)


def verdicts(report):
    return {e.claim: e.verdict for e in report.evidence}


def test_as_published_it_is_not_refuted(pair, tmp_path):
    report = generated(pair, tmp_path, temperature=0.8, top_k=9, top_p=0.95)
    assert verdicts(report) == {
        "follows-rule": "no-evidence", "lossless": "no-evidence", "drafts": "no-evidence", "rows": "holds",
    }  # fmt: skip


def test_greedy_requests_are_not_refuted(pair, tmp_path):
    report = generated(pair, tmp_path, texts=5, temperature=0)
    assert report.verdict != "refuted" and report.steps["judged"]["greedy"] > 50


def test_a_text_that_ends_early_is_recorded_as_the_loop_would_go_on(pair, tmp_path):
    import mlx.core as mx
    from mlx_lm.sample_utils import make_sampler

    from draftproof_engines.recorders.mlx_generate import recording_mlx

    models, size = pair
    with recording_mlx(tmp_path, size) as recorder:
        for k in range(60):
            steps = import_module("mlx_lm.generate").speculative_generate_step(
                mx.array([k % V]), *models, num_draft_tokens=GAMMA, max_tokens=20, sampler=make_sampler(0.4)
            )
            next(steps)
            steps.close()
    assert recorder.recorded == 60
    assert audit_steps(tmp_path).verdict != "refuted"


def test_a_token_from_the_next_place_is_refuted(pair, tmp_path, monkeypatch):
    module = import_module("mlx_lm.generate")
    source = inspect.getsource(module.speculative_generate_step)
    wrong = source.replace(
        "yield tokens[n], logprobs[n], False", "yield tokens[min(n + 1, num_draft)], logprobs[n], False"
    )
    assert wrong != source
    namespace = vars(module)
    own = module.speculative_generate_step
    exec(wrong, namespace)
    monkeypatch.setattr(module, "speculative_generate_step", module.speculative_generate_step)
    try:
        report = generated(pair, tmp_path, temperature=1.0)
    finally:
        module.speculative_generate_step = own
    assert report.verdict == "refuted" and "follows-rule" in [e.claim for e in report.evidence if e.refuted]
