"""EAGLE: ``evaluate_posterior``, on a tree of one path.

It draws from ``random``, works on the target's logits and the probabilities that the draft gave its tokens, and returns
the row of the last token, which its caller draws by ``torch.multinomial``.
"""

import random
from collections.abc import Callable

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand, softmax
from draftproof_engines.lifted import adapted, lift, require_parameters

PARAMETERS = ("logits", "candidates", "logits_processor", "cart_candidates_prob", "op", "p_indices",
              "tree_candidates", "b_indices")  # fmt: skip


def on_one_path() -> Callable[..., list[int]]:
    """The plain convention around EAGLE's function: one path, temperature 1. Raises: NotASubject if it is not there."""
    given = {"torch": torch, "random": random, "Tuple": tuple}
    lifted = lift("eagle", "eagle/model/utils.py", ("evaluate_posterior",), given)
    evaluate_posterior = lifted.functions["evaluate_posterior"]
    require_parameters(evaluate_posterior, PARAMETERS, "eagle: evaluate_posterior")

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        gamma = len(draft_tokens)
        candidates = torch.cat([torch.zeros(1, dtype=torch.int64), draft_tokens])[None]
        chosen = draft_probs.gather(1, draft_tokens[:, None])[:, 0]
        path = torch.cat([torch.ones(1, dtype=chosen.dtype), chosen])[None]
        _, accepted, row = evaluate_posterior(
            target_probs.log()[None], candidates, lambda _, logits: logits, path, [q[None] for q in draft_probs],
            [[0] * (gamma + 1)], candidates, [[[]] * (gamma + 1)],
        )  # fmt: skip
        return [*draft_tokens[: int(accepted)].tolist(), int(torch.multinomial(row, 1))]

    return adapted(called, lifted, rows_in_use=softmax, bonus="drawn outside")


__getattr__ = on_demand(globals(), {"verify": on_one_path})
