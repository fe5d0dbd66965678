"""Temperature, top-k and top-p: from a model's logits to the law that is sampled."""

from collections.abc import Callable

import torch
from torch import Tensor

Warp = Callable[[Tensor], Tensor]


def warp(temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Warp:
    """A function from logits [..., V] to the logarithms, up to a constant, of the law that is sampled.

    law = softmax(logits / T) restricted to the k most probable tokens and then to the fewest whose mass reaches top_p,
    in that order, as transformers has it. T = 0 is the limit: all mass on the largest logit, the first of equals.
    0 for top_k, and 1 for top_p, restrict nothing.
    Half precision is raised to float32 first; float64 stays. The row's largest logit is taken off before the division,
    so that no temperature makes it overflow.
    """
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    steps = []
    if temperature not in (0, 1):
        steps.append(TemperatureLogitsWarper(float(temperature)))
    if temperature != 0 and top_k > 0:
        steps.append(TopKLogitsWarper(top_k))
    if temperature != 0 and top_p < 1:
        steps.append(TopPLogitsWarper(top_p))

    def warped(logits: Tensor) -> Tensor:
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if temperature == 0:
            return torch.full_like(logits, -torch.inf).scatter_(-1, logits.argmax(-1, keepdim=True), 0.0)
        flat = logits.reshape(-1, logits.shape[-1])
        if temperature != 1:
            flat = flat - flat.amax(-1, keepdim=True)
        for step in steps:
            flat = step(None, flat)
        return flat.view(logits.shape)

    return warped
