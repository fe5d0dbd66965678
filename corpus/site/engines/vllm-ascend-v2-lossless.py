"""vllm-ascend 0.23.0.post1, model runner V2: python FILE ASCEND VLLM, the rejection_sampler_utils.py of each."""

import os
import re
import runpy
import sys
import tempfile
from pathlib import Path

import torch

os.environ["TRITON_INTERPRET"], U = "1", "tl.full([], 0.0, dtype=tl.float32)"
ascend, vllm = (re.sub(r"(?m)^from vllm.* import (\([^)]*\)|.*)", "", Path(file).read_text()) for file in sys.argv[1:])
head = "import triton, triton.language as tl\n"
B, n, p, q = 400, torch.arange(400), torch.tensor([1 / 3, 2 / 3]).log(), torch.tensor([2 / 3, 1 / 3]).log()
x = torch.stack([0 * n, torch.multinomial(q.exp(), B, replacement=True)], 1).flatten()
# two names as vLLM 0.23.0 had them
now = "_compute_block_stats_kernel, _compute_global_lse = _compute_local_logits_stats_kernel, _compute_global_logsumexp"
with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
    Path(file.name).write_text(f"{head}{vllm}\n{now}\n" + ascend.replace("tl.full([], 0.0, dtype=tl.float32)", U))
    out, _ = runpy.run_path(file.name)["rejection_sample"](
        p.repeat(2 * B, 1), q.repeat(B, 1, 1), x, (2 * torch.arange(B + 1)).int(), torch.arange(2 * B) % 2, n.int(),
        n.repeat_interleave(2).int(), (torch.arange(2 * B) % 2).int(), torch.ones(B), n, 1)
print(f"first token is 0: expected .3333, observed {(first := float((out[:, 0] == 0).double().mean())):.4f}")
sys.exit(abs(first - 1 / 3) > 0.1)
