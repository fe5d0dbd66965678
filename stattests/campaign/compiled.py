"""The reference verifiers at millions of blocks a second: a compiled walk over their decision diagrams.

The walk knows no algorithm. Draft draws, acceptance and the last token are questions of one diagram, and the diagram
comes from running the reference itself over exact rationals.
"""

import hashlib
import json
from collections.abc import Callable
from functools import cache

import numpy as np

from ...models.decoding import Decoded, iteration
from ...models.errors import InputError
from ...models.problem import Problem, as_json
from ...verifiers.registry import Reference
from .clusters import installed
from .diagram import diagram
from .tally import Outcomes, Tally

WORDS_AT_ONCE = 2**15
"""Random words drawn at a time: 256 KiB, which stay in the cache."""

Array = np.ndarray


def walk(
    first: Array, edges: Array, goes: Array, root: int, longest: int, words: Array, blocks: int, counts: Array
) -> tuple[int, int]:
    """Walk the diagram once a block; stop where the words might not last for another: blocks walked and words used.

    first, edges, goes, root, longest: of the ``Diagram``
    words: [N] uint64, uniform and independent, used in order; all randomness is here: same words, same counts
    blocks: to walk at most
    counts: [outcomes] int64, added to
    """
    used = 0
    for done in range(blocks):
        if used + longest > words.size:
            return done, used
        node = root
        while node >= 0:
            word = words[used]
            used += 1
            k, last = first[node], first[node + 1] - 1
            while k < last and word >= edges[k]:
                k += 1
            node = goes[k]
        counts[-1 - node] += 1
    return blocks, used


@cache
def compiled_walk() -> Callable[..., tuple[int, int]]:
    """Return ``walk``, compiled by numba on first use and cached on disk if a folder for that can be written.

    Raises: InputError if numba is not installed.
    """
    njit = installed("numba", "draftproof[campaign]", "a campaign").njit
    try:
        return njit(nogil=True, cache=True)(walk)
    except RuntimeError:  # no folder for numba's cache
        return njit(nogil=True)(walk)


class CompiledSource:
    """A source of a campaign: one iteration of a reference verifier on a problem, from an empty context.

    problem: its numbers exact (Fraction, or sympy's QQ, which compiles faster)
    Guarantee: the sampled law is ``diagram.law()``, within longest * (V - 1) * 2^-64 of the verifier's exact law in
    total variation; the words come from PCG64DXSM seeded by SeedSequence, both of them stable across NumPy releases.
    Raises: InputError if the problem is too large for a diagram.
    """

    chunk = 2_000_000

    def __init__(self, verifier: Reference, problem: Problem):
        self.outcomes = Outcomes(problem.vocabulary, problem.gamma + 1)
        try:
            index = self.outcomes.index_of
            self.diagram = diagram(lambda chance: index(iteration(problem, verifier, Decoded(), chance).tokens))
        except InputError as error:
            raise InputError(f"{problem.name}: {error}") from None
        digest = hashlib.sha256(b"".join(array.tobytes() for array in self.diagram[:3])).hexdigest()
        self.identity = {"subject": verifier.name, "problem": fingerprint(problem), "diagram": digest}
        compiled_walk()

    def sample(self, seed: np.random.SeedSequence, n: int) -> Tally:
        """Sample n iterations."""
        tally, generator, table = Tally(self.outcomes), np.random.PCG64DXSM(seed), self.diagram
        step, size = compiled_walk(), max(WORDS_AT_ONCE, 2 * table.longest)
        while n > 0:
            words = generator.random_raw(size)
            n -= step(table.first, table.edges, table.goes, table.root, table.longest, words, n, tally.counts)[0]
        return tally


def fingerprint(problem: Problem) -> str:
    """Return SHA-256 of the problem, its name left aside."""
    data = as_json(problem.tabulated())
    del data["name"]
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()
