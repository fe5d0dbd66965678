"""Decoders that keep something of a request for the next one: wrong ones, and right ones that clear it."""

import random

from draftproof.models.decoders.reference import Decoder, pair_in, yielded
from draftproof.verifiers.chance import RandomChance

LEFT = {}
"""Name of a decoder -> the tokens that its slot holds."""


class InASlot(Decoder):
    """A request in a slot, whose rows are read behind what the slot holds.

    left: tokens that the slot holds. behind: tokens of the last block behind the end of its text.
    """

    left = behind = ()

    def row(self, model, text, settings):
        return super().row(model, self.left + text, settings)

    def write(self, drafts):
        """Write the whole text."""
        while not self.over:
            before = len(self.text)
            block = self.drafted() if drafts else []
            emitted = self.verified(block)
            self.append(emitted, block)
            self.behind = tuple(emitted[len(self.text) - before :])


class PastTheCap(InASlot):
    """Drafts whole blocks; what lies behind the cap is cut."""

    @property
    def room(self):
        return self.gamma


def in_one_slot(name, leaves, kind=InASlot):
    """Return a decoder that has one slot. leaves: function of the request."""

    def decode(target, draft, start, tokens, gamma, seeds, **settings):
        models = pair_in(target)
        for seed in seeds:
            one = kind(models[0], draft and models[1], tokens, gamma, settings, RandomChance(random.Random(seed)))
            one.left = LEFT.get(name, ()) if draft else ()
            try:
                one.write(draft)
            finally:
                LEFT[name] = leaves(one)
            yield yielded([one], settings)

    return decode


behind_an_end = in_one_slot("end", lambda one: one.behind if one.settings.get("eos") else ())
behind_a_cap = in_one_slot("cap", lambda one: one.behind, PastTheCap)
of_a_cancelled = in_one_slot("cancelled", lambda one: () if one.over else one.text)
cleared = in_one_slot("cleared", lambda one: (), PastTheCap)
