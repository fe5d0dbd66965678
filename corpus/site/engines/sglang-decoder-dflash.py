"""SGLang 0.5.23 under DFLASH and DSPARK: a repetition penalty changes no row that drafts are verified by.

Given: sglang/srt/speculative/dflash_utils.py. What a penalty, which is a factor, makes of a row of zeros is added to
the verified rows. Logits 2 1 0, a penalty of 2 on token 0: expected 1 1 0 in both rows.
"""

import ast
import sys
from types import SimpleNamespace as New
from typing import Any, Optional

import torch

with open(sys.argv[1]) as file:
    named = {getattr(node, "name", ""): node for node in ast.parse(file.read()).body}
exec(ast.unparse(named["apply_dflash_verify_logits_adjustments"]),
     scope := {"torch": torch, "Any": Any, "Optional": Optional})  # fmt: skip


class Asked(New):
    has_custom_logit_processor, penalizer_orchestrator = False, New(is_required=True)

    def __len__(self):
        return 1

    def apply_logits_bias(self, logits):  # as SamplingBatchInfo has it: positive logits are divided
        logits[:, 0] = torch.where(logits[:, 0] > 0, logits[:, 0] / 2, logits[:, 0] * 2)


rows = torch.tensor([[2.0, 1.0, 0.0]]).repeat(2, 1)
scope["apply_dflash_verify_logits_adjustments"](next_token_logits=rows, sampling_info=Asked(), draft_token_num=2)
print(rows.tolist())  # [[2.0, 1.0, 0.0], [2.0, 1.0, 0.0]]
