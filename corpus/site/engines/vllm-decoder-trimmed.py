"""vLLM 0.32.0: where a grammar refuses a drafted token, the token that takes its place is drawn from the wrong row.

Without async scheduling ``update_draft_token_ids`` drops what the grammar refuses, and the place is sampled as if
nothing had been drafted there. It was drafted, and refused for its value: the token has to come from the residual. For
each drafted token the step that follows, by vLLM's rule; the row is masked by the grammar. Expected: 0.5, 0.5, 0.
"""

from types import SimpleNamespace

import torch
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.outputs import DraftTokenIds

target, draft = torch.tensor([0.5, 0.5, 0]), torch.tensor([0.25, 0.5, 0.25])
grammar = SimpleNamespace(validate_tokens=lambda _, tokens: [t for t in tokens if t != 2])
request = SimpleNamespace(is_finished=lambda: False, is_prefill_chunk=False, spec_token_ids=[])
scheduler = SimpleNamespace(requests={"r": request}, structured_output_manager=grammar)
left, law = (target - draft).clamp(min=0), torch.zeros(3)
for token in range(3):
    Scheduler.update_draft_token_ids(scheduler, DraftTokenIds(["r"], [[token]]))
    kept = min(1.0, float(target[token] / draft[token])) if request.spec_token_ids else 0.0
    law[token] += draft[token] * kept
    law += draft[token] * (1 - kept) * (left / left.sum() if request.spec_token_ids else target)
print(law)  # 0.375, 0.625, 0
