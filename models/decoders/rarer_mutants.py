"""Wrong decoders whose bug needs more than one short request: later blocks, blocks of a batch, long prompts."""

from collections.abc import Sequence

from ..decoding_settings import ended
from ..law import Prefix
from .reference import Decoder, DrawnToken, Row


class NowAndThenFromTheTarget(Decoder):
    """A decoder that replaces a rejected token from the target's row, where ``wrong``."""

    @property
    def wrong(self) -> bool:
        raise NotImplementedError

    def replacement(self, p: Row, q: Row, text: Prefix) -> int:
        return self.chance.draw(p) if self.wrong else super().replacement(p, q, text)


class FromTheThirdBlockOn(NowAndThenFromTheTarget):
    @property
    def wrong(self) -> bool:
        return self.blocks >= 2


class InABatch(NowAndThenFromTheTarget):
    alone = True

    def beside(self, batch: Sequence[Decoder]) -> None:
        self.alone = len(batch) == 1

    @property
    def wrong(self) -> bool:
        return not self.alone


class BehindAPage(NowAndThenFromTheTarget):
    """A decoder that is wrong if prompt and text, with the start token, are longer than a page of the cache."""

    @property
    def wrong(self) -> bool:
        return 1 + len(self.prompt) + len(self.text) >= 16


class ChoicesAlikeInTheirFirstBlock(Decoder):
    """A decoder whose choices of one request draw the same numbers for the first block, if one is drafted."""

    first: Decoder | None = None

    def beside(self, batch: Sequence[Decoder]) -> None:
        same = self.draft is not None and self is not batch[0] and batch[0].settings == self.settings
        self.first = batch[0] if same and self.room else None

    def step(self) -> None:
        if self.first is None or self.blocks:
            super().step()
        else:
            self.text, self.blocks = self.first.text, 1


class RejectedEosEnds(Decoder):
    """A decoder that ends the text at a drafted end token, whether or not it was kept."""

    drafted_eos = False

    def verified(self, block: Sequence[DrawnToken]) -> list[int]:
        self.drafted_eos |= any(token in (self.settings.get("eos") or ()) for token, _ in block)
        return super().verified(block)

    @property
    def over(self) -> bool:
        return self.drafted_eos or super().over

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        for token in emitted:
            if not ended(self.text, self.tokens, self.settings):
                self.text += (token,)


class GreedyLookupKept(Decoder):
    """A decoder whose greedy requests keep whatever was looked up."""

    def accepts(self, p: Row, q: Row, token: int) -> bool:
        return self.greedily_looked_up or super().accepts(p, q, token)

    @property
    def greedily_looked_up(self) -> bool:
        return bool(self.settings.get("lookup")) and self.settings.get("temperature") == 0


class FirstOfTheEnds(Decoder):
    """A decoder that ends a text at the first of several end tokens and stop sequences alone."""

    @property
    def over(self) -> bool:
        first = {name: (self.settings.get(name) or ())[:1] for name in ("eos", "stop")}
        return ended(self.text, self.tokens, {**self.settings, **(first if self.draft is not None else {})})


class SeveralTogether(NowAndThenFromTheTarget):
    """A decoder that is wrong if a cut-off, a penalty and an end come together."""

    @property
    def wrong(self) -> bool:
        return {"min_p", "repetition_penalty", "eos"} <= {*self.settings}
