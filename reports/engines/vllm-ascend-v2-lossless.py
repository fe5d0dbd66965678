"""vllm-ascend 0.23.0.post1, model runner V2: python FILE ASCEND VLLM, each .../spec_decode/rejection_sampler_utils.py (torch, triton alone)."""

import importlib.util as load
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace as Given

os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton.language as tl

U, given = "tl.full([], 0.0, dtype=tl.float32)", Given(tl=tl, triton=sys.modules["triton"], tldevice=None, gumbel_block_argmax=None, tl_rand32=None, philox_gumbel_block_argmax=None)
sys.modules |= dict.fromkeys(["vllm.triton_utils", "vllm.v1.worker.gpu.sample.gumbel", "vllm.v1.worker.gpu.sample.watermark"], given)
with tempfile.TemporaryDirectory() as folder:
    for k, name in ((2, "vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils"), (1, "ascend")):
        file = Path(folder, f"{k}.py")
        file.write_text(Path(sys.argv[k]).read_text().replace("tl.full([], 0.0, dtype=tl.float32)", U))
        spec = load.spec_from_file_location(name, file)
        sys.modules[name] = module = load.module_from_spec(spec)
        spec.loader.exec_module(module)
        for then, now in (("block_stats_kernel", "local_logits_stats_kernel"), ("global_lse", "global_logsumexp")) * (k == 2):
            setattr(module, f"_compute_{then}", getattr(module, f"_compute_{now}"))  # renamed since vLLM 0.23.0
    B, n, p, q = 400, torch.arange(400), torch.tensor([1 / 3, 2 / 3]).log(), torch.tensor([2 / 3, 1 / 3]).log()
    x = torch.stack([0 * n, torch.multinomial(q.exp(), B, replacement=True)], 1).flatten()
    out, _ = module.rejection_sample(p.repeat(2 * B, 1), q.repeat(B, 1, 1), x, (2 * torch.arange(B + 1)).int(), torch.arange(2 * B) % 2,
                                     n.int(), n.repeat_interleave(2).int(), (torch.arange(2 * B) % 2).int(), torch.ones(B), n, 1)
print(f"first token is 0: expected .3333, observed {(first := float((out[:, 0] == 0).double().mean())):.4f}")
sys.exit(abs(first - 1 / 3) > 0.1)
