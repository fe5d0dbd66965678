"""Run vLLM's model runner V2 on a CPU, its Triton kernels under Triton's interpreter, as ``vllm_run`` runs V1."""

import os

os.environ |= {"VLLM_USE_V2_MODEL_RUNNER": "1", "TRITON_INTERPRET": "1"}

import numpy as np
import triton.language as tl
from triton.backends import Backend, backends
from triton.language.extra import libdevice
from triton.runtime import interpreter

backends["cpu"] = Backend(None, None)  # pyright: ignore[reportArgumentType]  # vLLM asks that there is one
interpreter.interpreter_builder.options = interpreter.InterpreterOptions(sanitize_overflow=False)


def _with_true_masks(name: str, place: int) -> None:
    """Let an operation take masks that are integers, as compiled kernels do. place: of the mask in its arguments."""
    own = getattr(interpreter.InterpreterBuilder, name)

    def masked(self, *given):
        given[place].data = given[place].data.astype(bool)
        return own(self, *given)

    setattr(interpreter.InterpreterBuilder, name, masked)


def log1p(x, _semantic=None):
    """Return log(1 + x) of a tensor: the interpreter has no libdevice."""
    with np.errstate(invalid="ignore"):
        return tl.core.tensor(interpreter.TensorHandle(np.log1p(x.handle.data), x.handle.dtype), x.type)


_with_true_masks("create_masked_store", 2)
_with_true_masks("create_masked_load", 1)
libdevice.log1p = log1p

if __name__ == "__main__":
    from draftproof_engines.recorders import vllm_run, vllm_v2  # isort: skip  # sets what vLLM reads when it is imported
    from vllm.v1.sample.ops import topk_topp_sampler

    topk_topp_sampler.apply_top_k_top_p_triton = topk_topp_sampler.apply_top_k_top_p_pytorch  # it cannot be interpreted
    vllm_v2.register()
    vllm_run.main()
