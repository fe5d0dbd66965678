"""vLLM 0.32.0 for CPUs: temperature, top-k and top-p of drafted tokens are memory that nobody wrote.

Expected: tensor([0.7000, 0.7000, 1.3000]). See https://github.com/vllm-project/vllm/issues/55005.
"""

import torch
import vllm._C  # noqa: F401
from vllm.utils.cpu_triton_utils import _expand_kernel_impl

temperatures = torch.tensor([0.7, 1.3])  # of two requests
ends = torch.tensor([2, 3], dtype=torch.int32)  # which have 2 drafted tokens and 1
expanded = torch.full((3,), -1.0)  # as expand_batch_to_tokens makes it, there with new_empty
_expand_kernel_impl(expanded, temperatures, ends, 0, 1, 128)
print(expanded)  # tensor([-1., -1., -1.]): it wrote into a copy
