"""SGLang 0.5.23: of a run that is accepted under EAGLE only the last token enters penalties and minimum lengths.

Given: sglang/srt/managers/schedule_batch.py. Three runs of a text: what its penalizers count. Expected: all seven.
"""

import ast
import sys
from types import SimpleNamespace as New

import torch

with open(sys.argv[1]) as file:
    kind = next(node for node in ast.parse(file.read()).body if getattr(node, "name", "") == "ScheduleBatch")
method = next(node for node in kind.body if getattr(node, "name", "") == "cumulate_penalty_output_tokens")
exec(ast.unparse(method), scope := {"torch": torch, "is_pin_memory_available": lambda _: False})
counted = []
penalties = New(cumulate_output_tokens=lambda tokens: counted.extend(tokens.tolist()))
request = New(output_ids=[], origin_input_ids=[0])
batch = New(reqs=[request], device="cpu", sampling_info=New(penalizer_orchestrator=penalties))
for run in ([5], [1, 2, 3], [4, 5, 6]):
    request.output_ids += run
    scope["cumulate_penalty_output_tokens"](batch)  # eagle_prepare_for_decode calls it once before each run
print(counted, "of", request.output_ids)  # [5, 3, 6] of [5, 1, 2, 3, 4, 5, 6]
