"""The wrong decoders that settings allow for: lost on a side, in another order, not drafted with, another history."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

from ...verifiers.arithmetic import normalised
from ..decoding_settings import AMBIGUOUS, CUTS, DRAFT, TextRequest, ended, modified
from ..law import Model, Prefix
from . import mutants
from .mutants import OnOneSide, without
from .reference import Decoder, DrawnToken, Row

SIDES = {"": (True, True), " in verified rows": (True, False), " in the bonus row": (False, True)}
"""The rows that a mistake is in -> whether it is in those of drafted tokens, and in that of the bonus token."""

OF_HISTORY = ("repetition_penalty", "presence_penalty", "frequency_penalty", "no_repeat_ngram", "grammar")
"""Settings that look at the tokens before."""

ACTS = {
    **dict.fromkeys(("banned", "allowed", "grammar", "no_repeat_ngram", "min_tokens", "forced_eos"), "mask"),
    **dict.fromkeys(("logit_bias", "presence_penalty", "frequency_penalty"), "shift"),
    **dict.fromkeys(("repetition_penalty",), "scale"), "temperature": "temperature", "top_k": "rank",
    "min_p": "ratio",
}  # fmt: skip
"""What a setting does to scores. Other cut-offs by probability are not named: they commute with nothing."""

IDLE: dict[str, float] = dict.fromkeys(("temperature", "top_p", "typical_p", "repetition_penalty"), 1)
"""Values that change no distribution. Of other settings it is 0."""

COMMUTING = [{"mask"}, {"mask", "shift"}, {"mask", "scale"}, {"mask", "temperature"}, {"shift"},
             {"scale", "temperature"}, {"temperature", "rank"}, {"rank", "ratio"}]  # fmt: skip
"""Kinds of settings whose order changes no distribution."""

DRAFTED = 3
"""Fewest tokens of a text in which a token is drafted where the first one is drawn without a draft."""

CLEARLY = 3 * AMBIGUOUS
"""Share by which a token is likelier than another one so that a cut between the two is beyond rounding."""

RANKED = ("top_k", "top_p")
"""Cut-offs that rank tokens, so that their order decides between those that are as likely. Where min_p meets a token's
probability, rounding decides, which may be another one for right engines."""

MOST_ORDERED = 5
"""Most settings whose orders are tried."""


class InAnotherOrder(OnOneSide):
    """A decoder that applies settings in another order to a part of the rows."""

    wrong_order: Sequence[str] = ()

    def wrong_row(self, text: Prefix) -> Row:
        asked = TextRequest(self.prompt, text, self.tokens, self.settings, self.doubts)
        return modified(self.target.row(self.prompt + text), asked, self.wrong_order)


class DraftedByAnotherRow(Decoder):
    """A decoder that accepts a drafted token that its draft row rules out wherever the target may write it."""

    def accepts(self, p: Row, q: Row, token: int) -> bool:
        return super().accepts(p, q, token) if q[token] else p[token] > 0


class DraftedWithout(DraftedByAnotherRow):
    """A decoder that draws drafted tokens without some settings, and verifies by draft rows that have them."""

    lost: tuple[str, ...] = ()

    def sampled_row(self, text: Prefix) -> Row:
        assert self.draft is not None
        return self.row(self.draft, text, without(self.settings, *self.lost))


def row_with_ties_cut(decoder: Decoder, model: Model, text: Prefix, keep_last: bool) -> Row:
    """Return a row under the settings where the first or the last of equally likely tokens stay under a cut."""
    row = model.row(decoder.prompt + text)
    moved = [float(p) * (1 + keep_last * token * CLEARLY) for token, p in enumerate(row)]
    asked = TextRequest(decoder.prompt, text, decoder.tokens, decoder.settings, decoder.doubts)
    return modified(moved, asked, decoder.order)


class DraftsAnotherOfTheTied(DraftedByAnotherRow):
    """A decoder that draws drafted tokens as if the last of those that are as likely stayed under a cut-off."""

    def sampled_row(self, text: Prefix) -> Row:
        assert self.draft is not None
        stay = row_with_ties_cut(self, self.draft, text, keep_last=True)
        whole = self.row(self.draft, text, without(self.settings, *RANKED))
        left = [p if kept else 0.0 for p, kept in zip(whole, stay, strict=True)]
        return normalised(left) if any(left) else whole


class BonusOfTheTied(Decoder):
    """A decoder that takes the first of equally likely tokens, but the last one as the bonus token behind a draft.

    keeps_last: whether it takes the last one, and the first as the bonus token. same_bonus: whether the bonus token is
    chosen like the others, which is right.
    """

    keeps_last, same_bonus = False, False

    def target_row(self, text: Prefix, place: int) -> Row:
        return row_with_ties_cut(self, self.target, text, self.keeps_last)

    def bonus(self, text: Prefix, place: int) -> int:
        other = place > 0 and not self.same_bonus
        return self.chance.draw(row_with_ties_cut(self, self.target, text, self.keeps_last != other))


class BehindThePrompt(Decoder):
    """A decoder that draws its first token without a draft, as many engines do, and drafts the likeliest tokens."""

    def drafted(self) -> list[DrawnToken]:
        return super().drafted() if self.text else []

    def draft_row(self, text: Prefix) -> Row:
        row = super().draft_row(text)
        return self.point(row.index(max(row)))


class UnderAnothers(OnOneSide):
    """A decoder that makes a part of the rows under a setting of another request of its batch.

    another: the settings with that one.
    """

    another: Mapping[str, Any] = {}

    def wrong_row(self, text: Prefix) -> Row:
        return self.row(self.target, text, self.another)


class EndsOfAnother(Decoder):
    """A decoder whose text ends where that of another request of its batch would."""

    another: Mapping[str, Any] = {}

    @property
    def over(self) -> bool:
        return ended(self.text, self.tokens, self.another)


def mistakes_of(
    settings: Mapping[str, Any],
    order: Sequence[str],
    sampling: str = DRAFT,
    tokens: int = DRAFTED,
    others: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, type[Decoder]]:
    """Return the decoders that are wrong about these settings of one request, by what they do.

    order: in which the engine applies settings. sampling: DRAFT or LOOKUP. tokens: the cap. others: the settings of
    the other requests of a batch, by what they are called.
    A mistake that changes no distribution, whatever the rows are, is not among them.
    """
    greedy = settings.get("temperature") == 0
    own = [name for name in order if settings.get(name) not in (None, IDLE.get(name, 0), {}, [])]
    own = [name for name in own if not (greedy and name in CUTS and name != "temperature")]
    found: dict[str, type[Decoder]] = {}
    for name in own:
        for side, (of_block, of_bonus) in SIDES.items():
            found[f"{name} lost{side}"] = mutants.losing(name, of_block=of_block, of_bonus=of_bonus)
        if sampling == DRAFT and not greedy:
            found[f"drafted without {name}"] = type("Drafted", (DraftedWithout,), {"lost": (name,)})
    for first, second in combinations(own, 2):
        if {ACTS.get(first, first), ACTS.get(second, second)} not in COMMUTING and not (
            greedy and "temperature" in (first, second)
        ):
            found |= _in_another_order(first, second, order)
    found |= _of_histories(settings, own) | (ends := _of_ends(settings))
    if sampling == DRAFT and tokens >= DRAFTED:
        found |= {f"{name}, behind likeliest drafts": type(kind.__name__, (BehindThePrompt, kind), {})
                  for name, kind in ends.items()}  # fmt: skip
    for other, theirs in (others or {}).items():
        found |= _of_another(settings, other, theirs)
    return {name: in_order(kind, order) for name, kind in found.items()}


def _of_another(settings: Mapping[str, Any], other: str, theirs: Mapping[str, Any]) -> dict[str, type[Decoder]]:
    """Return the decoders that take one setting of a request from another one, by what they do."""
    found: dict[str, type[Decoder]] = {}
    for name in sorted(settings.keys() | theirs.keys()):
        if settings.get(name) == theirs.get(name):
            continue
        another = {**without(settings, name), **({name: theirs[name]} if name in theirs else {})}
        what = f"{name} of {other}"
        if name in ("eos", "stop"):
            found[what] = type("Ended", (EndsOfAnother,), {"another": another})
        elif name == "prompt":
            found[what] = type("Behind", (mutants.PromptOfANeighbour,), {"another": another})
        else:
            for side, (block, bonus) in SIDES.items():
                given = {"another": another, "of_block": block, "of_bonus": bonus}
                found[what + side] = type("Under", (UnderAnothers,), given)
    return found


def orders_of(settings: Mapping[str, Any], order: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the order, and then all others in which these settings may be applied; of more than MOST_ORDERED none."""
    own = [name for name in order if name in settings]
    for names in permutations(own) if len(own) <= MOST_ORDERED else [own]:
        places: dict[str, str] = dict(zip(own, names, strict=True))
        yield tuple(places.get(name, name) for name in order)


