"""Wrong only in long blocks: at a position, for a pair of them, by lanes, rings and chunks; right in short ones.

``long_blocks.py:d17`` has the defect that is drawn from seed 17; the others are classes that an audit once cleared.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from draftproof.models.long_blocks import LENGTHS_APART

AT_ONE = ("untested", "refused", "draft ignored", "residual ignored")
STYLES = ("steps", "vector", "block", "block backwards")
"""Token verification that stops at the first rejection, or takes all coins at once; block verification that takes all
coins, or stops at the first acceptance from the end."""


@dataclass(frozen=True)
class Defect:
    """What is wrong in blocks of at least ``shortest`` tokens, or of exactly so many.

    kind: of AT_ONE, at position ``place``; or a number that is used again: of a "pair" of positions the first's at the
      second, in "lanes" those of the first so many positions for as many more, in a "ring" of so many all along; or in
      chunks of so many the last position is not tested ("chunks").
    """

    kind: str
    style: str
    shortest: int
    exactly: bool
    place: int
    second: int = 0

    def acts(self, gamma: int) -> bool:
        return gamma == self.shortest if self.exactly else gamma >= self.shortest

    def source(self, k: int) -> int:
        """The position whose number is used at position k."""
        size = self.place
        if self.kind == "pair":
            return self.place if k == self.second else k
        if self.kind == "ring":
            return k % size
        return k - size if self.kind == "lanes" and size <= k < 2 * size else k

    def at(self, k: int) -> bool:
        """Whether position k is one at which the mistake is made."""
        return k == self.place if self.kind in AT_ONE else self.kind == "chunks" and k % self.place == self.place - 1

    def shown_by(self, gamma: int) -> Iterator[set[int]]:
        """The sets of positions of which one has to be decided for the mistake to show. A coin of block verification
        depends on the rows before and behind the token."""
        for k in range(gamma):
            if self.at(k) or self.source(k) != k:
                needed = {k, self.source(k)}
                yield needed if not self.style.startswith("block") else {*needed, *(i + 1 for i in needed)} - {gamma}


def drawn(seed: int) -> Defect:
    """A defect of a random kind and style in blocks from a random length on, or of one that audits examine."""
    draw = random.Random(f"long blocks/{seed}")
    kind = draw.choice((*AT_ONE, "pair", "pair", "lanes", "ring", "chunks"))
    exactly = draw.random() < 0.5
    shortest = draw.choice(LENGTHS_APART) if exactly else draw.randint(6, 64)
    first, second = sorted(draw.sample(range(shortest), 2))
    sizes = {"lanes": draw.randint(2, shortest // 2), "ring": draw.randint(2, shortest - 1), "pair": first}
    place = sizes.get(kind, draw.randint(2, shortest) if kind == "chunks" else draw.randrange(shortest))
    return Defect(kind, draw.choice(STYLES), shortest, exactly, place, second)


def verifier(defect: Defect) -> Callable[..., list[int]]:
    def verify(target_probs: Any, draft_probs: Any, draft_tokens: Any, rng: Any) -> list[int]:
        gamma, wrong = len(draft_tokens), defect.acts(len(draft_tokens))
        numbers: dict[int, Any] = {}

        def here(k: int, kind: str) -> bool:
            return wrong and defect.kind == kind and defect.at(k)

        def number(k: int) -> Any:
            k = defect.source(k) if wrong else k
            if k not in numbers:
                numbers[k] = rng.random()
            return numbers[k]

        def ratio(k: int) -> float:
            x = draft_tokens[k]
            return target_probs[k][x] / (1.0 if here(k, "draft ignored") else draft_probs[k][x])

        def kept(k: int, chance: float) -> Any:
            if here(k, "untested") or here(k, "chunks"):
                return True
            return not here(k, "refused") and number(k) < chance

        def answer(tau: int, survived: float = 1.0) -> list[int]:
            row = target_probs[tau]
            if tau < gamma and not here(tau, "residual ignored"):
                rest = np.maximum(survived * row - draft_probs[tau], 0)
                row = rest if rest.sum() > 0 else row
            return [*map(int, draft_tokens[:tau]), int(rng.choice(len(row), p=row / row.sum()))]

        if defect.style == "steps":
            return answer(next((k for k in range(gamma) if not kept(k, ratio(k))), gamma))
        if defect.style == "vector":
            return answer(int(np.cumprod([bool(kept(k, ratio(k))) for k in range(gamma)]).sum()))
        survived = [1.0]
        for k in range(gamma):
            survived.append(min(survived[-1] * ratio(k), 1.0))

        def chance(k: int) -> float:
            if k + 1 == gamma:
                return survived[gamma]
            rest = np.maximum(survived[k + 1] * target_probs[k + 1] - draft_probs[k + 1], 0).sum()
            return rest / (rest + 1 - survived[k + 1]) if rest + 1 - survived[k + 1] > 0 else 1.0

        backwards = reversed(range(gamma))
        accepted = (k + 1 for k in backwards if kept(k, chance(k)))
        tau = next(accepted, 0) if defect.style == "block backwards" else max(accepted, default=0)
        return answer(tau, survived[tau])

    return verify


PLANTED = {
    "second_of_more_than_five": Defect("untested", "steps", 6, False, 1),
    "ring_of_24": Defect("ring", "vector", 6, False, 24),
    "four_lanes_again": Defect("lanes", "vector", 8, False, 4),
    "last_of_chunks_of_21": Defect("chunks", "steps", 6, False, 21),
    "far_pair": Defect("pair", "vector", 64, True, 5, 58),
    "far_pair_of_blocks": Defect("pair", "block", 64, True, 5, 58),
}
"""Mistakes that a full audit cleared while it decided no positions between the ends of long blocks."""


def shared_by_pairs(target_probs: Any, draft_probs: Any, draft_tokens: Any, rng: Any) -> list[int]:
    """Token verification that takes one number for two neighbouring positions, of more than five."""
    gamma = len(draft_tokens)
    numbers = rng.random(gamma)
    numbers = np.repeat(numbers[::2], 2)[:gamma] if gamma > 5 else numbers
    at = np.arange(gamma)
    accepted = numbers < target_probs[at, draft_tokens] / draft_probs[at, draft_tokens]
    tau = int(np.cumprod(accepted).sum())
    row = target_probs[tau] if tau == gamma else np.maximum(target_probs[tau] - draft_probs[tau], 0)
    return [*map(int, draft_tokens[:tau]), int(rng.choice(len(row), p=row / row.sum()))]


@cache
def __getattr__(name: str) -> Callable[..., list[int]]:
    if name in PLANTED:
        return verifier(PLANTED[name])
    if name.startswith("d") and name[1:].isdigit():
        return verifier(drawn(int(name[1:])))
    raise AttributeError(name)
