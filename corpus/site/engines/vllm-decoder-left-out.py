"""vLLM 0.32.0, DSpark: after a step without a request, its unverified drafts decide how many drafts are verified.

The number comes from confidences of a step before, of drafts that were verified since. Those of all requests are copied
in each step: of a request that is left out the copies hold drafts that still wait, and the confidence behind its first
draft follows from that draft. Expected: 2 and 2, as without the step of the other request.
"""

from contextlib import nullcontext
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import torch

torch.cuda.Stream = torch.cuda.Event = torch.cuda.current_stream = MagicMock()
from vllm.v1.worker.gpu.spec_decode import adaptive_verification as planner  # noqa: E402

planner.stream = lambda *_: nullcontext()
states = SimpleNamespace(
    num_speculative_steps=2, device=torch.device("cpu"), max_num_reqs=2, req_id_to_index={"own": 0},
    num_computed_tokens_np=np.ones(2), prefill_len=SimpleNamespace(np=np.ones(2)))  # fmt: skip
for behind in (0.71, 0.45):  # the confidence behind one first draft, and behind another
    manager = planner.AdaptiveVerificationManager(states, torch.zeros(3, dtype=torch.int32), 1, 1000)
    manager.cost_tables = np.zeros(3), np.array([1, 1, 1.68, 1.68])
    for request, confidences in ((0, [0.9, 0.9]), (0, [0.45, behind]), (1, [0.7, 0.7])):
        batch = SimpleNamespace(num_reqs=1, idx_mapping=torch.tensor([request]))
        manager.record_confidences(torch.tensor([confidences]), batch)
    print(manager.get_num_tokens({"own": 3}, {"own": [-1, -1]}) - 1)  # 2, then 0
