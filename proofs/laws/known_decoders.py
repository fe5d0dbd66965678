"""The exact laws of known decoders, by enumeration, and the mutants that a decoder behaves as."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...models.decoders.catalogue import WRONG_DECODERS
from ...models.decoders.mistakes import in_order, mistakes_of
from ...models.decoders.reference import Decoder, KnownRows, texts_of
from ...models.decoding_settings import PLAIN, ReportedLogprobs, called_with, joined, note_logprobs
from ...models.law import Model, Prefix
from ...models.problem import Problem
from ...verifiers.chance import Chance
from ..enumeration import law_of
from .text_laws import LOGPROBS_OFF, TextsLaw
from .text_masses import TextMasses, distance

ALIKE = 1e-6
"""Largest total variation of two laws of texts that count as the same: float32 rounds less, mutants differ by more."""


def law_of_decoder(
    kind: type[Decoder], problem: Problem, settings: Mapping[str, Any], tokens: int, sampling: str, clear: bool = True
) -> TextMasses:
    """Return the law of what one call of a decoder yields, over all ways its chance can fall.

    sampling: PLAIN, DRAFT or LOOKUP. clear: whether cuts where engines may differ are errors.
    """
    given, rows = _given(problem, settings, tokens, sampling), KnownRows()
    return law_of(lambda chance: joined(one.text for one in texts_of(kind, *given, chance, rows, clear)), 1.0)


def logprobs_of_decoder(
    kind: type[Decoder], problem: Problem, settings: Mapping[str, Any], tokens: int, sampling: str
) -> ReportedLogprobs:
    """Return the least and the largest logprobs that it reports with each text, over all ways its chance can fall."""
    given, rows, reported = _given(problem, settings, tokens, sampling), KnownRows(), {}

    def program(chance: Chance) -> Prefix:
        one = texts_of(kind, *given, chance, rows, clear=True)[0]
        note_logprobs(reported, one.text, one.logprobs)
        return one.text

    law_of(program, 1.0)
    return reported


def _given(
    problem: Problem, settings: Mapping[str, Any], tokens: int, sampling: str
) -> tuple[Model, Model | None, int, int, dict[str, Any]]:
    draft = None if sampling == PLAIN else problem.draft
    return problem.target, draft, tokens, problem.gamma, called_with(settings, sampling)


OF_SETTINGS = "a mistake about settings"
"""What stands in place of a mutant's name where the mistake is of ``mistakes_of``."""


class SeenLaw(NamedTuple):
    """A request to a decoder, with what is known of its law. Mutants are compared on it.

    order: in which the engine applies settings.
    """

    problem: Problem
    settings: Mapping[str, Any]
    tokens: int
    sampling: str
    found: TextsLaw
    order: Sequence[str]

    def away(self, kind: type[Decoder]) -> float:
        """Return how far a known decoder is from the law, in its texts and in the logprobs that it reports."""
        given = in_order(kind, self.order), self.problem, self.settings, self.tokens, self.sampling
        size = distance(law_of_decoder(*given), self.found.masses or {})
        if size > ALIKE or not self.found.logprobs:
            return size
        reported, off = logprobs_of_decoder(*given), size
        for text, both in self.found.logprobs.items():
            for mine, theirs in zip(reported.get(text, both), both, strict=True):
                if len(mine) != len(theirs):
                    return 1.0
                off = max([off, *(abs(a - b) for a, b in zip(mine, theirs, strict=True) if a != b)])
        return 0.0 if off <= LOGPROBS_OFF else off


def behaves_as(seen: Sequence[SeenLaw]) -> tuple[list[dict[str, Any]], int]:
    """Return the mutants that do the same on every request given, and how many were compared.

    If none does, mistakes about the settings of the first request are named.
    seen: requests, at least one of them refuted. A mutant that does right on all of them is not named.
    """
    known = {e.name: e for e in WRONG_DECODERS.values() if not e.followed}
    mistakes = mistakes_of(seen[0].settings, seen[0].order, seen[0].sampling, seen[0].tokens)
    compared = len(known) + len(mistakes)
    if all(one.away(Decoder) <= ALIKE for one in seen):
        return [], compared
    problems = [*{one.problem.name: None for one in seen}]
    same = []
    for entry in known.values():
        if (worst := _away(seen, [entry.kind] * len(seen))) <= ALIKE:
            about = {"mutant": entry.name, "title": entry.title, "ancestor": entry.ancestor, "link": entry.link}
            same.append(about | {"problems": problems, "distance": worst})
    found: dict[str, float] = {}
    each = [mistakes_of(one.settings, one.order, one.sampling, one.tokens) for one in seen]
    for name in mistakes if not same else ():
        if (worst := _away(seen, [kinds.get(name, Decoder) for kinds in each])) <= ALIKE:
            found[name] = worst
    if found:
        same = [{"mutant": OF_SETTINGS, "title": " or ".join(found), "ancestor": "", "link": "", "problems": problems,
                 "distance": max(found.values())}]  # fmt: skip
    return same, compared


def _away(seen: Sequence[SeenLaw], kinds: Sequence[type[Decoder]]) -> float:
    """Return how far known decoders are from the laws at most; once that is too far, no further one is looked at."""
    worst = 0.0
    for one, kind in zip(seen, kinds, strict=True):
        try:
            worst = max(worst, one.away(kind))
        except Exception:  # a mutant that cannot be run under these settings is another one
            return 1.0
        if worst > ALIKE:
            break
    return worst
