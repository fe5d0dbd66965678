"""Decoders that make their mistakes with speculation and without, so that they hold same-as-plain, and a right one."""

import random

from draftproof.models.decoders.mutants import without
from draftproof.models.decoders.reference import Decoder, pair_in, yielded
from draftproof.models.decoding_settings import requests_of
from draftproof.verifiers.chance import RandomChance


def _alike(kind):
    def decode(target, draft, start, tokens, gamma, seeds, **settings):
        models = pair_in(target)
        for seed in seeds:
            chance = RandomChance(random.Random(seed))
            batch = [kind(models[0], draft and models[1], tokens, gamma, one, chance) for one in requests_of(settings)]
            for one in batch:
                while not one.over:
                    one.step()
            yield yielded(batch, settings)

    return decode


class WithoutTemperature(Decoder):
    """Passes the temperature over in all rows."""

    def row(self, model, text, settings):
        return super().row(model, text, without(settings, "temperature"))


class BelowTies(Decoder):
    """Keeps a tenth of the mass for all tokens where two are as likely."""

    def row(self, model, text, settings):
        row, raw = super().row(model, text, settings), model.row(self.prompt + text)
        return row if len({*raw}) == len(raw) else [0.9 * p + 0.1 / len(row) for p in row]


right, without_temperature, below_ties = map(_alike, (Decoder, WithoutTemperature, BelowTies))


def at_most_two(target, draft, start, tokens, gamma, seeds, **settings):
    """A right decoder that has slots for two requests."""
    if len(requests_of(settings)) > 2:
        raise ValueError("3 requests, 2 slots")
    yield from right(target, draft, start, tokens, gamma, seeds, **settings)
