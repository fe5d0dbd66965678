"""Decoders that keep something of a request for the next one: wrong ones, and right ones that clear it."""

import random

from draftproof.models.decoders.reference import Decoder, pair_in, yielded
from draftproof.verifiers.chance import RandomChance

LEFT = {}
"""Name of a decoder -> the tokens that its slot holds."""


class InASlot(Decoder):
    """A request in a slot, whose rows are read behind what the slot holds."""

    left = ()

    def row(self, model, text, settings):
        return super().row(model, self.left + text, settings)


class PastTheCap(InASlot):
    """Drafts whole blocks; what lies behind the cap is cut."""

    @property
    def room(self):
        return self.gamma


def in_one_slot(name, leaves, kind=InASlot):
    """Return a decoder that has one slot. leaves: function of the request and of the tokens behind its end."""

    def decode(target, draft, start, tokens, gamma, seeds, **settings):
        models = pair_in(target)
        for seed in seeds:
            one = kind(models[0], draft and models[1], tokens, gamma, settings, RandomChance(random.Random(seed)))
            one.left, behind, done = LEFT.get(name, ()) if draft else (), (), False
            try:
                while not one.over:
                    before = len(one.text)
                    block = one.drafted() if draft else []
                    emitted = one.verified(block)
                    one.append(emitted, block)
                    behind = tuple(emitted[len(one.text) - before :])
                done = True
            finally:
                LEFT[name] = leaves(one, behind, done)
            yield yielded([one], settings)

    return decode


behind_an_end = in_one_slot("end", lambda one, behind, done: behind if one.settings.get("eos") else ())
behind_a_cap = in_one_slot("cap", lambda one, behind, done: behind, PastTheCap)
of_a_cancelled = in_one_slot("cancelled", lambda one, behind, done: () if done else one.text)
cleared = in_one_slot("cleared", lambda one, behind, done: (), PastTheCap)
