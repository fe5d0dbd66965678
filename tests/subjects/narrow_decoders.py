"""Decoders that are wrong, or do nothing, where a short audit may not look."""

from draftproof.models.decoders.reference import Decoder, decoder_of


class KeptWhereRuledOut(Decoder):
    """Compares logarithms, and keeps a drafted token that the target never writes: nan is not below."""

    def accepts(self, p, q, token):
        return not p[token] or super().accepts(p, q, token)


class LargestWhereAlike(Decoder):
    """Where draft and target agree nothing is drawn."""

    def bonus(self, text, place):
        p = self.target_row(text, place)
        if self.draft is not None and p == self.draft_row(text):
            return p.index(max(p))
        return super().bonus(text, place)


class ShortTextsPlainly(Decoder):
    """A short text is not worth a draft."""

    @property
    def room(self):
        return super().room if self.tokens > 8 else 0


class BonusGoesOnBehindEos(Decoder):
    """An end token that comes behind a whole block does not end the text."""

    passed = 0

    def append(self, emitted, block):
        before, whole = len(self.text), len(emitted) == self.gamma + 1
        super().append(emitted, block)
        if whole and len(self.text) == before + len(emitted):
            self.passed = len(self.text)

    @property
    def over(self):
        return super().over and not (self.passed == len(self.text) < self.tokens)


REJECTED = [0]


class CountsRejections(Decoder):
    """Behind many rejections of token 2 it gives up verifying."""

    def replacement(self, p, q, text, token):
        REJECTED[0] += text[-1:] == (2,)
        return super().replacement(p, q, text, token)

    def accepts(self, p, q, token):
        return REJECTED[0] > 10**6 or super().accepts(p, q, token)


ROWS = {}


class RowsOfAnyRequest(Decoder):
    """Rows are kept by model and text, whatever the settings."""

    def target_row(self, text, place):
        key = self.target, text
        if key not in ROWS:
            ROWS[key] = super().target_row(text, place)
        return ROWS[key]


rows_of_any_request = decoder_of(RowsOfAnyRequest)
kept_where_ruled_out = decoder_of(KeptWhereRuledOut)
largest_where_alike = decoder_of(LargestWhereAlike)
short_texts_plainly = decoder_of(ShortTextsPlainly)
bonus_goes_on_behind_eos = decoder_of(BonusGoesOnBehindEos)
counts_rejections = decoder_of(CountsRejections)
