"""Sources of campaigns for tests: in a module of their own, so that workers can import them."""

import os
import sys

import numpy as np

from draftproof.stattests.campaign.tally import Outcomes, Tally


class Uniform:
    """Four outcomes, one as likely as another. planted: what is wrong with it, from chunk 3 on or all the time."""

    chunk = 2_000

    def __init__(self, planted=None):
        self.outcomes, self.planted = Outcomes(4, 1), planted
        self.identity = {"subject": "uniform"}
        self.kept = []

    def sample(self, seed, n):
        if self.planted == "crashes" and seed.spawn_key[0] == 3:
            os._exit(1)
        entropy = [seed.entropy, os.getpid()] if self.planted == "process" else seed
        drawn = np.random.default_rng(entropy).integers(4, size=n - (self.planted == "drops"))
        if self.planted == "keeps":
            self.kept.append(drawn)
        return Tally(self.outcomes, np.bincount(drawn, minlength=4))


def has_drawn():
    """Whether this process has drawn from a compiled source."""
    module = sys.modules.get("draftproof.stattests.campaign.compiled")
    return module is not None and module.compiled_walk.cache_info().currsize > 0
