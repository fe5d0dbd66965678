"""lmdeploy 0.18.0, a token of probability 0: python FILE UNPACKED/lmdeploy/pytorch (torch and triton are installed)."""

import importlib.util
import os
import sys
from types import SimpleNamespace as Given

import torch

os.environ["TRITON_INTERPRET"] = "1"
for name in ("lmdeploy", "lmdeploy.pytorch", "lmdeploy.pytorch.backends"):
    sys.modules[name] = Given(__path__=[])
sys.modules["lmdeploy.pytorch.backends.rejection_sampling"] = Given(PLACEHOLDER_TOKEN_ID=-1)
spec = importlib.util.spec_from_file_location("kernels", f"{sys.argv[1]}/kernels/cuda/rejection_sampling.py")
spec.loader.exec_module(kernels := importlib.util.module_from_spec(spec))
out, one, zero = torch.full((1, 2), -1), torch.ones(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
uniform = torch.zeros(1, 1)  # a number that torch.rand gives once in 2 ** 24
target = torch.tensor([[[1.0, 0.0]]])
kernels.random_rejection_sample(out, zero.clone(), zero.clone(), one, None, target, zero, zero[None], uniform, None)
sys.exit(int(out[0, 0]) == 1 and "it emits token 1, whose probability is 0")
