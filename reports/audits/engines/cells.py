"""The requests to an engine whose exact laws are asked for: their pairs, settings and ways of drafting."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ....models.decoding_settings import (
    DRAFT,
    LOOKUP,
    ORDERS,
    PLAIN,
    requests_of,
    text_law,
)
from ....models.errors import InputError
from ....models.json_files import read_file
from ....models.problem import Problem, as_json, problem_from
from ....models.setting_values import checked_settings, named_tokens
from ....verifiers.adapters.registry import TOKENS, Engine
from ..settings_grid import MORE_TOKENS, REPEATING, chosen_rows

DRAFTING = (
    "draft_temperature",
    "adaptive",
    "early_exit",
    "universal",
    "assistant_ensemble_weight",
    "lookup",
    "draft_sampled",
    "repaired",
)
"""Settings that say how to draft, which plain decoding does not have."""


SEQUENCES: Mapping[str, list[Any]] = {
    "behind an end token": [{"eos": [0, 1]}],
    "behind a cap": [{"tokens": 2}] * 6,
    "behind a cancelled request": [{"tokens": 6, "cancelled": 8}],
}
"""Earlier requests, by what is said of a request after them. Of those that end at their cap the last one's state is
left by requests of its own kind, since every request of an audit may end so."""


class TextCell(NamedTuple):
    """A request whose law is asked for.

    sampling: the way of drafting. problem: the pair. untold: the known mistakes about the settings that neither this
    request tells apart nor those that were chosen with it.
    """

    name: str
    settings: Mapping[str, Any]
    tokens: int
    sampling: str
    problem: Problem
    untold: tuple[str, ...] = ()

    @property
    def plain(self) -> "TextCell":
        """The same without speculation; settings that only say how to draft are left out."""
        settings = {n: v for n, v in self.settings.items() if n not in DRAFTING}
        return self._replace(settings=settings, sampling=PLAIN)

    @property
    def key(self) -> tuple[str, ...]:
        """What its law depends on, for one engine."""
        return self.sampling, str(self.tokens), json.dumps([self.settings, as_json(self.problem)], sort_keys=True)


def kept_problem(name: str) -> Problem:
    """Return a pair of problems.json."""
    return problem_from(read_file(dict[str, Any], Path(__file__).with_name("problems.json"))[name], name)


def decoder_problem() -> Problem:
    """Return a pair without ties: no two tokens are as likely, and no sum is a round number, so cut-offs are clear."""
    return kept_problem("decoded-V3-gamma2")


def long_problem() -> Problem:
    """Return a pair of two tokens, whose texts have several blocks and few paths.

    The most probable tokens of both models agree after a token and differ at the start.
    """
    return kept_problem("decoded-V2-gamma2")


def zeros_problem() -> Problem:
    """Return a pair with tokens of probability 0 in either model and in both, with equal rows and disjoint rows."""
    return kept_problem("zeros-V3-gamma2")


def asked_cells(
    engine: Engine, problems: Sequence[Problem], settings: Mapping[str, Any], tokens: int | None, plain: bool
) -> list[TextCell]:
    """Return one cell for each problem, with the settings of the command line.

    If only the engine and settings are named, a second cell has texts of several blocks, provided that two tokens are
    enough for the settings. Without settings a third cell has rows with zeros, and the others come after requests of
    ``SEQUENCES``: an end token is asked for if the engine is known to have it.
    Raises: InputError for a setting that the engine does not have.
    """
    has = engine.settings and [*engine.settings, *(() if engine.driver else ("earlier",))]
    checked_settings(settings, has)
    given = {name: value for name, value in settings.items() if name != "lookup"}
    sampling = PLAIN if plain else LOOKUP if settings.get("lookup") else DRAFT
    name = ", ".join(f"{n} {json.dumps(v)}" for n, v in given.items()) or "none"
    cells = [TextCell(name, given, tokens or engine.tokens, sampling, p) for p in problems or [decoder_problem()]]
    if problems or tokens or engine.driver:
        return cells
    more = TextCell("more blocks", given, MORE_TOKENS + engine.tokens - TOKENS, sampling, long_problem())
    if not given:
        zeros = TextCell("rows with zeros", given, engine.tokens, sampling, zeros_problem())
        known = {name: made for name, made in SEQUENCES.items() if "eos" in (has or ()) or "eos" not in made[0]}
        return [*cells, more, zeros, *(TextCell(name, {"earlier": made}, engine.tokens, sampling, long_problem())
                                       for name, made in known.items())]  # fmt: skip
    return [*cells, *([more._replace(name=f"{name}, more blocks")] if _need_two_tokens(engine, more) else [])]


def _need_two_tokens(engine: Engine, cell: TextCell) -> bool:
    """Check that the settings have a law over two tokens for both models, of one text, that is quick to find."""
    if engine.tokens < TOKENS or len(requests_of(cell.settings)) > 1 or named_tokens(cell.settings) - {0, 1}:
        return False
    try:
        both = cell.problem.target, cell.problem.draft
        return all(text_law(model, cell.tokens, cell.settings, ORDERS[engine.order]) for model in both)
    except InputError:
        return False


def grid_cells(engine: Engine, drafting: Mapping[str, Any] | None = None, rows: Sequence[str] = ()) -> list[TextCell]:
    """Return the cells of the engine's grid, row by row.

    drafting: settings of all cells that say how to draft. rows: names of rows, all if empty.
    An engine that writes its first token without drafts needs texts that are one token longer. Texts of several
    requests have two tokens: one is drafted, and more would be too many paths. If an engine draws whole blocks, so that
    its texts are short, they have one, of a pair of two tokens.
    Raises: InputError for a row that there is not.
    """
    has, cells = set(engine.settings or ()), []
    for asked in chosen_rows(rows):
        settings = dict(asked.settings)
        if not set(settings) <= has:
            continue
        several, short = bool({"n", "together"} & set(settings)), engine.tokens < TOKENS
        for mode in (m for m in asked.modes if m in engine.modes):
            given = settings if mode == "draft" or "prompt" in settings else {**settings, "prompt": REPEATING}
            tokens = asked.tokens if mode == "draft" else min(asked.tokens, 2)
            if not several or short:
                tokens = max(1, tokens + engine.tokens - TOKENS)
            pair = long_problem() if asked.blocks or (several and short) else decoder_problem()
            sampling = DRAFT if mode == "draft" else LOOKUP
            cells.append(TextCell(asked.name, {**given, **(drafting or {})}, tokens, sampling, pair))
    return cells
