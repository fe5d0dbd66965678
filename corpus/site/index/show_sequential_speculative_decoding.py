# pip install --no-deps sequential-speculative-decoding; it imports torch, transformers. Target (.5, .5), two drafted
# tokens from (.2, .8): both are tested by r(x_1), one place early, and 0 comes first with .19 in place of .5. Where the
# draft is (0, 1), what is drawn after a rejection is a multiple of the draft, so that all is 0 and an error ends it.
from collections import Counter
from types import SimpleNamespace

import torch
from seqspecdecod.capped_hsd import capped_hsd_step


def model(row):
    return lambda ids: SimpleNamespace(logits=torch.tensor([row] * ids.shape[1]).log()[None])


torch.manual_seed(0)
draft, target, prompt, n = model((0.2, 0.8)), model((0.5, 0.5)), torch.zeros(1, 1, dtype=torch.long), 10_000
counts = Counter(int(capped_hsd_step(draft, target, prompt, 2, 1.0, 1.0)[0][0, 1]) for _ in range(n))
print({x: counts[x] / n for x in range(2)}, flush=True)
for _ in range(20):
    capped_hsd_step(model((0.0, 1.0)), target, prompt, 1, 1.0, 1.0)