def in_order(kind: type[Decoder], order: Sequence[str]) -> type[Decoder]:
    """Return the decoder that applies settings in this order."""
    return type(kind.__name__, (kind,), {"order": order})


def _in_another_order(first: str, second: str, order: Sequence[str]) -> dict[str, type[Decoder]]:
    """Return the decoders that apply the second setting just before the first."""
    others = [name for name in order if name != second]
    wrong = (*others[: others.index(first)], second, *others[others.index(first) :])
    return {
        f"{second} before {first}{side}": type(
            "Ordered", (InAnotherOrder,), {"wrong_order": wrong, "of_block": of_block, "of_bonus": of_bonus}
        )
        for side, (of_block, of_bonus) in SIDES.items()
    }


def _of_histories(settings: Mapping[str, Any], own: Sequence[str]) -> dict[str, type[Decoder]]:
    found: dict[str, type[Decoder]] = {}
    if {*own} & {*OF_HISTORY}:
        found["tokens of the block not in the history"] = mutants.BlockAsOfItsStart
        found["rejected tokens in the history"] = mutants.PenaltiesOfRejectedTokens
    if {*own} & {*OF_HISTORY, "min_tokens"} - {"grammar"}:  # which looks at one token
        found["only the last token of a block in the history"] = mutants.LastOfABlockAlone
    if {*own} & {"repetition_penalty", "no_repeat_ngram"}:
        found["prompt not in the history"] = mutants.PenaltiesWithoutThePrompt
    if "frequency_penalty" in own:
        found["tokens of the block counted twice"] = mutants.PenaltiesTwice
        found["frequency counted as presence"] = mutants.FrequencyAsPresence
    return found


def _of_ends(settings: Mapping[str, Any]) -> dict[str, type[Decoder]]:
    found: dict[str, type[Decoder]] = {}
    eos, stop = settings.get("eos") or (), settings.get("stop") or ()
    if eos:
        found["output goes on behind eos in a block"] = mutants.BehindEos
        found["rejected eos ends the output"] = mutants.RejectedEosEnds
    if any(len(one) > 1 for one in stop):
        found["stop looked for in each block alone"] = mutants.StopsWithinABlock
    if stop:
        found["stop seen only at the end of a block"] = mutants.StopsAtABlocksEnd
    if eos and stop:
        found["stop behind eos in a block ends the output"] = mutants.StopsBeforeEos
    if len(eos) > 1 or len(stop) > 1:
        found["only the first of several ends"] = mutants.FirstOfTheEnds
    return found
