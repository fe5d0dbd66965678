"""Right decoders in odd styles: whatever is drafted, and however, the law of the text stays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from draftproof.models.decoders.drafting import BeamDrafts, coarse, likeliest
from draftproof.models.decoders.reference import Decoder, DrawnToken, Row, decoder_of
from draftproof.models.decoding_settings import DRAFT
from draftproof.models.law import Prefix


class OneByOne(Decoder):
    """Drafts nothing."""

    def drafted(self) -> list[DrawnToken]:
        return []


class HotDraft(Decoder):
    """Drafts at twice the temperature, and verifies by the rows drafted from."""

    def draft_row(self, text: Prefix) -> Row:
        assert self.draft is not None
        return self.row(self.draft, text, {**self.settings, "temperature": 2.0})


class BareDraft(Decoder):
    """Drafts from the draft model's own rows, without any setting."""

    def draft_row(self, text: Prefix) -> Row:
        assert self.draft is not None
        return [*map(float, self.draft.row(self.prompt + text))]


class Growing(Decoder):
    """Drafts one token more in each block."""

    def length(self) -> int:
        return 1 + self.blocks


class UpAndDown(Decoder):
    """Drafts in every other block alone."""

    def length(self) -> int:
        return self.gamma * (self.blocks % 2)


class LookedUp(Decoder):
    """Drafts from the text itself."""

    def drafted(self) -> list[DrawnToken]:
        return self.looked_up()


class TwoDrafts(Decoder):
    """Drafts from the draft model and from the text itself by turns."""

    def drafted(self) -> list[DrawnToken]:
        return self.looked_up() if self.blocks % 2 else super().drafted()


class Argmax(Decoder):
    """Drafts the draft's most probable token, with all mass on it."""

    def draft_row(self, text: Prefix) -> Row:
        row = super().draft_row(text)
        return self.point(row.index(max(row)))


class AnyToken(Decoder):
    """Drafts any token, each as probable."""

    def draft_row(self, text: Prefix) -> Row:
        size = len(super().draft_row(text))
        return [1 / size] * size


class Confident(Decoder):
    """Stops drafting behind a token that the draft was not sure of."""

    def drafted(self) -> list[DrawnToken]:
        block: list[DrawnToken] = []
        while len(block) < min(self.gamma, self.room) and all(q[token] > 0.3 for token, q in block):
            row = self.draft_row(self.text + tuple(token for token, _ in block))
            block.append((self.chance.draw(row), row))
        return block


class Matching(Decoder):
    """Draws the target's own token, and keeps a drafted one where it is the same."""

    def verified(self, block: Sequence[DrawnToken]) -> list[int]:
        kept: list[int] = []
        for place, (token, _) in enumerate(block):
            kept.append(self.chance.draw(self.target_row(self.text + tuple(kept), place)))
            if kept[-1] != token:
                return kept
        return [*kept, self.bonus(self.text + tuple(kept), len(block))]


class Thinned(Decoder):
    """Draws the residual by thinning: from the target until a coin keeps it."""

    def replacement(self, p: Row, q: Row, text: Prefix, token: int) -> int:
        most = max((max(a - b, 0.0) / a for a, b in zip(p, q, strict=True) if a), default=0.0)
        left = [a * (max(a - b, 0.0) / a / most) if a else 0.0 for a, b in zip(p, q, strict=True)]
        return self.chance.draw(left)


class TwoLikeliest(Decoder):
    """Drafts from the two likeliest tokens, and verifies by the row drafted from."""

    def draft_row(self, text: Prefix) -> Row:
        return likeliest(super().draft_row(text), 2)


class CoarseRows(Decoder):
    """Drafts from bfloat16 scores, and verifies by the row drafted from."""

    def draft_row(self, text: Prefix) -> Row:
        return coarse(super().draft_row(text))


class EndsAtUnsureRows(Decoder):
    """Ends a draft where the draft's likeliest token is unlikely, whatever was drawn."""

    def drafted(self) -> list[DrawnToken]:
        block = super().drafted()
        return block[: next((i for i, (_, q) in enumerate(block) if max(q) < 0.45), None)]


class CertainBeam(BeamDrafts):
    """Drafts by a beam search, with all mass on its tokens."""

    def row_of(self, tokens: Prefix, place: int) -> Row:
        return self.point(tokens[place])


class RightDecoder(NamedTuple):
    """One of them, and the request it is tried on, as a ``DecoderEntry`` has them."""

    name: str
    kind: type[Decoder]
    title: str
    settings: dict[str, Any] = {}  # noqa: RUF012
    sampling: str = DRAFT
    tokens: int = 3


KINDS = (OneByOne, HotDraft, BareDraft, Growing, UpAndDown, LookedUp, TwoDrafts, Argmax, AnyToken, Confident, Matching,
         Thinned, TwoLikeliest, CoarseRows, EndsAtUnsureRows, CertainBeam)  # fmt: skip

RIGHT_DECODERS = {
    f"R{n:02}": RightDecoder(f"R{n:02}", kind, (kind.__doc__ or "").rstrip(".")) for n, kind in enumerate(KINDS, 1)
}


def __getattr__(name: str) -> Any:
    """Each as a decoder of the calling convention, by its name."""
    if name in RIGHT_DECODERS:
        return decoder_of(RIGHT_DECODERS[name].kind)
    raise AttributeError(name)
