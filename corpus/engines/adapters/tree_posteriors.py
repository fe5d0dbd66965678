"""AngelSlim's and Medusa's ``evaluate_posterior``, on a tree of one path, and what draws the token after it.

Both know their drafts by the tokens alone: AngelSlim keeps a token x with probability p(x), Medusa where a rule of the
target's row allows it ("typical"), or where it equals a sample of the row ("nucleus"); Medusa's next token is drawn by
what begins its next step. They draw from ``random`` and from torch's global generator.
"""

import random
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof_engines.lifted import Edit, adapted, lift

ANGELSLIM = "angelslim/compressor/speculative/utils/util.py"
NAMES = ("get_nucleus_one_token", "get_typical_one_token", "get_nucleus_posterior_mask", "evaluate_posterior")


def _path(draft_tokens: Tensor) -> Tensor:
    return torch.cat([torch.zeros(1, dtype=torch.int64), draft_tokens])[None]


def angelslim() -> Callable[..., list[int]]:
    """Return the plain convention around AngelSlim's function."""
    lifted = lift("angelslim", ANGELSLIM, ("evaluate_posterior",), {"torch": torch, "random": random})

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        _, accepted, token = lifted.functions["evaluate_posterior"](
            target_probs.float().log()[None], _path(draft_tokens), lambda _, logits: logits
        )
        return [*draft_tokens[: int(accepted)].tolist(), int(token)]

    return adapted(called, lifted, rows_in_use=float32_softmax, bonus="drawn inside")


def medusa(sampling: str, temperature: float = 1.0, top_p: float = 1.0) -> Callable[..., list[int]]:
    """Return the plain convention around Medusa's function, with the thresholds that it has by default."""
    lifted = lift("medusa", "medusa/model/utils.py", NAMES, {"torch": torch, "F": torch.nn.functional})
    evaluate, threshold, alpha = lifted.functions["evaluate_posterior"], 0.3, 0.09

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        logits = target_probs.float().log()
        _, accepted = evaluate(logits[None], _path(draft_tokens), temperature, threshold, alpha, top_p, sampling, True)
        row = logits[None, int(accepted)]
        if sampling == "typical":
            token = lifted.functions["get_typical_one_token"](row, temperature, threshold, alpha)
        else:
            token = lifted.functions["get_nucleus_one_token"](row, temperature, top_p)
        return [*draft_tokens[: int(accepted)].tolist(), int(token)]

    return adapted(called, lifted, rows_in_use=float32_softmax, bonus="drawn by what begins the next step")


ROW = Edit("torch.multinomial(F.softmax(logit, dim=-1), 1)", "F.softmax(logit, dim=-1)", "the row that it draws from")


def typical_law() -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the function from both rows to the law of the first token under typical acceptance."""
    lifted = lift("medusa", "medusa/model/utils.py", NAMES, {"torch": torch, "F": torch.nn.functional}, [ROW])
    threshold, alpha = 0.3, 0.09

    def law(target: np.ndarray, draft: np.ndarray) -> np.ndarray:
        logits, emitted = torch.tensor(target).log(), np.zeros(len(target))
        row = lifted.functions["get_typical_one_token"](logits[None].clone(), 1.0, threshold, alpha)[0].numpy()
        for x in np.flatnonzero(draft):
            path = torch.tensor([[0, int(x)]])
            _, kept = lifted.functions["evaluate_posterior"](
                logits.repeat(1, 2, 1), path, 1.0, threshold, alpha, 1.0, "typical", True
            )
            emitted = emitted + draft[x] * (np.arange(len(target)) == x if int(kept) else row)
        return emitted

    return law


__getattr__ = on_demand(globals(), {
    "angelslim_path": angelslim, "medusa_typical": lambda: medusa("typical"),
    "medusa_nucleus": lambda: medusa("nucleus"),
})  # fmt: skip
