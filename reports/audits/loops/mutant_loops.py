"""Loops with one known bug each: ``DecodingLoop`` with one part replaced. ``mutants`` links the bugs they descend from."""

from copy import deepcopy

import numpy as np
import torch
from torch import Tensor

from ....models.generating.caches import CachedModel
from ....models.generating.loop import DecodingLoop
from ....models.generating.loop_verifiers import Drafted
from ....models.generating.randomness import Streams, uniform_draws
from ....models.generating.sampling import warp
from ....verifiers.batched.emitted import Emitted
from ....verifiers.batched.sampling import Uniforms


class OneShort(CachedModel):
    """Forgets one token too many, and believes that it has it."""

    def rewind(self, length: Tensor) -> None:
        super().rewind(length - 1)
        self.read = length


class OneLong(CachedModel):
    """Keeps one rejected token, if there is one."""

    def rewind(self, length: Tensor) -> None:
        kept = torch.minimum(self.read, length)
        super().rewind(length + 1)
        self.read = kept


class Stale(CachedModel):
    """Believes that it has read all of the text but the last token, X_gamma included, which it has only drawn."""

    def rewind(self, length: Tensor) -> None:
        super().rewind(length)
        self.read = length


class CountsColumns(CachedModel):
    """Positions counted by columns, holes and padding included."""

    def positions(self, real: Tensor) -> Tensor:
        columns = torch.arange(self.filled.shape[1] - real.shape[1], self.filled.shape[1])
        return columns.expand(real.shape)


class SeesHoles(CachedModel):
    """Attends to padding and to rejected tokens."""

    def mask(self) -> None:
        return None


class TargetShort(DecodingLoop):
    target_cache = OneShort


class TargetLong(DecodingLoop):
    target_cache = OneLong


class DraftStale(DecodingLoop):
    draft_cache = Stale


class WrongPositions(DecodingLoop):
    target_cache = draft_cache = CountsColumns


class HolesSeen(DecodingLoop):
    target_cache = draft_cache = SeesHoles


class DraftAloneWarped(DecodingLoop):
    """Temperature, top-k and top-p for the draft; the target as it is."""

    def target_scores(self, logits: Tensor) -> Tensor:
        return warp()(logits[..., : self.vocabulary])


class RawDraftScores(DecodingLoop):
    """Draft tokens drawn from processed logits, and tested with the raw ones."""

    def proposal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        return super().proposal(logits)[0], warp()(logits)


class GreedyDraft(DecodingLoop):
    """The draft's most probable token, tested as if it had been drawn."""

    def proposal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.warp(logits)
        return scores.argmax(-1), scores


class BonusFromRowBefore(DecodingLoop):
    """The token behind a block accepted in full is drawn from the row of the block's last token."""

    def target_scores(self, logits: Tensor) -> Tensor:
        scores = super().target_scores(logits)
        return torch.cat([scores[:, :-1], scores[:, -2:-1]], 1)


class LastTokenEnds(DecodingLoop):
    """Looks for the end token in the last place of what was added only."""

    def cut(self, tokens: list[int]) -> list[int]:
        return tokens


class NotCarried(DecodingLoop):
    """Greedy block verification in the plain loop: the modified target is forgotten at once."""

    def verified(self, drafted: Drafted) -> Emitted:
        return self.rule.verify(drafted, self.chances)


class SameForAllRows(Streams):
    """One seed for every row of the batch."""

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        return super().generators(seed, 0)


class SeededAlike(Streams):
    """The sampler of the draft, the coins and the residual begin in one state."""

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        state = super().generators(seed, row)[0]
        return [deepcopy(state) for _ in range(3)]


class CoinDrawsToo(Streams):
    """The last token of a block is drawn with the number that the last draft token was tested with."""

    def uniforms(self, tokens: Tensor) -> Uniforms:
        coins = uniform_draws(self.acceptance, tokens.shape[1]).to(tokens.device)
        return Uniforms(coins, coins[:, -1:].expand(-1, 2).contiguous())


class SharedAcrossRows(DecodingLoop):
    streams = SameForAllRows


class SharedWithDraft(DecodingLoop):
    streams = SeededAlike


class SharedWithResidual(DecodingLoop):
    streams = CoinDrawsToo
