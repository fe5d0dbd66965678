"""Wrong decoders, one bug each: of settings, ends, caches, logprobs and batches. Plain decoding is always right."""

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any

from ...verifiers.arithmetic import normalised
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
        wrong = self.of_bonus if place >= self.placed else self.of_block
        return self.wrong_row(text) if wrong else super().target_row(text, place)

    def wrong_row(self, text: Prefix) -> Row:
        """Return the target's row as it is on the wrong side."""
        return self.row(self.target, text, without(self.settings, *self.lost))

    placed = 0

    def verified(self, block: Sequence[DrawnToken]) -> list[int]:
        self.placed = len(block)
        return super().verified(block)


def losing(*lost: str, of_block: bool = True, of_bonus: bool = True) -> type[Decoder]:
    """Return the decoder that loses these settings on a side."""
    return type("Losing", (OnOneSide,), {"lost": lost, "of_block": of_block, "of_bonus": of_bonus})


BonusWithoutTemperature = losing("temperature", of_block=False)
MinPOfTheBonusAlone = losing("min_p", of_bonus=False)
BiasOfNeitherSide = losing("logit_bias")
BannedInTheBonus = losing("banned", of_block=False)
TopKOfTheDraftAlone = losing("top_k")
AllowedInTheDraftAlone = losing("allowed", of_bonus=False)
GreedyVerifiedBySampling = losing("temperature", of_bonus=False)
PenaltyOfTheDraftAlone = losing("repetition_penalty")
EosOfTheBonusTooEarly = losing("min_tokens", of_block=False)


class TopPBeforeTemperature(Decoder):
    def target_row(self, text: Prefix, place: int) -> Row:
        late = self.settings.get("temperature", 1.0)
        kept = self.row(self.target, text, without(self.settings, "temperature"))
        return normalised([p ** (1 / late) for p in kept])


class WithAnotherHistory(Decoder):
    """A decoder whose model reads the text as it is, while its settings look at another one."""

    def row_as_of(self, text: Prefix, history: Prefix) -> Row:
        """Return the target's row after the text, under the settings after the history."""
        asked = TextRequest(self.prompt, history, self.tokens, self.settings, self.doubts)
        return modified(self.target.row(self.prompt + text), asked, self.order)


class BlockAsOfItsStart(WithAnotherHistory):
    """A decoder that looks at the history once a block: the tokens of the block are not in it."""

    def target_row(self, text: Prefix, place: int) -> Row:
        return self.row_as_of(text, self.text if place else text)


class PenaltiesOfRejectedTokens(WithAnotherHistory):
    """A decoder that goes on counting drafted tokens when they are rejected."""

    counted: Prefix = ()

    def target_row(self, text: Prefix, place: int) -> Row:
        return self.row_as_of(text, text + self.counted)

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        self.counted += tuple(token for token, _ in block[len(emitted) - 1 :])
        super().append(emitted, block)


class LastOfABlockAlone(WithAnotherHistory):
    """A decoder that adds the last token alone of what a block wrote to the history."""

    kept: Prefix = ()

    def target_row(self, text: Prefix, place: int) -> Row:
        return self.row_as_of(text, self.kept + text[len(self.text) :])

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        super().append(emitted, block)
        self.kept += self.text[-1:]


class PenaltiesTwice(WithAnotherHistory):
    """A decoder that counts tokens of a block when they are drafted and when they are verified."""

    def target_row(self, text: Prefix, place: int) -> Row:
        return self.row_as_of(text, text + text[len(self.text) :])


class PenaltiesWithoutThePrompt(Decoder):
    def target_row(self, text: Prefix, place: int) -> Row:
        asked = TextRequest((), text, self.tokens, self.settings, self.doubts)
        return modified(self.target.row(self.prompt + text), asked, self.order)


class FrequencyAsPresence(Decoder):
    def target_row(self, text: Prefix, place: int) -> Row:
        penalty = {"presence_penalty": self.settings.get("frequency_penalty", 0.0)}
        return self.row(self.target, text, without(self.settings, "frequency_penalty") | penalty)


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

    @property
    def full(self) -> bool:
        return ended(self.text, self.tokens, without(self.settings, "stop"))


class StopsBeforeEos(Decoder):
    """A decoder that looks for stop sequences in all that a block wrote, and for end tokens if there are none."""

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        whole = (*self.text, *emitted)[: self.tokens]
        for lost in ("eos", "stop"):
            asked = without(self.settings, lost)
            for n in range(len(self.text) + 1, len(whole) + 1):
                if ended(whole[:n], self.tokens + 1, asked):
                    self.text = whole[:n]
                    return
        self.text = whole


class RejectedEosEnds(Decoder):
    """A decoder that ends the text at a drafted end token, whether or not it was kept."""

    drafted_eos = False

    def verified(self, block: Sequence[DrawnToken]) -> list[int]:
        self.drafted_eos |= any(token in (self.settings.get("eos") or ()) for token, _ in block)
        return super().verified(block)

    @property
    def over(self) -> bool:
        return self.drafted_eos or self.full

    @property
    def full(self) -> bool:
        return ended(self.text, self.tokens, self.settings)


