"""Functions that emit one token drawn from target_probs[0] with torch, each by another way of drawing."""

import time

import torch
from torch import multinomial as imported_multinomial


def uniform_against_edges(target_probs, draft_probs, draft_tokens):
    return [min(int((torch.cumsum(target_probs[0], 0) <= torch.rand(1, dtype=target_probs.dtype)).sum()), 2)]


def uniform_like(target_probs, draft_probs, draft_tokens):
    row = target_probs[0]
    tails = row.flip(0).cumsum(0).flip(0)
    heads = torch.rand_like(row) * tails < row
    return [int(heads.int().argmax()) if bool(heads.any()) else 2]


def uniform_in_place(target_probs, draft_probs, draft_tokens):
    u = torch.empty(3, dtype=target_probs.dtype)
    u.uniform_()
    return [min(int((target_probs[0].cumsum(0) <= u[0]).sum()), 2)]


def logarithm_of_uniform(target_probs, draft_probs, draft_tokens):
    u = torch.rand((), dtype=target_probs.dtype).log()
    return [min(int((target_probs[0].cumsum(0).log() <= u).sum()), 2)]


def item(target_probs, draft_probs, draft_tokens):
    u, edge = torch.rand(1, dtype=torch.float64).item(), 0.0
    for token, p in enumerate(target_probs[0].tolist()):
        edge += p
        if u < edge:
            return [token]
    return [2]


def searchsorted(target_probs, draft_probs, draft_tokens):
    cdf = target_probs[0].cumsum(0)
    return torch.searchsorted(cdf, torch.rand(1, dtype=cdf.dtype), right=True).clamp(max=2)


def with_generator(target_probs, draft_probs, draft_tokens, generator):
    u = torch.rand(1, generator=generator, dtype=target_probs.dtype)
    return [min(int((target_probs[0].cumsum(0) <= u).sum()), 2)]


def multinomial(target_probs, draft_probs, draft_tokens):
    return imported_multinomial(target_probs[0], 1)


def categorical(target_probs, draft_probs, draft_tokens):
    return torch.distributions.Categorical(probs=target_probs[0]).sample()


def bernoulli_coins(target_probs, draft_probs, draft_tokens):
    row = target_probs[0]
    tails = row.flip(0).cumsum(0).flip(0)
    heads = torch.bernoulli((row / tails.clamp(min=1e-30)).clamp(max=1.0))
    return [int(heads.argmax()) if bool(heads.any()) else 2]


def exponential_race(target_probs, draft_probs, draft_tokens):
    noise = torch.empty_like(target_probs[0]).exponential_(1)
    return [(target_probs[0] / noise).argmax(dim=-1)]


def race_in_place(target_probs, draft_probs, draft_tokens):
    noise = torch.empty_like(target_probs[0]).exponential_()
    return [target_probs[0].clone().div_(noise).max(dim=-1).indices]


def gumbel_max(target_probs, draft_probs, draft_tokens):
    noise = -torch.log(-torch.log(torch.rand_like(target_probs[0])))
    return [torch.argmax(target_probs[0].log() + noise)]


LATTICE = (
    uniform_against_edges,
    uniform_like,
    uniform_in_place,
    logarithm_of_uniform,
    item,
    searchsorted,
    with_generator,
)
EXACT = (multinomial, categorical, bernoulli_coins)
RACES = (exponential_race, race_in_place, gumbel_max)


def clock_between(target_probs, draft_probs, draft_tokens):
    row = target_probs[0] + 0.0
    late = time.time() > 4e9
    return [0] if late else torch.multinomial(row, 1)


def clock_in_apply(target_probs, draft_probs, draft_tokens):
    return torch.multinomial(target_probs[0].clone().apply_(lambda p: p if time.time() < 4e9 else 1.0), 1)


class _ByTheClock:
    def __len__(self):
        return 1

    def __getitem__(self, index):
        return [int(time.time() > 4e9)][index]


def clock_in_a_sequence(target_probs, draft_probs, draft_tokens):
    late = torch.tensor(_ByTheClock())
    return torch.multinomial(target_probs[0], 1) * (1 - late)


SURROUNDINGS = (clock_between, clock_in_apply, clock_in_a_sequence)
