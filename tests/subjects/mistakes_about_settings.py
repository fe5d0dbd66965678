"""Decoders that are wrong about settings, and right ones: of the order of cuts, of ends, of ties."""

import random

from draftproof.models.decoders.mistakes import (
    BehindThePrompt,
    BonusOfTheTied,
    DraftsAnotherOfTheTied,
    in_order,
    mistakes_of,
)
from draftproof.models.decoders.mutants import OnOneSide, StopsBeforeEos, without
from draftproof.models.decoders.reference import Decoder, decoder_of, pair_in
from draftproof.models.decoding_settings import ORDERS, TextRequest, modified
from draftproof.verifiers.chance import RandomChance

ORDER = ORDERS["draftproof-reference"]
WRONG = mistakes_of({"top_k": 2, "top_p": 0.9, "repetition_penalty": 1.2}, ORDER)
order_of_cuts = decoder_of(WRONG["top_p before top_k"])
order_of_the_bonus = decoder_of(WRONG["top_p before top_k in the bonus row"])
without_the_prompt = decoder_of(WRONG["prompt not in the history"])


class CutByTheFirst(OnOneSide):
    """A decoder whose bonus tokens have the first request's top-k, whatever request of the batch they are of."""

    of_block = False

    def wrong_row(self, text):
        return self.row(self.target, text, {**self.settings, "top_k": self.batch[0].settings.get("top_k")})


cut_by_the_first, reference = decoder_of(CutByTheFirst), decoder_of(Decoder)


class StopsFirst(BehindThePrompt, StopsBeforeEos):
    """SGLang's way: the first token without a draft, drafts of the likeliest tokens, stops looked for before ends."""


stops_first, likeliest_drafts = decoder_of(StopsFirst), decoder_of(BehindThePrompt)


class ExactlyK(Decoder):
    """A decoder that verifies by k tokens, the first ids of those that are as likely; without a draft all of them."""

    def target_row(self, text, place):
        row = self.row(self.target, text, without(self.settings, "top_k"))
        stay = sorted(range(len(row)), key=lambda t: -row[t])[: self.settings["top_k"]]
        return [p / sum(row[s] for s in stay) if t in stay else 0.0 for t, p in enumerate(row)]


class LastOfTheTied(Decoder):
    """A decoder that verifies by rows with the last ids of those that are as likely; without a draft the first."""

    def target_row(self, text, place):
        asked = TextRequest(self.prompt, text, self.tokens, self.settings, self.doubts)
        return modified(self.target.row(self.prompt + text)[::-1], asked, self.order)[::-1]


exactly_k, last_of_the_tied = map(decoder_of, (ExactlyK, LastOfTheTied))
drafts_another_of_the_tied = decoder_of(DraftsAnotherOfTheTied)


class BonusOfTheFirst(BonusOfTheTied):
    """A decoder that takes the last of tokens that are as likely, but for the bonus token the first."""

    keeps_last = True


class TheLastAlways(BonusOfTheFirst):
    """A right decoder that takes the last of tokens that are as likely."""

    same_bonus = True


def _with_its_kind(kind):
    """Make a decoder that is of the kind without drafts, too."""

    def decode(target, draft, start, tokens, gamma, seeds, **settings):
        models = pair_in(target)
        for seed in seeds:
            one = kind(models[0], draft and models[1], tokens, gamma, settings, RandomChance(random.Random(seed)))
            while not one.over:
                one.step()
            yield list(one.text)

    return decode


bonus_of_the_last, bonus_of_the_first, the_last_always = map(
    _with_its_kind, (BonusOfTheTied, BonusOfTheFirst, TheLastAlways)
)


def uniform(target, draft, start, tokens, gamma, seeds, **settings):
    """A decoder that knows neither model nor settings, with speculation and without."""
    for seed in seeds:
        draw = random.Random(seed)
        if draft:
            draw.random()
        yield [draw.randrange(3) for _ in range(tokens)]


def in_the_order_of_mlx(kind):
    """A decoder that cuts by top_p before top_k, with speculation and without."""

    def decode(target, draft, start, tokens, gamma, seeds, **settings):
        models = pair_in(target)
        for seed in seeds:
            chance = RandomChance(random.Random(seed))
            ordered = in_order(kind if draft else Decoder, ORDERS["mlx-lm"])
            one = ordered(models[0], draft and models[1], tokens, gamma, settings, chance)
            while not one.over:
                one.step()
            yield list(one.text)

    return decode


of_mlx = in_the_order_of_mlx(Decoder)
of_mlx_and_wrong = in_the_order_of_mlx(mistakes_of({"top_k": 2}, ORDERS["mlx-lm"])["top_k lost in the bonus row"])
