"""Token verification over a vocabulary in shards, as tensor-parallel samplers draw: right forms and wrong ones.

Each shard finds the best of its scores, w / E, and its index; then the best of those is taken. The shards are chunks of
one tensor here, and what they exchange is stacked.
"""

import torch


def _verified(drawn):
    """Make a verifier whose tokens are drawn(weights)."""

    def verify(target_probs, draft_probs, draft_tokens):
        p, q, tokens = target_probs, draft_probs, draft_tokens.tolist()
        for i, x in enumerate(tokens):
            if not torch.rand((), dtype=p.dtype) * q[i, x] < p[i, x]:
                return [*tokens[:i], int(drawn((p[i] - q[i]).clamp(min=0)))]
        return [*tokens, int(drawn(p[-1]))]

    return verify


def _noise(weights):
    return torch.empty_like(weights).exponential_()


def _best(shards, offsets=None):
    """Return the index of the best score: the winner of the shards' winners."""
    values, ids = zip(*(shard.max(dim=-1) for shard in shards))
    starts = [0, *torch.tensor([len(shard) for shard in shards]).cumsum(0).tolist()] if offsets is None else offsets
    ids = torch.stack([i + start for i, start in zip(ids, starts)])
    return ids.gather(0, torch.stack(values).argmax(dim=0, keepdim=True))


def _in_two_levels(weights):
    """Take the best of two shards of a node, then the best of the nodes."""
    first, second = (weights / _noise(weights)).chunk(2)
    best = [(part.max(dim=-1), start) for node, at in ((first, 0), (second, len(first)))
            for part, start in zip(node.split(1), range(at, at + len(node)))]  # fmt: skip
    nodes = []
    for at, size in ((0, len(first)), (len(first), len(second))):
        values = torch.stack([value for (value, _), _ in best[at : at + size]])
        nodes.append((values.max(dim=-1), at))
    values = torch.stack([value for (value, _), _ in nodes])
    return torch.stack([index + at for (_, index), at in nodes])[values.argmax()]


best_of_two = _verified(lambda w: _best((w / _noise(w)).chunk(2)))
noise_in_each_shard = _verified(lambda w: _best([part / _noise(part) for part in w.chunk(2)]))
gumbel_noise = _verified(lambda w: _best((w.log() - torch.log(-torch.log(torch.rand_like(w)))).chunk(2)))
in_two_levels = _verified(_in_two_levels)


@_verified
def masked_and_summed(w):
    """Each shard knows whether it has the best score, and the others' indices become 0 before they are added."""
    shards = (w / _noise(w)).chunk(2)
    values, ids = zip(*(shard.max(dim=-1) for shard in shards))
    best = torch.stack(values).argmax()
    rank = torch.arange(len(shards))
    return torch.where(rank == best, torch.stack([ids[0], ids[1] + len(shards[0])]), 0).sum()


RIGHT = (best_of_two, noise_in_each_shard, gumbel_noise, in_two_levels, masked_and_summed)


def _normalised(part):
    return part / part.sum().clamp(min=1e-30)


@_verified
def fresh_noise_for_the_winners(w):
    """The winners race once more, by their weights and noise of their own."""
    shards = (w / _noise(w)).chunk(2)
    ids = torch.stack([shards[0].argmax(), shards[1].argmax() + len(shards[0])])
    return ids[(w[ids] / _noise(w[ids])).argmax()]


normaliser_of_each_shard = _verified(lambda w: _best([_normalised(part) / _noise(part) for part in w.chunk(2)]))
offset_of_the_next_shard = _verified(lambda w: _best((w / _noise(w)).chunk(2), [0, len(w) // 2]))
last_shard_lost = _verified(lambda w: _best((w / _noise(w)).chunk(3)[:2]))

REFUTED = (fresh_noise_for_the_winners, normaliser_of_each_shard, offset_of_the_next_shard, last_shard_lost)


@_verified
def noise_of_the_first_shard(w):
    """Every shard has the same noise, as after the same seed on each device."""
    noise = _noise(w)
    return _best([part / noise[: len(part)] for part in w.chunk(2)])


@_verified
def mass_of_the_shard_on_its_winner(w):
    """The best score of a shard counts as often as the shard weighs."""
    shards = (w / _noise(w)).chunk(2)
    values, ids = zip(*(shard.max(dim=-1) for shard in shards))
    scaled = torch.stack([value * part.sum() for value, part in zip(values, w.chunk(2))])
    return torch.stack([ids[0], ids[1] + len(shards[0])])[scaled.argmax()]


@_verified
def rounded_for_the_exchange(w):
    """The best scores of the shards are sent in half precision."""
    shards = (w / _noise(w)).chunk(2)
    values, ids = zip(*(shard.max(dim=-1) for shard in shards))
    return torch.stack([ids[0], ids[1] + len(shards[0])])[torch.stack(values).to(torch.bfloat16).argmax()]


capped_noise = _verified(lambda w: _best((w / _noise(w).clamp(max=2.1)).chunk(2)))

NOT_KNOWN = (noise_of_the_first_shard, mass_of_the_shard_on_its_winner, capped_noise, rounded_for_the_exchange)
