"""Functions that emit one token drawn from target_probs[0] with torch, each by another way of drawing."""

import time

import torch
from torch import multinomial as imported_multinomial


def _of(draw):
    """Make a function that emits draw(row)."""
    return lambda target_probs, draft_probs, draft_tokens: [draw(target_probs[0])]


def _counted(edges, u):
    """Return the token that u points at."""
    return min(int((edges <= u).sum()), 2)


def _first(heads):
    return int(heads.int().argmax()) if bool(heads.any()) else 2


def _tails(row):
    return row.flip(0).cumsum(0).flip(0)


uniform_against_edges = _of(lambda row: _counted(torch.cumsum(row, 0), torch.rand(1, dtype=row.dtype)))
uniform_like = _of(lambda row: _first(torch.rand_like(row) * _tails(row) < row))
uniform_in_place = _of(lambda row: _counted(row.cumsum(0), torch.empty(3, dtype=row.dtype).uniform_()[0]))
logarithm_of_uniform = _of(lambda row: _counted(row.cumsum(0).log(), torch.rand((), dtype=row.dtype).log()))
searchsorted = _of(
    lambda row: torch.searchsorted(row.cumsum(0), torch.rand(1, dtype=row.dtype), right=True).clamp(max=2)
)
multinomial = _of(lambda row: imported_multinomial(row, 1))
categorical = _of(lambda row: torch.distributions.Categorical(probs=row).sample())
bernoulli_coins = _of(lambda row: _first(torch.bernoulli((row / _tails(row).clamp(min=1e-30)).clamp(max=1.0))))
exponential_race = _of(lambda row: (row / torch.empty_like(row).exponential_(1)).argmax(dim=-1))
race_in_place = _of(lambda row: row.clone().div_(torch.empty_like(row).exponential_()).max(dim=-1).indices)
race_with_its_dimensions = _of(lambda row: (row / torch.empty_like(row).exponential_(1)).argmax(keepdim=True)[0])
gumbel_max = _of(lambda row: torch.argmax(row.log() - torch.log(-torch.log(torch.rand_like(row)))))


@_of
def item(row):
    u, edge = torch.rand(1, dtype=torch.float64).item(), 0.0
    for token, p in enumerate(row.tolist()):
        edge += p
        if u < edge:
            return token
    return 2


def with_generator(target_probs, draft_probs, draft_tokens, generator):
    return [_counted(target_probs[0].cumsum(0), torch.rand(1, generator=generator, dtype=target_probs.dtype))]


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
RACES = (exponential_race, race_in_place, race_with_its_dimensions, gumbel_max)


@_of
def clock_between(row):
    row = row + 0.0
    late = time.time() > 4e9
    return 0 if late else torch.multinomial(row, 1)


@_of
def clock_in_apply(row):
    return torch.multinomial(row.clone().apply_(lambda p: p if time.time() < 4e9 else 1.0), 1)


class _ByTheClock:
    def __len__(self):
        return 1

    def __getitem__(self, index):
        return [int(time.time() > 4e9)][index]


@_of
def clock_in_a_sequence(row):
    late = torch.tensor(_ByTheClock())
    return torch.multinomial(row, 1) * (1 - late)


SURROUNDINGS = (clock_between, clock_in_apply, clock_in_a_sequence)
