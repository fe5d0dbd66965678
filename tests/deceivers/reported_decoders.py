"""Decoders with faults that users reported: of settings, ends, counts, state; ``reported.py`` has the threads."""

import random
from math import log

from draftproof.models.decoders.drafting import BeamDrafts
from draftproof.models.decoders.mutants import OnOneSide, WithAnotherHistory, losing, without
from draftproof.models.decoders.reference import Decoder, decoder_of, pair_in, yielded
from draftproof.models.decoding_settings import ended
from draftproof.tests.subjects.right_decoders import CertainBeam
from draftproof.tests.subjects.stateful_decoders import InASlot
from draftproof.verifiers.chance import RandomChance

bias_of_the_bonus_alone = decoder_of(losing("logit_bias", of_bonus=False))
min_p_of_the_bonus_alone = decoder_of(losing("min_p", of_bonus=False))
top_p_of_the_bonus_alone = decoder_of(losing("top_p", of_bonus=False))
grammar_lost = decoder_of(losing("grammar"))
minimum_lost = decoder_of(losing("min_tokens"))
banned_lost = decoder_of(losing("banned"))
forced_end_lost = decoder_of(losing("forced_eos"))


class PenaltiesOfARoundAgo(WithAnotherHistory, OnOneSide):
    """Penalises the bonus token's row alone, by counts of a round ago."""

    lost, of_bonus, counted = ("frequency_penalty",), False, ()

    def target_row(self, text, place):
        return self.row_as_of(text, self.counted) if place >= self.placed else OnOneSide.target_row(self, text, place)

    def append(self, emitted, block):
        self.counted = self.text
        super().append(emitted, block)


class LastOfAStepCounted(WithAnotherHistory):
    """Counts the last token that a step committed."""

    counted = ()

    def target_row(self, text, place):
        return self.row_as_of(text, self.counted + text[len(self.text) :])

    def append(self, emitted, block):
        super().append(emitted, block)
        self.counted += self.text[-1:]


class ConfirmedCountedAgain(WithAnotherHistory):
    """Counts the last confirmed token again in place of drafted ones."""

    def target_row(self, text, place):
        return self.row_as_of(text, self.text + (self.text[-1:] or text[:1]) * place)


class LogprobsOverTheBlock(Decoder):
    """Normalises logprobs over all rows of a block."""

    def logprob(self, token, place, block):
        return super().logprob(token, place, block) - log(len(block) + 1)


class SettingsOfTheFirst(Decoder):
    """Cuts all rows of a batch by the settings of its first request."""

    def row(self, model, text, settings):
        return super().row(model, text, self.batch[0].settings)


class StateBehindTheFirst(Decoder):
    """Reads the state behind the first of several tokens that the block before kept."""

    behind = None

    def target_row(self, text, place):
        return super().target_row(text if place or self.behind is None else text[: self.behind], place)

    def append(self, emitted, block):
        self.behind = len(self.text) + 1 if len(emitted) > 2 else None
        super().append(emitted, block)


class DividedByNothing(Decoder):
    """Divides by a temperature that plain decoding takes for 0: a comparison with NaN rejects nothing."""

    def accepts(self, p, q, token):
        return self.settings.get("temperature", 1) < 1e-5 or super().accepts(p, q, token)


class TopPBeforeTopK(Decoder):
    """Takes the nucleus of a row first and the likeliest tokens then, where tokens are verified."""

    def target_row(self, text, place):
        nucleus = self.row(self.target, text, without(self.settings, "top_k"))
        least = sorted(nucleus)[-self.settings.get("top_k", len(nucleus))]
        kept = [p if p >= least else 0.0 for p in nucleus]
        return [p / sum(kept) for p in kept]


class BehindAStop(Decoder):
    """Ends at a stop sequence inside a block, with the tokens behind it."""

    stopped = False

    def append(self, emitted, block):
        for token in emitted[: self.tokens - len(self.text)]:
            self.text += (token,)
            self.stopped |= ended(self.text, self.tokens, self.settings)

    @property
    def over(self):
        return self.stopped or len(self.text) >= self.tokens


class CapBeforeEos(Decoder):
    """Looks at the cap first: a block that reaches it is written whole, whatever token of it ends the text."""

    def append(self, emitted, block):
        if len(self.text) + len(emitted) < self.tokens:
            super().append(emitted, block)
        else:
            self.text = (*self.text, *emitted)[: self.tokens]


class StopsInTheLastTwo(Decoder):
    """Looks for stop sequences in the last two tokens of the text, after each block."""

    def append(self, emitted, block):
        self.text = (*self.text, *emitted)[: self.tokens]
        for stop in map(tuple, self.settings.get("stop") or ()):
            found = [n for n in (len(self.text) - 1, len(self.text)) if self.text[:n][-len(stop) :] == stop]
            self.text = self.text[: min(found, default=self.tokens)]


class StopsIgnored(Decoder):
    """Ignores stop sequences."""

    @property
    def over(self):
        return ended(self.text, self.tokens, without(self.settings, "stop"))


class EndAtTheCap(Decoder):
    """Writes the end token in place of the token that reaches the cap."""

    def append(self, emitted, block):
        super().append(emitted, block)
        if len(self.text) == self.tokens:
            self.text = (*self.text[:-1], self.settings["eos"][0])


def in_one_slot(leaves):
    """Decode one request after another in a slot, where the tokens accepted behind an end token stay if it leaves."""

    def decode(target, draft, start, tokens, gamma, seeds, *, earlier=(), **settings):
        models = pair_in(target)
        for seed in seeds:
            chance, left = RandomChance(random.Random(seed)), ()
            for prompt in (*earlier, settings.get("prompt") or ()):
                one = InASlot(models[0], draft and models[1], tokens, gamma, {**settings, "prompt": prompt}, chance)
                one.left = left if draft else ()
                one.write(draft)
                left = one.behind if leaves else ()
            yield yielded([one], settings)

    return decode


(penalties_of_a_round_ago, last_of_a_step_counted, confirmed_counted_again, logprobs_over_the_block,
 settings_of_the_first, state_behind_the_first, divided_by_nothing, top_p_before_top_k, behind_a_stop, cap_before_eos,
 stops_in_the_last_two, stops_ignored, end_at_the_cap, beam_drafts, certain_beam_drafts) = map(
    decoder_of,
    (PenaltiesOfARoundAgo, LastOfAStepCounted, ConfirmedCountedAgain, LogprobsOverTheBlock, SettingsOfTheFirst,
     StateBehindTheFirst, DividedByNothing, TopPBeforeTopK, BehindAStop, CapBeforeEos, StopsInTheLastTwo, StopsIgnored,
     EndAtTheCap, BeamDrafts, CertainBeam),
)  # fmt: skip
left_in_the_slot, slot_emptied = in_one_slot(True), in_one_slot(False)
