"""vllm-mlx 0.6.0, MTP of two requests: python FILE UNPACKED/vllm_mlx/mllm_batch_generator.py (mlx and mlx_lm there)."""

import ast
import sys
from types import SimpleNamespace as Given

import mlx.core as mx

with open(sys.argv[1]) as file:
    text = "\n".join(ast.unparse(n) for n in ast.parse(file.read()).body if hasattr(n, "args"))
for held in (HELD := ("_deferred_drafts", "_skip_state_by_uid")):  # what its next step goes on from
    text = text.replace(f"{held}: Dict[int, dict] = {{}}", f"{held} = batch_gen.{held}")
g = {"mx": mx, "math": __import__("math"), "threading": __import__("threading"), "logger": Given(info=id)}
exec("from __future__ import annotations\n" + text.replace("from .scheduler", "from mlx_lm.sample_utils"), g)
N, S, seen, asked = 2_000, 2, 0, [Given(temperature=1.0, top_p=1.0, top_k=0, min_p=0.0)]
p, q = mx.log(mx.array([[[1 / 3, 2 / 3]] * 2, [[1.0, 0.0]] * 2])), mx.log(mx.array([[[2 / 3, 1 / 3]], [[1.0, 0.0]]]))
Model = type("Model", (Given,), {"__call__": lambda _, x, **__: (p[:S, : x.shape[1]], mx.zeros((S, x.shape[1], 1)))})
batch = Given(requests=asked * S, uids=[*range(S)])
for _ in range(N):
    m = Given(active_batch=batch, sampler=mx.random.categorical, _step=0, _next=0, **{held: {} for held in HELD})
    g["install_mtp_mllm"](m, Model(mtp_forward=lambda *_, **__: q[:S]))
    m._step(mx.zeros((S, 1), dtype=mx.int64), [])
    seen += int(m._deferred_drafts.get(0, {"token": m.sampler(m._skip_state_by_uid[0]["logits"])})["token"]) == 0
sys.exit(abs(seen / N - 1 / 3) > 0.05 and f"token 0 has probability .3333; beside another request {seen / N:.4f}")
