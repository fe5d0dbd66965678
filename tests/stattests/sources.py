"""Sources of campaigns for tests: in a module of their own, so that workers can import them."""

import os

import numpy as np

from draftproof.stattests.campaign.tally import Outcomes, Tally

DRAWN = []
"""A mark for each time that this process drew."""


class Uniform:
    """Four outcomes, one as likely as another. planted: what is wrong with it, from chunk 3 on or all the time."""

    chunk = 2_000

    def __init__(self, planted=None):
        self.outcomes, self.planted = Outcomes(4, 1), planted
        self.identity = {"subject": "uniform"}
        self.kept = []

    def sample(self, seed, n):
        DRAWN.append(True)
        if self.planted == "crashes" and seed.spawn_key[0] == 3:
            os._exit(1)
        entropy = [seed.entropy, os.getpid()] if self.planted == "process" else seed
        drawn = np.random.default_rng(entropy).integers(4, size=n - (self.planted == "drops"))
        if self.planted == "keeps":
            self.kept.append(drawn)
        return Tally(self.outcomes, np.bincount(drawn, minlength=4))


def has_drawn():
    """Return whether this process has drawn from a uniform source."""
    return bool(DRAWN)
