"""``rejection_sample`` of vLLM V1 (its Triton kernels, under Triton's interpreter) and of vllm-ascend, of any release.

Driven: uniforms and one row of exponential noise a request are inputs; the bonus token comes from outside.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof_engines.adapters.vllm_ascend import FILE as ASCEND_FILE
from draftproof_engines.adapters.vllm_ascend import configured
from draftproof_engines.lifted import Edit, engine_file, lift, names_in, use_triton
from draftproof_engines.ragged import UNIFORM, UNIFORMS_FILE, UNIFORMS_NAME, RaggedAdapter

NOISE_DRIVEN = Edit("q.exponential_()", "q.copy_(DRIVEN.noise)", "the noise is an input")
ON_A_HOST = Edit("pin_memory=True", "pin_memory=False", "there is no device to copy to")


FORMS: dict[str, Callable[[Tensor], Any]] = {
    "target_probs": torch.clone, "target_logits": torch.log, "target_logits_or_tuple": lambda rows: (rows.log(), None),
}  # fmt: skip
"""What the target's rows are handed over as, by the name of the parameter: the releases differ."""


class Torch:
    """torch, whose ``rand`` hands out the uniforms of a call."""

    def __init__(self, driven: Any):
        self.rand = lambda *_, dtype=torch.float32, **__: driven.uniforms.to(dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def launching(kernel: Any, warmup_inputs: Any) -> Callable[[Callable], Callable]:
    """In place of vLLM's decorator of dispatchers: a kernel's arguments by name, pointers with _ptr behind theirs."""
    parameters = inspect.signature(kernel.fn).parameters

    def decorate(dispatch: Callable) -> Callable:
        def launch(*given: Any, **more: Any) -> None:
            named = inspect.signature(dispatch).bind(*given, **more).arguments
            grid, constants = dispatch(*given, **more)
            values = {**{name + "_ptr": value for name, value in named.items()}, **named, **constants}
            kernel[grid](**{name: values[name] for name in parameters})

        return launch

    return decorate


class Released(RaggedAdapter):
    """engine, file: where ``rejection_sample`` is. more: what else it refers to. edits: beside that of the noise."""

    placeholders = False

    def __init__(self, engine: str, file: str, more: dict[str, Any], edits: Sequence[Edit] = ()):
        super().__init__()
        given = {
            "torch": Torch(self.driven), "DRIVEN": self.driven,
            UNIFORMS_NAME: lambda *_: self.driven.uniforms.clone(),  # where another file of the engine has it
        } | more  # fmt: skip
        text = engine_file(engine, file).read_text(encoding="utf-8")
        edits = [NOISE_DRIVEN, *(edit for edit in edits if edit.old in text)]
        lifted = lift(engine, file, names_in(engine, file), given, edits, annotations=False)
        self.uses(lifted)
        if "dtype=torch.float32" in lifted.text.partition("def generate_uniform_probs")[2].partition("def ")[0]:
            self.random = ({**UNIFORM, "bits": 24}, *self.random[1:])
        names = [name for name in inspect.signature(self.function).parameters if name.startswith("target_")]
        self.form = FORMS[names[0]]
        self.greedy_temperature = float(lifted.functions["GREEDY_TEMPERATURE"])
        self.describe(lifted, bonus="drawn outside")

    def target(self, rows: Tensor) -> Any:
        return self.form(rows)


def _of_vllm() -> Released:
    triton = use_triton()
    given = {"triton": triton, "tl": triton.language, "triton_kernel_dispatcher_with_warmup": launching}
    made = Released("vllm", UNIFORMS_FILE, given)
    made.batch = 32  # each program of a kernel is interpreted
    return made


def _of_ascend(block: bool) -> Released:
    triton = use_triton()  # some releases define kernels in this file, which a host does not launch
    older = {"triton": triton, "tl": triton.language, "vllm_version_is": lambda _: False}
    return Released("vllm-ascend", ASCEND_FILE, configured(block) | older, [ON_A_HOST])


__getattr__ = on_demand(
    globals(),
    {"vllm": _of_vllm, "ascend_token": lambda: _of_ascend(False), "ascend_block": lambda: _of_ascend(True)},
)
