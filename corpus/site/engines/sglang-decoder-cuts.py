"""SGLang 0.5.23 under EAGLE: a row that drafts are verified by has no min-p, and is cut in turn by top-k and top-p.

Given: the folder sglang/srt. A row as the plain sampler cuts it, and by the lines of ``eagle_sample`` that cut it; the
kernels for that are written out. Expected: both equal. Seen: .1 under min-p 0.4; one token in place of two.
"""

import sys
from types import SimpleNamespace as New

import torch


def between(path, first, last):
    with open(f"{sys.argv[1]}/{path}") as file:
        return first + file.read().split(first)[1].split(last)[0]


def cut(row, kept):  # the row's tokens are sorted
    return row * kept / (row * kept).sum()


row, name = torch.tensor([[0.4, 0.3, 0.2, 0.1]]), "top_k_top_p_min_p_sampling_from_probs_torch"
exec("from __future__ import annotations\n" + between("layers/sampler.py", f"def {name}", "\ndef "))
verified = between("speculative/eagle_utils.py", " " * 8 + "target_probs = sampling_softmax(", "target_probs = target_")
for k, p, m in torch.tensor([[4, 1.0, 0.4], [2, 0.5, 0.0]])[..., None]:
    plain = globals()[name](row.clone(), k, p, m, bool(m > 0), None, None, return_filtered_probs=True)[1]
    info = New(top_ks=k, top_ps=p, need_top_k_sampling=k < 4, need_top_p_sampling=p < 1)
    exec("if 1:\n" + verified, scope := {
        "torch": torch, "sampling_info": info, "verify_input": New(draft_token_num=1), "next_token_logits": row.log(),
        "expanded_temperature": 1, "sampling_softmax": lambda rows, temperatures: rows.softmax(-1),
        "top_k_renorm_prob": lambda rows, k: cut(rows, torch.arange(4) < k), "maybe_detect_nan": lambda *_: None,
        "top_p_renorm_prob": lambda rows, p: cut(rows, rows.cumsum(-1) - rows < p)})  # fmt: skip
    print(cut(plain, 1), scope["target_probs"])
