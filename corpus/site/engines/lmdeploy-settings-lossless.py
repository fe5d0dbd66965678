"""lmdeploy 0.18.0, top-p: python FILE UNPACKED/lmdeploy/pytorch (torch is installed)."""

import ast
import sys
from types import SimpleNamespace as Given

import torch

g = {"torch": torch, "nn": torch.nn, "PLACEHOLDER_TOKEN_ID": -1, "RejectionSamplingImpl": object, "dataclass": id}
g |= {"record_function": lambda _: lambda f: f, "lru_cache": id, "RejectionSamplingBuildSpec": object}
for name in ("engine/logits_process", "backends/default/rejection_sampling", "spec_decode/reject_sampler"):
    with open(f"{sys.argv[1]}/{name}.py") as file:
        made = [n for n in ast.parse(file.read()).body if hasattr(n, "name")]
    exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, made)), g)
g["get_backend"] = lambda _: Given(build_op=lambda _: g["DefaultRejectionSamplingImpl"]())
g["_multinomial_sampling"] = lambda scores, seeds, offsets, ids: ids.gather(1, scores.multinomial(1))[:, 0]
n, given = 100_000, {"max_top_k": 0, "has_greedy": False, "top_k": None, "min_p": None, "session_to_cleanup": None}
one = Given(**given, top_p=torch.full((n,), 0.5), random_seeds=None, random_offsets=None)
asked = Given(**given, batch_size=2 * n, select_sampling_rows=lambda rows: one)
logits, drafted = torch.tensor([0.6, 0.3, 0.1]).log().repeat(n, 2, 1), torch.ones(n, 1, dtype=torch.long)
plain = g["FusedLogitsProcessor"](one).sampling(logits[:, 0].clone()).bincount(minlength=3) / n
out = g["RejectionSampler"]()(logits.clone(), drafted, asked)[0][:, 0].bincount(minlength=3) / n
sys.exit(float((plain - out).abs().max()) > 0.01 and f"plain {plain.tolist()}, speculative {out.tolist()}")
