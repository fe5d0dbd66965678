"""Speculative decoding under settings, one text or several together: the right one, in methods that others replace."""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import log
from pathlib import Path
from typing import Any

from ...verifiers.chance import Chance, RandomChance
from ..decoding_settings import ORDERS, TextRequest, ended, modified, requests_of
from ..forge import PROBLEM_FILE
from ..law import Model, Prefix
from ..problem import load_problem

Row = list[float]
DrawnToken = tuple[int, Row]
KnownRows = dict[tuple[bool, Prefix, Prefix, int, str], Row]


class Decoder:
    """A request: the tokens after a prompt, in blocks (Leviathan et al. 2023, Algorithm 1), cut where the text ends.

    target, draft: the models; draft None decodes plainly.
    tokens: the cap. gamma: drafted tokens of a block.
    settings: of ``decoding_settings``. chance: of all draws.
    text, blocks: what was written so far, in how many blocks. logprobs: of the text's tokens.
    batch: the requests that are decoded together, this one among them. A right decoder needs none of the others.
    rows: rows that were computed before, of this and of other runs with the same models; None keeps none.
    doubts: as of ``TextRequest``: a text is written also where engines may differ, unless it is None.
    """

    order: Sequence[str] = ORDERS["draftproof-reference"]
    rows: KnownRows | None = None

    def __init__(self, target: Model, draft: Model | None, tokens: int, gamma: int, settings: Mapping[str, Any],
                 chance: Chance):  # fmt: skip
        self.target, self.draft, self.tokens, self.gamma = target, draft, tokens, gamma
        self.settings, self.chance = settings, chance
        self.prompt: Prefix = tuple(settings.get("prompt") or ())
        self.text: Prefix = ()
        self.logprobs: Row = []
        self.blocks = 0
        self.doubts: list[bool] | None = []
        self.batch: Sequence[Decoder] = (self,)

    @property
    def over(self) -> bool:
        """Return whether the text has ended."""
        return ended(self.text, self.tokens, self.settings)

    @property
    def full(self) -> bool:
        """Return whether no token of the block may be added to the text."""
        return self.over

    def row(self, model: Model, text: Prefix, settings: Mapping[str, Any]) -> Row:
        """Return a model's row after prompt and text, under the settings."""
        known = {} if self.rows is None else self.rows
        key = model is self.draft, self.prompt, text, self.tokens, repr(settings)
        if key not in known:
            asked = TextRequest(self.prompt, text, self.tokens, settings, self.doubts)
            known[key] = modified(model.row(self.prompt + text), asked, self.order)
        return [*known[key]]

    def target_row(self, text: Prefix, place: int) -> Row:
        """Return the row that token ``place`` of a block is verified by; place gamma is the bonus token's."""
        return self.row(self.target, text, self.settings)

    def draft_row(self, text: Prefix) -> Row:
        """Return the row that a drafted token is verified by."""
        assert self.draft is not None
        hotter = {"temperature": self.settings["draft_temperature"]} if "draft_temperature" in self.settings else {}
        return self.row(self.draft, text, {**self.settings, **hotter})

    def sampled_row(self, text: Prefix) -> Row:
        """Return the row that a drafted token is drawn from: the one that it is verified by."""
        return self.draft_row(text)

    def length(self) -> int:
        """Return how many tokens to draft in this block: gamma, or with ``adaptive`` one more in each block."""
        return 1 + self.blocks if self.settings.get("adaptive") else self.gamma

    @property
    def room(self) -> int:
        """Return how many tokens may be drafted, so that a block with one token more stays within the cap."""
        return self.tokens - len(self.text) - 1

    def drafted(self) -> list[DrawnToken]:
        """Draft a block: its tokens, each with the row it was drawn from."""
        if self.settings.get("lookup"):
            return self.looked_up()
        block: list[DrawnToken] = []
        for _ in range(min(self.length(), self.room)):
            text = self.text + tuple(token for token, _ in block)
            block.append((self.chance.draw(self.sampled_row(text)), self.draft_row(text)))
        return block

    def looked_up(self) -> list[DrawnToken]:
        """Look up what followed the last token where it came before, each token with all mass."""
        whole = self.prompt + self.text
        places = [i for i in range(len(whole) - 1) if whole[i] == whole[-1]]
        found = whole[places[-1] + 1 :][: min(self.gamma, self.room)] if places else ()
        return [(token, self.point(token)) for token in found]

    def point(self, token: int) -> Row:
        """Return the row with all mass on one token."""
        return [float(t == token) for t in range(len(self.target.row(self.prompt)))]

    def accepts(self, p: Row, q: Row, token: int) -> bool:
        """Decide whether a drafted token is kept: with probability min(1, p / q)."""
        return self.chance.flip(min(1.0, p[token] / q[token]))

    def replacement(self, p: Row, q: Row, text: Prefix, token: int) -> int:
        """Draw what replaces a rejected token behind a text, from the positive part of p - q."""
        return self.chance.draw([max(a - b, 0.0) for a, b in zip(p, q, strict=True)])

    def bonus(self, text: Prefix, place: int) -> int:
        """Draw the token behind a block that was kept whole."""
        return self.chance.draw(self.target_row(text, place))

    def verified(self, block: Sequence[DrawnToken]) -> list[int]:
        """Verify a block: return what is kept of it, and one token more."""
        kept: list[int] = []
        for place, (token, q) in enumerate(block):
            text = self.text + tuple(kept)
            p = self.target_row(text, place)
            if not self.accepts(p, q, token):
                return [*kept, self.replacement(p, q, text, token)]
            kept.append(token)
        return [*kept, self.bonus(self.text + tuple(kept), len(block))]

    def step(self) -> None:
        """Write one block."""
        block = self.drafted() if self.draft is not None else []
        self.append(self.verified(block), block)
        self.blocks += 1

    def append(self, emitted: Sequence[int], block: Sequence[DrawnToken]) -> None:
        """Add tokens up to the end of the text."""
        for place, token in enumerate(emitted):
            if self.full:
                return
            if self.settings.get("logprobs"):
                self.logprobs.append(self.logprob(token, place, block))
            self.text += (token,)

    def logprob(self, token: int, place: int, block: Sequence[DrawnToken]) -> float:
        """Return the logarithm of the probability that the token has under the settings."""
        return log(self.target_row(self.text, place)[token])


