"""flashspec: the steps of its engine, one request, pure torch: of a model's draft, and of one looked up in the text.

Both draw ``gamma`` uniforms and one token from torch's global generator; the bonus token is drawn inside.
Log-probabilities are those of its ``scaled_log_softmax``; its assembly kernel for the residual is not installed.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof_engines.lifted import adapted, lift, require_parameters

NAMES = ("_MIN_PROB", "_ASM_AVAILABLE", "_asm_residual_dist", "_pytorch_residual", "residual_distribution",
         "_residual_probs")  # fmt: skip


def verification(name: str) -> Callable[..., list[Any]]:
    """Return the plain convention around a step. Raises: NotASubject if it is not there."""
    given = {"torch": torch, "Callable": Callable, "Any": Any}
    lifted = lift("flashspec", "flashspec/sampling/rejection.py", (*NAMES, name), given)
    step = lifted.functions[name]
    needed = ("draft_token_ids", "target_logprobs")
    require_parameters(step, needed if "onehot" in name else (*needed, "draft_logprobs"), f"flashspec: {name}")

    def scaled(probs: Tensor) -> Tensor:
        return probs.log().log_softmax(dim=-1, dtype=torch.float32)[None]

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[Any]:
        asked = {"draft_token_ids": draft_tokens[None], "target_logprobs": scaled(target_probs)}
        if "onehot" not in name:
            asked["draft_logprobs"] = scaled(draft_probs)
        count, token = step(**asked)[0]
        return [*draft_tokens[:count], token]

    return adapted(called, lifted, rows_in_use=float32_softmax, bonus="drawn inside")


__getattr__ = on_demand(globals(), {
    "step": lambda: verification("rejection_step"),
    "lookup": lambda: verification("rejection_step_onehot"),
})  # fmt: skip
