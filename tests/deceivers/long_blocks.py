"""Wrong only in long blocks: at a position, for a pair of them, by lanes, rings and chunks; right in short ones."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Defect:
    """What is wrong in blocks of at least ``shortest`` tokens, or of exactly so many.

    kind: "untested" at position ``place``; or a number that is used again: of a "pair" of positions the first's at the
      second, in "lanes" those of the first so many positions for as many more, in a "ring" of so many all along; or in
      chunks of so many the last position is not tested ("chunks").
    style: token verification that stops at the first rejection ("steps") or takes all coins at once ("vector"); block
      verification that takes all coins ("block"), or stops at the first acceptance from the end ("block backwards").
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
        """Return the position whose number is used at position k."""
        size = self.place
        if self.kind == "pair":
            return self.place if k == self.second else k
        if self.kind == "ring":
            return k % size
        return k - size if self.kind == "lanes" and size <= k < 2 * size else k

    def untested(self, k: int) -> bool:
        return (
            k == self.place if self.kind == "untested" else self.kind == "chunks" and k % self.place == self.place - 1
        )


def verifier(defect: Defect) -> Callable[..., list[int]]:
    def verify(target_probs: Any, draft_probs: Any, draft_tokens: Any, rng: Any) -> list[int]:
        gamma, wrong = len(draft_tokens), defect.acts(len(draft_tokens))
        numbers: dict[int, Any] = {}

        def number(k: int) -> Any:
            k = defect.source(k) if wrong else k
            if k not in numbers:
                numbers[k] = rng.random()
            return numbers[k]

        def ratio(k: int) -> float:
            return target_probs[k][draft_tokens[k]] / draft_probs[k][draft_tokens[k]]

        def kept(k: int, chance: float) -> Any:
            return True if wrong and defect.untested(k) else number(k) < chance

        def answer(tau: int, survived: float = 1.0) -> list[int]:
            row = target_probs[tau]
            if tau < gamma:
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
    raise AttributeError(name)
