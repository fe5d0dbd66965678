"""Token verification in torch that computes in a given type, and takes a share of its calls wrongly, by name.

``float32_multinomial_0``: right; ``bfloat16_search_12``: emits a constant token in 12 / 2^48 of its calls.
"""

import torch

SHARES = 2**48


def _draw(weights, how, generator):
    if how == "multinomial":
        return int(torch.multinomial(weights, 1, generator=generator))
    edges = weights.cumsum(-1)
    u = torch.rand(1, dtype=weights.dtype, generator=generator)
    return int(torch.searchsorted(edges / edges[-1], u, right=True))


def _verifier(kind, how, share):
    def verify(target_probs, draft_probs, draft_tokens, generator=None):
        target, draft = target_probs.to(kind), draft_probs.to(kind)
        uniform = torch.float64 if kind is torch.float64 else torch.float32
        if share and torch.rand((), dtype=torch.float64, generator=generator) < share:
            return [target.shape[-1] // 2]
        emitted = []
        for i, token in enumerate(draft_tokens.tolist()):
            if torch.rand((), dtype=uniform, generator=generator) < target[i, token] / draft[i, token]:
                emitted.append(token)
                continue
            rest = (target[i] - draft[i]).clamp(min=0)
            return [*emitted, _draw(rest if rest.any() else target[i], how, generator)]
        return [*emitted, _draw(target[len(emitted)], how, generator)]

    verify.array = "torch"
    return verify


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    kind, how, share = name.split("_")
    return _verifier(getattr(torch, kind), how, int(share) / SHARES)
