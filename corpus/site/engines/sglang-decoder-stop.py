"""SGLang 0.5.23: a stop string behind an end token of the same accepted run ends the text, and not the end token.

Given: sglang/srt/managers/schedule_batch.py. Tokens are accepted in one run and one by one; 9 is the end token, the
text of token 1 is the stop string. Expected: [0, 9] twice.
"""

import ast
import re
import sys
from types import SimpleNamespace as New

ENDS = ("BaseFinishReason", "FINISH_MATCHED_TOKEN", "FINISH_MATCHED_STR", "FINISH_LENGTH", "Req")
with open(sys.argv[1]) as file:
    parts = [ast.unparse(node) for node in ast.parse(file.read()).body if getattr(node, "name", "") in ENDS]
scope = {"ReqDllmMixin": object, "re": re, "HTTPStatus": New(BAD_REQUEST=400)}
exec("\n".join(["from __future__ import annotations", *parts]), scope)
for runs in ([[0, 9, 0, 1]], [[0], [9], [0], [1]]):
    request = scope["Req"].__new__(scope["Req"])
    asked = New(stop_strs=["1"], stop_regex_strs=[], stop_str_max_len=1, stop_regex_max_len=0, ignore_eos=False,
                stop_token_ids=None, max_new_tokens=8)  # fmt: skip
    words = New(decode=lambda ids: "".join(map(str, ids)), eos_token_id=9, additional_stop_token_ids=None)
    vars(request).update(sampling_params=asked, tokenizer=words, output_ids=[], decoded_text="", finished_len=None,
                         finished_reason=None, to_finish=None, vocab_size=None, eos_token_ids={9}, grammar=None)
    for run in runs:
        request.output_ids += run
        request.update_finish_state(len(run))
    print(request.output_ids_through_stop)  # [0, 9, 0, 1], then [0, 9]
