"""The requests of one row of the grid of settings, in the parameter names of a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....models.decoding_settings import DRAFT, ORDERS
from ....models.errors import InputError
from ....models.law import Prefix
from ....models.problem import Problem
from ..settings_grid import REPEATING, SERVED_TOKENS, GridRow, Served
from .completions import Completion, Lost
from .dialects import Dialect
from .next_tokens import NextRows
from .reported import Entries, LogprobCheck, reported
from .requests import LONGEST_PROMPT, ForgedRequests, Kind
from .settings import NEUTRAL
from .words import Words

SPARE = 8
"""Tokens beyond the cap that are looked at."""


@dataclass
class RowRequests(ForgedRequests):
    """A ``SentRequests`` of one row of the grid. Raises: InputError if the dialect cannot say them.

    check: of the logprobs that answers report, if the row asks for them.
    """

    row: GridRow
    dialect: Dialect
    check: LogprobCheck | None = None
    _rows: dict[tuple[int, int], NextRows] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for slot in range(len(self.row.requests)):
            self.settings(slot)
        if of := self.served.logprobs_of:
            of_model = of == "prompt" or (of == "text" and self.dialect.logprobs == "model")
            bare = NextRows(self.problem.target, {}, SERVED_TOKENS, ())
            self.check = LogprobCheck(lambda p, t: (bare if of_model else self.rows(0)).at(p, t)[1])

    @property
    def served(self) -> Served:
        assert self.row.served is not None
        return self.row.served

    @property
    def length(self) -> int:
        return self.served.tokens + SPARE

    def asked(self, slot: int) -> Mapping[str, Any]:
        """Return the settings that a slot's request asks for."""
        return self.row.requests[slot % len(self.row.requests)]

    def tokens(self, slot: int) -> int:
        return 1 + slot % self.served.tokens if self.served.in_turn else self.served.tokens

    def rows(self, slot: int) -> NextRows:
        """Return the rows of a slot's text under its settings."""
        key = slot % len(self.row.requests), self.tokens(slot)
        if key not in self._rows:
            first = self.dialect.first
            order = first[1] if self.served.temperature_first and first else ORDERS[self.dialect.order]
            settings = {name: value for name, value in self.asked(slot).items() if name != "n"}
            self._rows[key] = NextRows(self.problem.target, settings, self.tokens(slot), order)
        return self._rows[key]

    def prompt(self, slot: int) -> Prefix:
        if self.served.prompt == "same":
            return tuple(REPEATING * 10)
        if self.served.prompt == "none":
            return ()
        rng = self.drawn(slot, "prompt")
        return tuple(map(int, rng.integers(self.problem.vocabulary, size=1 + rng.integers(LONGEST_PROMPT))))

    def settings(self, slot: int) -> dict[str, Any]:
        served, dialect = self.served, self.dialect
        fields = NEUTRAL | dict(dialect.fields) | dialect.said(self.asked(slot), self.words)
        if served.temperature_first:
            if dialect.first is None:
                raise InputError("its order cannot be asked for")
            fields |= dialect.first[0]
        if served.logprobs_of == "settings":
            if dialect.of_settings is None:
                raise InputError("it reports none of the settings")
            fields |= dialect.of_settings
        fields |= {"logprobs": self.problem.vocabulary} if served.logprobs_of else {}
        return fields | ({"echo": True} if served.logprobs_of == "prompt" else {})

    def texts(self, slot: int, answer: Completion) -> list[Prefix]:
        """Return the texts, each with the stop sequence that was cut off."""
        if len(answer.texts) < self.kind.choices:
            raise Lost(f"{len(answer.texts)} of {self.kind.choices} choices")
        stops, texts = self.asked(slot).get("stop"), []
        for said, ended in zip(answer.texts, answer.ended, strict=True):
            text = self.words.tokens(said)
            text = text[len(self.prompt(slot)) :] if self._echoed(slot, text) else text
            texts.append((*text, *(stops[0] if stops and ended == "stop" else ())))
        return texts

    def _echoed(self, slot: int, text: Sequence[int]) -> bool:
        """Check whether a text begins with its prompt, as it was asked to."""
        prompt = self.prompt(slot)
        return self.served.logprobs_of == "prompt" and tuple(text[: len(prompt)]) == prompt and len(text) > len(prompt)

    def reported(self, slot: int, answer: Completion) -> list[Entries]:
        """Return the logprobs of each choice; those of prompts without a start token before them."""
        if self.check is None:
            return []
        entries = [reported(said, self.words.token) for said in answer.logprobs]
        if self.served.logprobs_of != "prompt":
            return entries
        length, known = len(self.prompt(slot)), self.problem.vocabulary
        return [
            [e for e in one or () if e.token < known][:length] if self._echoed(slot, self.words.tokens(text)) else None
            for one, text in zip(entries, answer.texts, strict=True)
        ]

    def compare(self, slot: int, entries: Entries, text: Prefix) -> None:
        """Compare the logprobs of one choice with their rows."""
        if self.check is not None:
            prompt = self.prompt(slot)
            self.check.add(entries, *(((), prompt) if self.served.logprobs_of == "prompt" else (prompt, text)))


def row_requests(
    row: GridRow, mode: str, problem: Problem, words: Words, seed: int, dialect: Dialect, fields: Mapping[str, Any]
) -> RowRequests:
    """Return the requests of a row to a server of a problem's target. mode: DRAFT or PLAIN. Raises: InputError."""
    served, choices = row.served or Served(), int(row.requests[0].get("n", 1))
    name = row.name if mode == DRAFT else f"{row.name}, {mode}"
    kind = Kind(name, row.name, True, served.stream, choices, served.prompt != "none", served.seeded)
    return RowRequests(kind, problem, words, seed, fields, row, dialect)
