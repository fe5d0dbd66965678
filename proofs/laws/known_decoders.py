"""The exact laws of known decoders, by enumeration, and the mutants that a decoder behaves as."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...models.decoders.catalogue import WRONG_DECODERS
from ...models.decoders.reference import Decoder, texts_of
from ...models.decoding_settings import PLAIN, ReportedLogprobs, called_with, joined, note_logprobs
from ...models.law import Model, Prefix
from ...models.problem import Problem
from ...verifiers.chance import Chance
from ..enumeration import law_of
from .text_laws import LOGPROBS_OFF, TextMasses, TextsLaw, distance

ALIKE = 1e-6
"""Largest total variation of two laws of texts that count as the same: float32 rounds less, mutants differ by more."""


def law_of_decoder(
    kind: type[Decoder], problem: Problem, settings: Mapping[str, Any], tokens: int, sampling: str
) -> TextMasses:
    """Return the law of what one call of a decoder yields, over all ways its chance can fall.

    sampling: PLAIN, DRAFT or LOOKUP.
    """
    given = _given(problem, settings, tokens, sampling)
    return law_of(lambda chance: joined(one.text for one in texts_of(kind, *given, chance)), 1.0)


def logprobs_of_decoder(
    kind: type[Decoder], problem: Problem, settings: Mapping[str, Any], tokens: int, sampling: str
) -> ReportedLogprobs:
    """Return the least and the largest logprobs that it reports with each text, over all ways its chance can fall."""
    given, reported = _given(problem, settings, tokens, sampling), {}

    def program(chance: Chance) -> Prefix:
        one = texts_of(kind, *given, chance)[0]
        note_logprobs(reported, one.text, one.logprobs)
        return one.text

    law_of(program, 1.0)
    return reported


def _given(
    problem: Problem, settings: Mapping[str, Any], tokens: int, sampling: str
) -> tuple[Model, Model | None, int, int, dict[str, Any]]:
    draft = None if sampling == PLAIN else problem.draft
    return problem.target, draft, tokens, problem.gamma, called_with(settings, sampling)


class SeenLaw(NamedTuple):
    """A request to a decoder, with what is known of its law. Mutants are compared on it."""

    problem: Problem
    settings: Mapping[str, Any]
    tokens: int
    sampling: str
    found: TextsLaw

    def away(self, kind: type[Decoder]) -> float:
        """Return how far a known decoder is from the law, in its texts and in the logprobs that it reports."""
        given = kind, self.problem, self.settings, self.tokens, self.sampling
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

    seen: requests, at least one of them refuted. A mutant that does right on all of them is not named.
    """
    same, entries = [], [e for e in WRONG_DECODERS.values() if not e.followed]
    if all(one.away(Decoder) <= ALIKE for one in seen):
        return [], len(entries)
    for entry in entries:
        worst = 0.0
        for one in seen:
            try:
                worst = max(worst, one.away(entry.kind))
            except Exception:  # a mutant that cannot be run under these settings is another one
                worst = 1.0
            if worst > ALIKE:
                break
        if worst <= ALIKE:
            about = {"mutant": entry.name, "title": entry.title, "ancestor": entry.ancestor, "link": entry.link}
            same.append(about | {"problems": [*{one.problem.name: None for one in seen}], "distance": worst})
    return same, len(entries)