class FirstOfTheEnds(Decoder):
    """A decoder that ends a text at the first of several end tokens and stop sequences alone."""

    @property
    def over(self) -> bool:
        first = {name: (self.settings.get(name) or ())[:1] for name in ("eos", "stop")}
        return ended(self.text, self.tokens, {**self.settings, **first})


class ForcedWhereNothingWasDrafted(Decoder):
    """A decoder that forces the end by a row of the bonus token alone."""

    def target_row(self, text: Prefix, place: int) -> Row:
        settings = without(self.settings, "forced_eos") if place < self.gamma else self.settings
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

    def replacement(self, p: Row, q: Row, text: Prefix, token: int) -> int:
        return self.chance.draw(self.target_row((*text, token), len(text) - len(self.text)))


def from_the_target(wrong: Callable[[Any], bool]) -> type[Decoder]:
    """Return the decoder that replaces a rejected token from the target's row where a condition on it holds."""

    class FromTheTarget(Decoder):
        def replacement(self, p: Row, q: Row, text: Prefix, token: int) -> int:
            return self.chance.draw(p) if wrong(self) else super().replacement(p, q, text, token)

    return FromTheTarget


PAGE = 16
"""Tokens of a page of a cache."""

ReplacedFromTheTarget = from_the_target(lambda decoder: True)
FromTheThirdBlockOn = from_the_target(lambda decoder: decoder.blocks >= 2)
InABatch = from_the_target(lambda decoder: len(decoder.batch) > 1)
BehindAPage = from_the_target(lambda decoder: 1 + len(decoder.prompt) + len(decoder.text) >= PAGE)
SeveralTogether = from_the_target(lambda decoder: {"min_p", "repetition_penalty", "eos"} <= {*decoder.settings})


class DraftRowsOfAnotherTemperature(Decoder):
    """A decoder that drafts at its own temperature, and verifies by rows of the request's."""

    def accepts(self, p: Row, q: Row, token: int) -> bool:
        right = normalised([x ** self.settings.get("draft_temperature", 1.0) for x in q])
        return super().accepts(p, right, token)


class LookedUpAndKept(Decoder):
    """A decoder that keeps what was looked up wherever the target may write it."""

    def accepts(self, p: Row, q: Row, token: int) -> bool:
        return p[token] > 0 if self.settings.get("lookup") else super().accepts(p, q, token)


class GreedyLookupKept(Decoder):
    """A decoder whose greedy requests keep whatever was looked up."""

    def accepts(self, p: Row, q: Row, token: int) -> bool:
        greedy = self.settings.get("temperature") == 0
        return bool(greedy and self.settings.get("lookup")) or super().accepts(p, q, token)


class VerifiedByArgmax(Decoder):
    """A decoder that keeps a drafted token if it is the target's most probable one. Only the bonus token is drawn."""

    def accepts(self, p: Row, q: Row, token: int) -> bool:
        return p.index(max(p)) == token

    def replacement(self, p: Row, q: Row, text: Prefix, token: int) -> int:
        return p.index(max(p))


class SettingsOfANeighbour(Decoder):
    """A decoder that makes all rows of a batch under the temperature of its last request."""

    def row(self, model: Model, text: Prefix, settings: Mapping[str, Any]) -> Row:
        last = self.batch[-1].settings.get("temperature", 1.0)
        return super().row(model, text, {**settings, "temperature": last})


class GreedyWithItsBatch(Decoder):
    """A decoder that is greedy for a whole batch if one of its requests is."""

    def row(self, model: Model, text: Prefix, settings: Mapping[str, Any]) -> Row:
        greedy = any(one.settings.get("temperature") == 0 for one in self.batch)
        return super().row(model, text, {**settings, "temperature": 0} if greedy else settings)


class ChoicesAlike(Decoder):
    """A decoder whose choices of one request draw the same numbers."""

    @property
    def repeats(self) -> bool:
        return self is not self.batch[0] and self.batch[0].settings == self.settings

    def step(self) -> None:
        if self.repeats:
            self.text, self.blocks = self.batch[0].text, self.blocks + 1
        else:
            super().step()


class ChoicesAlikeInTheirFirstBlock(ChoicesAlike):
    """A decoder whose choices of one request draw the same numbers for the first block, if one is drafted."""

    @property
    def repeats(self) -> bool:
        return super().repeats and self.room > 0 and not self.blocks


class PromptOfANeighbour(Decoder):
    """A decoder that reads the first rows of a batch behind the prompt of another request, the last one if not said."""

    another: Mapping[str, Any] | None = None

    def target_row(self, text: Prefix, place: int) -> Row:
        if text:
            return super().target_row(text, place)
        other = self.batch[-1].prompt if self.another is None else tuple(self.another.get("prompt") or ())
        asked = TextRequest(other, (), self.tokens, self.settings, self.doubts)
        return modified(self.target.row(other), asked, self.order)


class NeverWritten(Decoder):
    """A decoder that writes the residual up to the rejected token. Behind it is what memory held."""

    def replacement(self, p: Row, q: Row, text: Prefix, token: int) -> int:
        import numpy as np

        left = np.empty(len(p))
        first = next(t for t, (a, b) in enumerate(zip(p, q, strict=True)) if b > a)
        for written in range(first + 1):
            left[written] = max(p[written] - q[written], 0.0)
        if not left.sum() > 0:
            left[0] = 1.0
        return self.chance.draw(left.tolist())
