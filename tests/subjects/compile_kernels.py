"""Compiles every kernel for CUDA's architecture 90, in each form of its inputs; needs no device.

Pointers and the vocabulary are multiples of 16, as a tensor's and most models' are: loads are wide then, and with few
tiles a thread holds more of one than there are sums.
"""

import os

os.environ["TRITON_INTERPRET"] = "0"

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from draftproof.verifiers.triton_kernels import block_verification, launching, parts, runtime, token_verification

FLOATS, WHOLE = "*fp32", {"B": "i32", "V": "i32", "TILES": "i32"}
LOGITS = "scales", "draft_scales", "temperature"
NUMBERS = "coins", "picks"
FORMS = {
    "probabilities": ("*fp32", (*LOGITS, "seeds")), "bfloat16": ("*bf16", (*LOGITS, "seeds")),
    "logits": ("*fp32", ("seeds",)), "one-hot": ("*fp32", (*LOGITS, "draft", "seeds")),
    "keyed": ("*fp16", (*LOGITS, *NUMBERS)),
}  # fmt: skip


def compiled(function, signature, constants):
    names = function.arg_names
    wide = [name for name in names if name not in constants and (name == "V" or signature[name].startswith("*"))]
    source = ASTSource(
        function, signature | dict.fromkeys(constants, "constexpr"), constexprs=constants,
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in wide},
    )  # fmt: skip
    options = launching.OPTIONS[function.__name__]
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert kernel.asm["cubin"]


def main():
    assert not runtime.INTERPRETED
    count = 1
    compiled(parts.normalise, {"rows": FLOATS, "scales": FLOATS, "temperature": FLOATS, "B": "i32", "V": "i32"},
             {"COUNT": 9, "ROWS": 1, "TILE": launching.WIDE_TILE})  # fmt: skip
    for rows, absent in FORMS.values():
        inputs = dict.fromkeys(("target", "draft"), rows) | dict.fromkeys(LOGITS, FLOATS)
        inputs |= {"tokens": "*i64", **dict.fromkeys(NUMBERS, "*fp64"), "seeds": "*i64", "sums": FLOATS}
        for module in (token_verification, block_verification):
            constants = {**dict.fromkeys(absent), "GAMMA": 8, "ROWS": 1, "TILE": 1024}
            constants |= {"GREEDY": False} if module is block_verification else {}
            compiled(module.sum_tiles, inputs | WHOLE, constants)
            outputs = {"emitted": "*i64", "accepted": "*i64"}
            for tiles in (128, launching.FEWEST_SUMS):
                compiled(module.finish, {**inputs, **outputs, **WHOLE}, {**constants, "MOST_TILES": tiles})
            count += 3
    print(f"{count} compiled")


if __name__ == "__main__":
    main()
