"""Recursive rejection in torch, as EAGLE's evaluate_posterior has it, with the draft's rows in place of q = 1."""

from typing import Any


def recursive_rejection(target_probs: Any, draft_probs: Any, draft_tokens: Any, parents: Any) -> list[int]:
    """Draws from torch's global generator."""
    import torch

    node, emitted = -1, list[int]()
    while True:
        p = target_probs[node + 1].clone()
        children = (parents == node).nonzero().flatten().tolist()
        for n in children:
            x, q = draft_tokens[n], draft_probs[n]
            if torch.rand((), dtype=p.dtype) < p[x] / q[x]:
                emitted.append(int(x))
                node = n
                break
            left = (p - q).clamp(min=0)
            p = left / left.sum() if left.sum() > 0 else p
        else:
            return [*emitted, int(torch.multinomial(p, 1))]


recursive_rejection.array = "torch"  # pyright: ignore[reportFunctionMemberAccess]
