"""Wrong decoders, one bug each: of settings, ends, caches, logprobs and batches."""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

from ..decoding_settings import TextRequest, ended, modified
from ..law import Model, Prefix
from .reference import Decoder, DrawnToken, Row


def without(settings: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the settings without these."""
    return {name: value for name, value in settings.items() if name not in names}


class OnOneSide(Decoder):
    """A decoder whose settings reach a part of the rows alone.

    lost: the settings. of_block, of_bonus: whether they are lost in the rows of drafted tokens, and of the bonus token.
    """

    lost: tuple[str, ...] = ()
    of_block, of_bonus = True, True

    def target_row(self, text: Prefix, place: int) -> Row:
        if self.draft is None:
            return super().target_row(text, place)
        bonus = place >= self.placed
        lose = self.of_bonus if bonus else self.of_block
        return self.row(self.target, text, without(self.settings, *self.lost) if lose else self.settings)

    placed = 0

    def verified(self, block: Sequence[DrawnToken]) -> list[int]:
        self.placed = len(block)
        return super().verified(block)


class BonusWithoutTemperature(OnOneSide):
    lost, of_block = ("temperature",), False


class MinPOfTheBonusAlone(OnOneSide):
    lost, of_bonus = ("min_p",), False


class BiasOfNeitherSide(OnOneSide):
    lost = ("logit_bias",)


class BannedInTheBonus(OnOneSide):
    lost, of_block = ("banned",), False


class TopKOfTheDraftAlone(OnOneSide):
    lost = ("top_k",)


class AllowedInTheDraftAlone(OnOneSide):
    lost, of_bonus = ("allowed",), False


class GreedyVerifiedBySampling(OnOneSide):
    lost, of_bonus = ("temperature",), False


class PenaltyOfTheDraftAlone(OnOneSide):
    lost = ("repetition_penalty",)


class EosOfTheBonusTooEarly(OnOneSide):
    lost, of_block = ("min_tokens",), False


class TopPBeforeTemperature(Decoder):
    def target_row(self, text: Prefix, place: int) -> Row:
        if self.draft is None:
            return super().target_row(text, place)
        late = self.settings.get("temperature", 1.0)
        kept = self.row(self.target, text, without(self.settings, "temperature"))
        heated = [p ** (1 / late) for p in kept]
        return [p / sum(heated) for p in heated]


class WithAnotherHistory(Decoder):
    """A decoder whose model reads the text as it is, while its settings look at another one."""

    def row_as_of(self, text: Prefix, history: Prefix) -> Row:
        """Return the target's row after the text, under the settings after the history."""
        asked = TextRequest(self.prompt, history, self.tokens, self.settings)
        return modified(self.target.row(self.prompt + text), asked, self.order)


class BlockAsOfItsStart(WithAnotherHistory):
    """A decoder that looks at the history once a block: the tokens of the block are not in it."""

    def target_row(self, text: Prefix, place: int) -> Row:
        fresh = super().target_row(text, place)
        if not place or self.draft is None:
            return fresh
        return self.row_as_of(text, self.text)


class PenaltiesOfRejectedTokens(WithAnotherHistory):
    """A decoder that goes on counting drafted tokens when they are rejected."""

    counted: Prefix = ()

    def target_row(self, text: Prefix, place: int) -> Row:
        return self.row_as_of(text, text + self.counted)

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        self.counted += tuple(token for token, _ in block[len(emitted) - 1 :])
        super().append(emitted, block)


class PenaltiesTwice(WithAnotherHistory):
    """A decoder that counts tokens of a block when they are drafted and when they are verified."""

    def target_row(self, text: Prefix, place: int) -> Row:
        return self.row_as_of(text, text + text[len(self.text) :])


class PenaltiesWithoutThePrompt(Decoder):
    def target_row(self, text: Prefix, place: int) -> Row:
        asked = TextRequest(() if self.draft is not None else self.prompt, text, self.tokens, self.settings)
        return modified(self.target.row(self.prompt + text), asked, self.order)


class FrequencyAsPresence(Decoder):
    def target_row(self, text: Prefix, place: int) -> Row:
        settings = dict(self.settings)
        if self.draft is not None:
            settings["presence_penalty"] = settings.pop("frequency_penalty", 0.0)
        return self.row(self.target, text, settings)


class BehindEos(Decoder):
    """A decoder that writes a block whole, whatever token of it ends the text."""

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        self.text = (*self.text, *emitted)[: self.tokens]

    @property
    def over(self) -> bool:
        return len(self.text) >= self.tokens or bool({*self.text} & {*(self.settings.get("eos") or ())})


class BehindTheCap(Decoder):
    """A decoder that drafts and writes a block whole, whatever the cap is."""

    @property
    def room(self) -> int:
        return self.gamma

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        self.text = (*self.text, *emitted)


class StopsWithinABlock(Decoder):
    """A decoder that looks for a stop sequence in each block by itself."""

    whole = False

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        before, stops = len(self.text), [tuple(stop) for stop in self.settings.get("stop") or ()]
        for token in emitted:
            if len(self.text) < self.tokens and not self.whole:
                self.text += (token,)
                written = self.text[before:]
                self.whole = any(written[-len(stop) :] == stop for stop in stops)

    @property
    def over(self) -> bool:
        return self.whole or len(self.text) >= self.tokens


class StopsAtABlocksEnd(Decoder):
    """A decoder that ends the text only if a block ends with the stop sequence."""

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        for token in emitted:
            if not ended(self.text, self.tokens, without(self.settings, "stop")):
                self.text += (token,)


class ForcedWhereNothingWasDrafted(Decoder):
    """A decoder that forces the end by a row of the bonus token alone."""

    def target_row(self, text: Prefix, place: int) -> Row:
        settings = without(self.settings, "forced_eos") if place < self.gamma and self.draft else self.settings
        return self.row(self.target, text, settings)


class LogprobsOfTheDraft(Decoder):
    def logprob(self, token: int, place: int, block: Sequence[DrawnToken]) -> float:
        return log(block[place][1][token]) if place < len(block) else super().logprob(token, place, block)


class LogprobsWithoutSettings(Decoder):
    def logprob(self, token: int, place: int, block: Sequence[DrawnToken]) -> float:
        return log(float(self.target.row(self.prompt + self.text)[token]))


class LogprobsOneRowOff(Decoder):
    def logprob(self, token: int, place: int, block: Sequence[DrawnToken]) -> float:
        return log(self.row(self.target, self.text[:-1], self.settings)[token])


class CacheOneTokenOff(Decoder):
    """A decoder whose cache keeps a rejected token in place of what replaced it."""

    stale: int | None = None

    def target_row(self, text: Prefix, place: int) -> Row:
        if place == 0 and self.stale is not None:
            text = (*text[:-1], self.stale)
        return super().target_row(text, place)

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        self.stale = block[len(emitted) - 1][0] if len(emitted) <= len(block) else None
        super().append(emitted, block)


class BonusOfTheRowBefore(Decoder):
    """A decoder that draws the bonus token from the row of the last drafted token."""

    def bonus(self, text: Prefix, place: int) -> int:
        return self.chance.draw(self.target_row(text[:-1] if place else text, place))


class ReplacedByItsContinuation(Decoder):
    """A decoder that replaces a rejected token from the row behind it."""

    def verified(self, block: Sequence[DrawnToken]) -> list[int]:
        kept: list[int] = []
        for place, (token, q) in enumerate(block):
            text = self.text + tuple(kept)
            if not self.accepts(self.target_row(text, place), q, token):
                return [*kept, self.chance.draw(self.target_row((*text, token), place))]
            kept.append(token)
        return [*kept, self.bonus(self.text + tuple(kept), len(block))]


class ReplacedFromTheTarget(Decoder):
    def replacement(self, p: Row, q: Row, text: Prefix) -> int:
        return self.chance.draw(p)


class DraftRowsOfAnotherTemperature(Decoder):
    """A decoder that drafts at its own temperature, and verifies by rows of the request's."""

    def accepts(self, p: Row, q: Row, token: int) -> bool:
        right = [x ** self.settings.get("draft_temperature", 1.0) for x in q]
        return super().accepts(p, [x / sum(right) for x in right], token)


class LookedUpAndKept(Decoder):
    """A decoder that keeps what was looked up wherever the target may write it."""

    def accepts(self, p: Row, q: Row, token: int) -> bool:
        return p[token] > 0 if self.settings.get("lookup") else super().accepts(p, q, token)


class VerifiedByArgmax(Decoder):
    """A decoder that keeps a drafted token if it is the target's most probable one. Only the bonus token is drawn."""

    def verified(self, block: Sequence[DrawnToken]) -> list[int]:
        kept: list[int] = []
        for place, (token, _) in enumerate(block):
            p = self.target_row(self.text + tuple(kept), place)
            kept.append(p.index(max(p)))
            if kept[-1] != token:
                return kept
        return [*kept, self.bonus(self.text + tuple(kept), len(block))]


class SettingsOfANeighbour(Decoder):
    """A decoder that makes all rows of a batch under the settings of its last request."""

    def beside(self, batch: Sequence[Decoder]) -> None:
        self.neighbours = batch[-1].settings

    def row(self, model: Model, text: Prefix, settings: Mapping[str, Any]) -> Row:
        mixed = self.draft is not None and {**settings, "temperature": self.neighbours.get("temperature", 1.0)}
        return super().row(model, text, mixed or settings)


class GreedyWithItsBatch(Decoder):
    """A decoder that is greedy for a whole batch if one of its requests is."""

    def beside(self, batch: Sequence[Decoder]) -> None:
        self.greedy = self.draft is not None and any(one.settings.get("temperature") == 0 for one in batch)

    def row(self, model: Model, text: Prefix, settings: Mapping[str, Any]) -> Row:
        return super().row(model, text, {**settings, "temperature": 0} if self.greedy else settings)


class ChoicesAlike(Decoder):
    """A decoder whose choices of one request draw the same numbers."""

    first: Decoder | None = None

    def beside(self, batch: Sequence[Decoder]) -> None:
        self.first = batch[0] if self.draft is not None and batch[0].settings == self.settings else None

    def step(self) -> None:
        if self.first in (None, self):
            super().step()
        else:
            assert self.first is not None
            self.text = self.first.text


class PromptOfANeighbour(Decoder):
    """A decoder that reads the first rows of a batch behind the last request's prompt."""

    def beside(self, batch: Sequence[Decoder]) -> None:
        self.other = batch[-1].prompt if self.draft is not None else self.prompt

    def target_row(self, text: Prefix, place: int) -> Row:
        if text:
            return super().target_row(text, place)
        asked = TextRequest(self.other, text, self.tokens, self.settings)
        return modified(self.target.row(self.other + text), asked, self.order)


class NeverWritten(Decoder):
    """A decoder that writes the residual up to the rejected token. Behind it is what memory held."""

    def replacement(self, p: Row, q: Row, text: Prefix) -> int:
        import numpy as np

        left = np.empty(len(p))
        first = next(t for t, (a, b) in enumerate(zip(p, q, strict=True)) if b > a)
        for token in range(first + 1):
            left[token] = max(p[token] - q[token], 0.0)
        if not left.sum() > 0:
            left[0] = 1.0
        return self.chance.draw(left.tolist())
