"""Decoders of several requests in one call: wrong ones that mix slots, and right ones in odd styles."""

from draftproof.models.decoders.reference import Decoder, decoder_of
from draftproof.models.decoding_settings import TextRequest, modified


class Slotted(Decoder):
    """A request that knows its slot and the requests that are still decoded."""

    @property
    def slot(self):
        return next(k for k, one in enumerate(self.batch) if one is self)

    @property
    def before(self):
        """The request in the slot before, in the first slot the last request."""
        return self.batch[self.slot - 1]

    @property
    def going(self):
        return [one for one in self.batch if one is self or not one.over]

    def row_of(self, other, text):
        """Return the row after another request's prompt and its text so far, under the settings of this one."""
        asked = TextRequest(self.prompt, text, self.tokens, self.settings)
        return modified(self.target.row(other.prompt + other.text), asked, self.order)


class RowOfTheSlotBefore(Slotted):
    """Verifies the first token of a block by the row of the slot before."""

    def target_row(self, text, place):
        return super().target_row(text, place) if place else self.row_of(self.before, text)


class RowOfTheSlotBeforeInTheThird(RowOfTheSlotBefore):
    """Does so in the third slot alone."""

    def target_row(self, text, place):
        return super().target_row(text, place) if self.slot == 2 else Decoder.target_row(self, text, place)


class OneUniformForTwoSlots(Slotted):
    """Tests the first drafted token of a text by the uniform of the slot before."""

    uniform = None

    def accepts(self, p, q, token):
        known = self.before.uniform if self.slot and not self.text and self.uniform is None else None
        self.uniform = self.chance._uniform() if known is None else known
        return self.uniform < p[token] / q[token]


class BonusOfTheFirst(Slotted):
    """Draws the bonus token of the last slot from the row of the first."""

    def bonus(self, text, place):
        last = self.slot and self is self.batch[-1]
        return self.chance.draw(self.row_of(self.batch[0], text) if last else self.target_row(text, place))


class GreedyIfTheSlotBeforeIs(Slotted):
    """Reads the greedy flag of the slot before."""

    def row(self, model, text, settings):
        greedy = self.before.settings.get("temperature") == 0
        return super().row(model, text, {**settings, "temperature": 0} if greedy else settings)


class ShiftedByAnEnd(Slotted):
    """Finds its request by its place among those that go on, so that one that has ended shifts those behind it."""

    def target_row(self, text, place):
        shifted = self.batch[self.going.index(self)]
        return super().target_row(text, place) if place or shifted is self else self.row_of(shifted, text)


class EndsWithTheFirst(Slotted):
    """Ends all texts of a batch once the first slot's has ended."""

    @property
    def over(self):
        return super().over or (self.slot > 0 and self.text != () and self.batch[0].over)


class TextOfTheSlotBefore(Slotted):
    """Copies the first token of the slot before, which has the same law."""

    def append(self, emitted, block):
        first = self.before.text[:1] if self.slot and not self.text else ()
        super().append([*first, *emitted[len(first) :]], block)


class Draining(Slotted):
    """Drafts as many tokens as the request of the batch that kept the fewest in its last block, and one more."""

    kept = 1

    def length(self):
        return 1 + min(one.kept for one in self.batch)

    def append(self, emitted, block):
        self.kept = len(emitted) - 1
        super().append(emitted, block)


class WholeBlocks(Slotted):
    """Drafts whole blocks, and draws a token for every row that may be replaced, needed or not."""

    @property
    def room(self):
        return self.gamma

    def verified(self, block):
        for _ in block:
            self.chance.draw(self.target_row(self.text, 0))
        return super().verified(block)


(row_of_the_slot_before, row_of_the_slot_before_in_the_third, one_uniform_for_two_slots, bonus_of_the_first,
 greedy_if_the_slot_before_is, shifted_by_an_end, ends_with_the_first, text_of_the_slot_before, draining,
 whole_blocks) = map(
    decoder_of,
    (RowOfTheSlotBefore, RowOfTheSlotBeforeInTheThird, OneUniformForTwoSlots, BonusOfTheFirst, GreedyIfTheSlotBeforeIs,
     ShiftedByAnEnd, EndsWithTheFirst, TextOfTheSlotBefore, Draining, WholeBlocks),
)  # fmt: skip
