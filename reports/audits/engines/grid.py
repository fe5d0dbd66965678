"""The grid of an engine: each setting that it has, with each way of drafting, and what became of it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ....models.decoding_settings import DRAFT, LOOKUP
from ....models.errors import InputError
from ....models.problem import Problem
from ....verifiers.adapters.registry import TOKENS, Engine
from .exact_texts import MORE_TOKENS, TextCell, decoder_problem, long_problem

REPEATING = [0, 1, 2, 0]
"""The prompt of drafting from the text itself, which finds nothing in a prompt without repetition."""


class GridRow(NamedTuple):
    """One row of the grid. name: in words. settings, tokens: of a request. modes: ways of drafting it is asked with.

    blocks: whether its texts have several, of a pair of two tokens.
    """

    name: str
    settings: Mapping[str, Any]
    tokens: int = 2
    modes: tuple[str, ...] = ("draft", "lookup")
    blocks: bool = False


DRAFT_ALONE = ("draft",)

GRID = (
    GridRow("none", {}, 3),
    GridRow("none, more blocks", {}, MORE_TOKENS, DRAFT_ALONE, blocks=True),
    GridRow("temperature 0", {"temperature": 0}, 3),
    GridRow("temperature 0, a draft that is rejected", {"temperature": 0, "prompt": [0, 2, 1, 0]}, 3),
    GridRow("temperature 0, more blocks", {"temperature": 0}, MORE_TOKENS, DRAFT_ALONE, blocks=True),
    GridRow("temperature 0.5", {"temperature": 0.5}, 3),
    GridRow("temperature 2", {"temperature": 2}),
    GridRow("top-k", {"top_k": 2}, 3),
    GridRow("top-p", {"top_p": 0.7}, 3),
    GridRow("top-k and top-p", {"top_k": 2, "top_p": 0.6}),
    GridRow("top-p at temperature 0.5", {"temperature": 0.5, "top_p": 0.75}),
    GridRow("min-p", {"min_p": 0.4}),
    GridRow("min-p at temperature 2", {"temperature": 2, "min_p": 0.6}),
    GridRow("typical", {"typical_p": 0.5}),
    GridRow("epsilon cut-off", {"epsilon_cutoff": 0.23}),
    GridRow("eta cut-off", {"eta_cutoff": 0.3}),
    GridRow("repetition penalty", {"repetition_penalty": 1.5}, 3),
    GridRow("presence penalty", {"presence_penalty": 1.0}, 3),
    GridRow("frequency penalty", {"frequency_penalty": 1.0}, 3),
    GridRow("logit bias", {"logit_bias": {"1": 1.5}}),
    GridRow("banned token", {"banned": [1]}),
    GridRow("allowed tokens", {"allowed": [0, 1]}),
    GridRow("grammar of two tokens", {"grammar": {"0": [1, 2], "1": [0, 2]}}, 3),
    GridRow("n-gram ban", {"no_repeat_ngram": 2}, 3),
    GridRow("EOS in a block", {"eos": [1]}, 3),
    GridRow("EOS and minimum length", {"eos": [1], "min_tokens": 2}, 3),
    GridRow("two EOS tokens", {"eos": [1, 2]}, 3),
    GridRow("forced EOS at the cap", {"forced_eos": [2]}, 3),
    GridRow("cap inside a block", {}, 1),
    GridRow("stop across tokens", {"stop": [[1, 2]]}, 3, DRAFT_ALONE),
    GridRow("stop inside a block", {"stop": [[1]]}),
    GridRow("two stops", {"stop": [[1], [0, 2]]}, 3, DRAFT_ALONE),
    GridRow("stop over three blocks", {"stop": [[1, 0, 1]]}, MORE_TOKENS, DRAFT_ALONE, blocks=True),
    GridRow(
        "several settings",
        {"temperature": 0.7, "top_k": 2, "min_p": 0.2, "repetition_penalty": 1.3, "eos": [1], "min_tokens": 2},
        3,
    ),
    GridRow("n = 2", {"n": 2}),
    GridRow("prompt of 1 token", {"prompt": [2]}, modes=DRAFT_ALONE),
    GridRow("prompt of 5 tokens", {"prompt": [1, 1, 0, 2, 1]}),
    GridRow("text over a page of 16 tokens", {"prompt": [*REPEATING, *REPEATING, *REPEATING, 2, 1]}, 3, DRAFT_ALONE),
    GridRow("same prompt beside", {"prompt": [1], "together": [{"prompt": [1]}]}),
    GridRow("other length beside", {"prompt": [0, 1], "together": [{"prompt": [1]}]}),
    GridRow("other settings beside", {"temperature": 0.5, "together": [{"temperature": 2.0}]}),
    GridRow("greedy beside sampled", {"together": [{"temperature": 0}]}),
    GridRow("logprobs", {"logprobs": True}),
    GridRow("logprobs at temperature 0.5", {"temperature": 0.5, "logprobs": True}),
    GridRow("draft at temperature 0.5", {"draft_temperature": 0.5}, 3, DRAFT_ALONE),
    GridRow("adaptive draft length", {"adaptive": True}, 3, DRAFT_ALONE),
    GridRow("adaptive draft length, more blocks", {"adaptive": True}, MORE_TOKENS, DRAFT_ALONE, blocks=True),
    GridRow("early exit", {"early_exit": 1}, 2, DRAFT_ALONE),
    GridRow("tokenizers apart", {"universal": True, "prompt": [2]}, 2, DRAFT_ALONE),
    GridRow("sampled drafts", {"draft_sampled": True, "temperature": 0.5}, 3, DRAFT_ALONE),
    GridRow("suffix drafts", {"suffix": True, "prompt": REPEATING}, 3, DRAFT_ALONE),
    GridRow("EAGLE head", {"eagle": True}, 3, DRAFT_ALONE),
    GridRow("EAGLE head, sampled drafts", {"eagle": True, "draft_sampled": True, "temperature": 0.5}, 3, DRAFT_ALONE),
    GridRow("requests with a seed", {"seeded": True}),
    GridRow("prompt of 40 tokens, decoded before", {"prompt": REPEATING * 10, "earlier": [REPEATING * 10]}),
)
"""All settings that any engine has; of one engine those that it has."""


def grid_cells(
    engine: Engine, problem: Problem | None = None, drafting: Mapping[str, Any] | None = None, rows: Sequence[str] = ()
) -> list[TextCell]:
    """The cells of the engine's grid, row by row.

    drafting: settings that say how to draft, of all cells. rows: names of rows, all if empty.
    Texts are longer by as many tokens as the engine's are by default: one that writes its first token plainly needs one
    more. Those of several requests together have two: one is drafted, and more would be too many ways; or one, of a
    pair of two tokens, where an engine draws whole blocks, so that its texts are shorter by default.
    Raises: InputError for a row that there is not.
    """
    if strange := [row for row in rows if row not in {asked.name for asked in GRID}]:
        raise InputError(f"{strange[0]!r} is no row of the grid")
    problem, has, cells = problem or decoder_problem(), set(engine.settings or ()), []
    for asked in GRID:
        settings = dict(asked.settings)
        if not set(settings) <= has or (rows and asked.name not in rows):
            continue
        beside, short = bool({"n", "together"} & set(settings)), engine.tokens < TOKENS
        for mode in (m for m in asked.modes if m in engine.modes):
            given = settings if mode == "draft" or "prompt" in settings else {**settings, "prompt": REPEATING}
            tokens = asked.tokens if mode == "draft" else min(asked.tokens, 2)
            if not beside or short:
                tokens = max(1, tokens + engine.tokens - TOKENS)
            pair = long_problem() if asked.blocks or (beside and short) else problem
            sampling = DRAFT if mode == "draft" else LOOKUP
            cells.append(TextCell(asked.name, {**given, **(drafting or {})}, tokens, sampling, pair))
    return cells
