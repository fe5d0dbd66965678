"""Loss and acceptance rate of a trained pair on text that it was not trained on."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from .recipe import Recipe
from .training import with_start

WINDOWS_PER_PASS = 8
"""Windows in a forward pass."""


class Evaluation(NamedTuple):
    """loss: cross entropy of the text, nats a token; alpha: acceptance rate against the target, 1 for itself."""

    loss: float
    alpha: float


@torch.inference_mode()
def evaluate(models: dict[str, Any], ids: Tensor, recipe: Recipe) -> dict[str, Evaluation]:
    """Loss and acceptance rate of each model, the first being the target, over windows spread evenly over the text.

    alpha = E[sum_x min(M_b(x | c), M_s(x | c))], the mean over the prefixes c of the windows: the probability that
    token verification accepts a draft token there, T = 1. It orders drafters, and predicts a block efficiency only
    roughly: the prefixes that the models write differ.
    Source: Leviathan et al. 2023, Definition 3.1 and Corollary 3.6.
    """
    starts = torch.linspace(0, len(ids) - recipe.context, recipe.measured).long()
    texts = with_start(ids[starts[:, None] + torch.arange(recipe.context)])
    sums = {name: [0.0, 0.0] for name in models}
    for part in texts.split(WINDOWS_PER_PASS):
        part = part.to(next(iter(models.values())).device)
        read, wanted = part[:, :-1], part[:, 1:]
        target = None
        for name, model in models.items():
            rows = model(read, use_cache=False).logits
            law = rows.softmax(-1)
            target = law if target is None else target
            sums[name][0] += cross_entropy(rows.flatten(0, 1), wanted.flatten(), reduction="sum").item()
            sums[name][1] += acceptance(target, law).sum().item()
    return {name: Evaluation(*(total / texts[:, 1:].numel() for total in totals)) for name, totals in sums.items()}


def acceptance(target: Tensor, draft: Tensor) -> Tensor:
    """sum_x min(target(x), draft(x)) of rows of probabilities, [..., V] to [...]."""
    return torch.minimum(target, draft).sum(-1)
