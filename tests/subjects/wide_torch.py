"""Token verification in torch that draws the last token by the thresholds of a running sum, or by its weights."""

import torch


def ending(last):
    """... by last(weights, generator)."""

    def verify(target_probs, draft_probs, draft_tokens, generator):
        emitted = []
        for i, x in enumerate(draft_tokens.tolist()):
            u = torch.rand((), generator=generator, dtype=torch.float64)
            if u >= target_probs[i, x] / draft_probs[i, x]:
                return [*emitted, last((target_probs[i] - draft_probs[i]).clamp(min=0), generator)]
            emitted.append(x)
        return [*emitted, last(target_probs[-1], generator)]

    return verify


def drawing(summed):
    """... by the thresholds of summed(weights)."""

    def last(weights, generator):
        sums = summed(weights)
        u = torch.rand(1, generator=generator, dtype=sums.dtype) * sums[-1]
        return int((sums > u).to(torch.uint8).argmax())

    return ending(last)


by_thresholds = drawing(lambda weights: weights.cumsum(0))
without_the_last_tile = drawing(
    lambda weights: weights.index_fill(0, torch.arange(len(weights) // 64 * 64, len(weights)), 0).cumsum(0)
)
by_weights = ending(lambda weights, generator: int(torch.multinomial(weights, 1, generator=generator)))
