"""The texts that a decoder may write where engines may differ about a cut."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from .decoding_settings import AMBIGUOUS, NoTextLaw, Row, TextRequest, law_of_rows, modified
from .law import Model, Prefix

MOST_WAYS = 3**6
"""Largest number of ways looked at in which the cuts of a row can fall: five tokens and one threshold."""

THRESHOLDS = ("top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")
"""Settings that cut at a probability."""


def texts_that_may_be(
    model: Model, tokens: int, settings: Mapping[str, Any], order: Sequence[str]
) -> frozenset[Prefix] | None:
    """Return the texts that some way allows in which cuts within rounding may fall; None: not all ways are looked at.

    For the arguments see ``decoding_settings.one_text_law``.
    """
    prompt = tuple(settings.get("prompt") or ())

    def row_after(text: Prefix) -> Row:
        row = model.row(prompt + text)
        stay = _may_stay(row, TextRequest(prompt, text, tokens, settings, []), order)
        return [float(token in stay) for token in range(len(row))]

    try:
        return frozenset(law_of_rows(row_after, tokens, settings))
    except NoTextLaw:
        return None


def _may_stay(row: Sequence[Any], request: TextRequest, order: Sequence[str]) -> set[int]:
    """Return the tokens that may be written next: those that stay where the row and thresholds move within rounding.

    Raises: NoTextLaw, also where there are more ways than MOST_WAYS.
    """
    doubts: list[bool] = []
    stay = _staying(row, request._replace(doubts=doubts), order)
    if not doubts:
        return stay
    cuts = [name for name in THRESHOLDS if request.settings.get(name)]
    if 3 ** (len(row) + len(cuts)) > MOST_WAYS:
        raise NoTextLaw(f"cuts of a row may fall in more than {MOST_WAYS} ways")
    for factors in _factors(len(row) + len(cuts), request.settings):
        moved = [float(p) * factor for p, factor in zip(row, factors)]
        cut = {name: request.settings[name] * factor for name, factor in zip(cuts, factors[len(row) :])}
        stay |= _staying(moved, request._replace(settings={**request.settings, **cut}), order)
    return stay


def _factors(count: int, settings: Mapping[str, Any]) -> Iterator[tuple[float, ...]]:
    """Yield the factors of a row and of thresholds. A temperature above 1 brings scores nearer to each other."""
    by = 2 * AMBIGUOUS * max(1.0, settings.get("temperature", 1))
    yield from product((1 - by, 1.0, 1 + by), repeat=count)


def _staying(row: Sequence[Any], request: TextRequest, order: Sequence[str]) -> set[int]:
    return {token for token, p in enumerate(modified(row, request, order)) if p}
