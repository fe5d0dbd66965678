"""Triton: kernels are compiled on a CUDA device; without one, or with TRITON_INTERPRET=1, interpreted."""

import os
from typing import Any

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # read when Triton is imported

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]
from triton import knobs  # pyright: ignore[reportMissingImports]
from triton.runtime import interpreter  # pyright: ignore[reportMissingImports]

from .interpreting import set_up

INTERPRETED = bool(knobs.runtime.interpret)

if INTERPRETED and not isinstance(tl.cumsum, interpreter.InterpretedFunction):
    raise ImportError(
        "triton was imported before, to compile; its interpreter needs TRITON_INTERPRET=1 in the environment"
    )
if INTERPRETED:
    set_up(interpreter)


def jit(function: Any) -> Any:
    """Apply ``triton.jit``, whose result type checkers take for something that cannot be called."""
    return triton.jit(function)


__all__ = ["INTERPRETED", "jit", "tl", "triton"]
