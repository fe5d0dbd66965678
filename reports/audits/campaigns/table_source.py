"""The reference verifiers at millions of blocks a second: their outcomes, looked up in a table of their exact law."""

import hashlib
import json
from itertools import accumulate, islice

import numpy as np

from ....models.decoding import Decoded, iteration
from ....models.errors import InputError
from ....models.problem import Problem, as_json
from ....models.rationals import as_fraction
from ....proofs.enumeration import paths_of
from ....stattests.campaign.tally import Outcomes, Tally
from ....verifiers.registry import Reference

WORD_VALUES = 2**64
"""Values of a random word: the edges between outcomes are rounded to whole ones."""

WORDS_AT_ONCE = 2**15
"""Random words drawn at a time: 256 KiB, which stay in the cache."""

MOST_PATHS = 400_000
"""Random paths of an iteration beyond which no table is made (some ten seconds)."""


class TableSource:
    """A source of a campaign: one iteration of a reference verifier on a problem, from an empty context.

    The law comes from running the verifier itself, over rationals, on every random path. A random word then stands for
    an outcome, by its place between edges.

    problem: its numbers exact, in sympy's QQ.
    edges, emitted: [outcomes - 1] uint64 and [outcomes]; an outcome is emitted by the words below its edge that are not
        below the one before.
    Guarantee: the sampled law is the exact one within outcomes * 2^-64 in total variation. The words come from
    PCG64DXSM seeded by SeedSequence, both of them stable across NumPy releases.
    Raises: InputError if there are too many paths.
    """

    chunk = 2_000_000

    def __init__(self, verifier: Reference, problem: Problem):
        self.outcomes = Outcomes(problem.vocabulary, problem.gamma + 1)
        index, law = self.outcomes.index_of, dict[int, object]()
        paths = paths_of(lambda chance: index(iteration(problem, verifier, Decoded(), chance).tokens))
        for outcome, probability in islice(paths, MOST_PATHS):
            law[outcome] = law.get(outcome, 0) + probability
        if next(paths, None):
            raise InputError(
                f"{problem.name}: more than {MOST_PATHS:,} random paths; expected a smaller vocabulary or gamma"
            )
        shares = (round(as_fraction(share) * WORD_VALUES) for share in accumulate(law.values()))
        self.emitted = np.array([*law])
        self.edges = np.array([min(share, WORD_VALUES - 1) for share in shares][:-1], dtype=np.uint64)
        digest = hashlib.sha256(self.edges.tobytes() + self.emitted.tobytes()).hexdigest()
        self.identity = {"subject": verifier.name, "problem": fingerprint(problem), "table": digest}

    def outcomes_of(self, words: np.ndarray) -> np.ndarray:
        """Return the number of the outcome that each random word stands for."""
        return self.emitted[np.searchsorted(self.edges, words, side="right")]

    def sample(self, seed: np.random.SeedSequence, n: int) -> Tally:
        """Sample n iterations."""
        tally, generator = Tally(self.outcomes), np.random.PCG64DXSM(seed)
        for begun in range(0, n, WORDS_AT_ONCE):
            emitted = self.outcomes_of(generator.random_raw(min(WORDS_AT_ONCE, n - begun)))
            tally.counts += np.bincount(emitted, minlength=self.outcomes.size)
        return tally


def fingerprint(problem: Problem) -> str:
    """Return SHA-256 of the problem, its name left aside."""
    data = as_json(problem.tabulated())
    del data["name"]
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()