def texts_of(kind: type[Decoder], target: Model, draft: Model | None, tokens: int, gamma: int,
             settings: Mapping[str, Any], chance: Chance, rows: KnownRows | None = None,
             clear: bool = False) -> list[Decoder]:  # fmt: skip
    """Run the decoders of one call to their ends, a block of each in turn: n of the request, then its neighbours.

    Plain decoding is right, whatever the kind.
    rows: of ``Decoder``, for runs of one kind alone. clear: whether cuts where engines may differ are errors.
    """
    kind = kind if draft is not None else Decoder
    batch = [kind(target, draft, tokens, gamma, one, chance) for one in requests_of(settings)]
    for one in batch:
        one.batch, one.rows = batch, rows
        one.doubts = None if clear else []
    while going := [one for one in batch if not one.over]:
        for one in going:
            one.step()
    return batch


@cache
def pair_in(target: Path) -> tuple[Model, Model]:
    """Return the models that a folder was forged from, as its problem has them."""
    problem = load_problem(str(target.parent / PROBLEM_FILE))
    return problem.target, problem.draft


def yielded(batch: Sequence[Decoder], settings: Mapping[str, Any]) -> Any:
    """Return what a decoder yields: the text, several texts, or the text with its logprobs."""
    texts = [list(one.text) for one in batch]
    if settings.get("logprobs"):
        return texts[0], batch[0].logprobs
    return texts if len(texts) > 1 else texts[0]


def decoder_of(kind: type[Decoder]) -> Any:
    """Return the decoder of the calling convention, ``decode(target, draft, start, tokens, gamma, seeds,
    **settings)``.
    """

    def decode(target: Path, draft: Path | None, start: int, tokens: int, gamma: int, seeds: Sequence[int],
               **settings: Any) -> Iterator[Any]:  # fmt: skip
        models = pair_in(target)
        for seed in seeds:
            chance = RandomChance(random.Random(seed))
            yield yielded(texts_of(kind, models[0], draft and models[1], tokens, gamma, settings, chance), settings)

    return decode


decode = decoder_of(Decoder)
