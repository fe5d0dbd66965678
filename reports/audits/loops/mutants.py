"""Decoding loops with a known bug each: ``DecodingLoop`` with one part replaced, and the bugs they descend from.

Run one by ``generate(..., verifier=mutant.verifier, loop=mutant.loop, **mutant.settings)``, or by ``generate_by_paths``
if it has several paths.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ....models.generating.caches import CachedModel
from ....models.generating.loop import DecodingLoop
from ....models.generating.loop_verifiers import Drafted
from ....models.generating.sampling import Streams, uniform_draws, warp
from ....models.generating.several_paths import SeveralPaths
from ....models.json_files import read_file
from ....verifiers.batched.emitted import Emitted, EmittedPaths
from ....verifiers.batched.sampling import Uniforms


class LoopMutant(NamedTuple):
    """A loop with a known bug, and what shows it.

    name: "L01", ...
    loop: its class.
    title: the bug.
    breaks: "text", the law of one text; "target rows" or "draft rows", what the verifier is given differs from a
        forward pass over the whole text (wrong draft rows cost acceptance, not the law); "batch", texts of a batch
        depend on each other.
    ancestor: the bug of real software, or the source, that it descends from.
    link: its address.
    settings, verifier: those with which it shows, besides the defaults.
    paths: draft paths of a text with which it shows.
    ragged: whether it shows only in batches of prompts of several lengths.
    """

    name: str
    loop: type[DecodingLoop]
    title: str
    breaks: str
    ancestor: str
    link: str
    settings: Mapping[str, Any] = MappingProxyType({})
    verifier: str = "block"
    paths: int = 1
    ragged: bool = False


# ---------------------------------------------------------------- caches


class OneShort(CachedModel):
    """A cache that drops one token too many, and takes it for read."""

    def rewind(self, length: Tensor) -> None:
        super().rewind(length - 1)
        self.read = length


class OneLong(CachedModel):
    """A cache that keeps the first rejected token, if there is one."""

    def rewind(self, length: Tensor) -> None:
        read = torch.minimum(self.read, length)
        super().rewind(length + 1)
        self.read = read


class Stale(CachedModel):
    """A cache that takes all but the last token for read, X_gamma included, which has only been drawn."""

    def rewind(self, length: Tensor) -> None:
        super().rewind(length)
        self.read = length


class CountsColumns(CachedModel):
    """A cache whose positions are counted by columns, holes and padding included."""

    def positions(self, real: Tensor) -> Tensor:
        columns = torch.arange(self.filled.shape[1] - real.shape[1], self.filled.shape[1])
        return columns.expand(real.shape)


class SeesHoles(CachedModel):
    """A cache that attends to padding and to rejected tokens."""

    def mask(self) -> None:
        return None


# ---------------------------------------------------------------- rows and draft tokens


class DraftAloneWarped(DecodingLoop):
    def target_scores(self, logits: Tensor) -> Tensor:
        return warp()(logits[..., : self.vocabulary])


class RawDraftScores(DecodingLoop):
    def proposal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        return super().proposal(logits)[0], warp()(logits)


class GreedyDraft(DecodingLoop):
    def proposal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.warp(logits)
        return scores.argmax(-1), scores


class BonusFromRowBefore(DecodingLoop):
    def target_scores(self, logits: Tensor) -> Tensor:
        scores = super().target_scores(logits)
        return torch.cat([scores[:, :-1], scores[:, -2:-1]], 1)


class LastTokenEnds(DecodingLoop):
    """A loop that looks for the end token only in the last place of what was added."""

    def cut(self, tokens: list[int]) -> list[int]:
        return tokens


class NotCarried(DecodingLoop):
    def verified(self, drafted: Drafted) -> Emitted | EmittedPaths:
        return self.verifier.verify(drafted, self.chances)


# ---------------------------------------------------------------- random numbers


class SameForAllRows(Streams):
    """Streams with one seed for every row of the batch."""

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        return super().generators(seed, 0)


class SeededAlike(Streams):
    """Streams of draft, coins and residual that begin in one state."""

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        state = super().generators(seed, row)[0]
        return [deepcopy(state) for _ in range(3)]


class CoinDrawsToo(Streams):
    """Streams that draw the last token of a block with the number that the last draft token was tested with."""

    def uniforms(self, tokens: Tensor) -> Uniforms:
        coins = uniform_draws(self.acceptance, tokens.shape[1]).to(tokens.device)
        return Uniforms(coins, coins[:, -1:].expand(-1, 2).contiguous())


# ---------------------------------------------------------------- several paths


class ShiftedByChoice(CachedModel):
    """A cache whose positions are one too large once a path was chosen."""

    shift = 0

    def select(self, rows: Sequence[int]) -> None:
        super().select(rows)
        self.shift = 1

    def positions(self, real: Tensor) -> Tensor:
        return super().positions(real) + self.shift


class SameForAllPaths(Streams):
    """Streams that draw all paths of a text, two here, with the same random numbers."""

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        first = super().generators(seed, row - row % 2)
        return [first[0], *super().generators(seed, row)[1:]]


class KeepsTheFirstPath(SeveralPaths):
    def verified(self, drafted: Drafted) -> EmittedPaths:
        given = super().verified(drafted)
        self.accepted_rows = [row - row % self.paths for row in self.accepted_rows]
        return given


class RowsOfAnotherPath(SeveralPaths):
    def target_scores(self, logits: Tensor) -> Tensor:
        scores = super().target_scores(logits)
        return scores.unflatten(0, (-1, self.paths)).roll(1, 1).flatten(0, 1)


def _mutant(loop: str, parts: Mapping[str, str] = MappingProxyType({}), **known: Any) -> LoopMutant:
    """Return the mutant of a row of the catalogue. parts: of the loop, replaced by classes of this module."""
    base, replaced = globals()[loop], {name: globals()[part] for name, part in parts.items()}
    return LoopMutant(loop=type(known["name"], (base,), replaced) if replaced else base, **known)


LOOP_MUTANTS = {
    row["name"]: _mutant(**row) for row in read_file(list[dict[str, Any]], Path(__file__).with_suffix(".json"))
}
"""The mutants by name; what is known of each stands in mutants.json."""
