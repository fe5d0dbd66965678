"""EAGLE: ``evaluate_posterior``, on a tree of one path.

It draws from ``random``, works on the target's logits and the probabilities that the draft gave its tokens, and returns the
row of the last token, which its caller draws by ``torch.multinomial``.
"""

import random

import torch
from torch import Tensor

from .calling_convention import declare
from .lifted import lift, require_parameters

PARAMETERS = ("logits", "candidates", "logits_processor", "cart_candidates_prob", "op", "p_indices",
              "tree_candidates", "b_indices")  # fmt: skip
LIFTED = lift(
    "eagle", "eagle/model/utils.py", ("evaluate_posterior",), {"torch": torch, "random": random, "Tuple": tuple}
)


def verify(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
    """The plain convention around EAGLE's function: one path, temperature 1."""
    gamma = len(draft_tokens)
    candidates = torch.cat([torch.zeros(1, dtype=torch.int64), draft_tokens])[None]
    chosen = draft_probs.gather(1, draft_tokens[:, None])[:, 0]
    path = torch.cat([torch.ones(1, dtype=chosen.dtype), chosen])[None]
    _, accepted, row = LIFTED.functions["evaluate_posterior"](
        target_probs.log()[None], candidates, lambda _, logits: logits, path, [q[None] for q in draft_probs],
        [[0] * (gamma + 1)], candidates, [[[]] * (gamma + 1)],
    )  # fmt: skip
    return [*draft_tokens[: int(accepted)].tolist(), int(torch.multinomial(row, 1))]


def published() -> str:
    """What is lifted: the report identifies it."""
    return LIFTED.text


def rows_in_use(probabilities: Tensor) -> Tensor:
    """The rows that the engine verifies with: softmax of the logits, in their precision."""
    return probabilities.log().softmax(dim=-1)


require_parameters(LIFTED.functions["evaluate_posterior"], PARAMETERS, "eagle: evaluate_posterior")
declare(verify, array="torch", published=published, rows_in_use=rows_in_use, origin={"lifted": [LIFTED.record]})
