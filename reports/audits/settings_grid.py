"""The grid of settings: each row is a setting, and how engines in process and servers behind a URL are asked for it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...models.errors import InputError

REPEATING = [0, 1, 2, 0]
"""Prompt for drafts that are looked up in the text itself: they find nothing in a prompt without repetition."""

MORE_TOKENS = 5
"""Tokens of a text of at least three blocks, two of which can end with a rejection."""

SERVED_TOKENS = 112
"""Tokens of a text that a server writes: 4,000 texts then have a detection limit below TV 0.01."""

BOTH, DRAFT_ALONE, SERVERS_ALONE = ("draft", "lookup"), ("draft",), ()
"""Ways of drafting in which a row is asked of an engine in process."""


class Served(NamedTuple):
    """A way in which a server is asked for a row.

    settings: of the requests, in turn; None for the row's own.
    tokens: cap of a text. in_turn: whether texts have caps of 1, 2, ... up to it, in turn.
    prompt: "none", "varied" (of several lengths) or "same" (the same 40 tokens each time).
    stream, seeded: whether answers are streamed, and whether each request has a seed of its own.
    logprobs_of: what logprobs are asked for: "" for none, "text", "settings" or "prompt".
    temperature_first: whether the temperature has to come before the cut-offs.
    """

    settings: Sequence[Mapping[str, Any]] | None = None
    tokens: int = SERVED_TOKENS
    in_turn: bool = False
    prompt: str = "none"
    stream: bool = False
    seeded: bool = False
    logprobs_of: str = ""
    temperature_first: bool = False


class GridRow(NamedTuple):
    """A row of the grid.

    name: the setting, in words.
    settings, tokens: of a request to an engine in process.
    modes: ways of drafting in which such an engine is asked.
    blocks: whether its texts have several blocks, of a pair of two tokens.
    served: how a server is asked; None if no server has this setting.
    """

    name: str
    settings: Mapping[str, Any]
    tokens: int = 2
    modes: tuple[str, ...] = BOTH
    blocks: bool = False
    served: Served | None = None

    @property
    def requests(self) -> Sequence[Mapping[str, Any]]:
        """Settings of the requests to a server, in turn."""
        assert self.served is not None
        return [self.settings] if self.served.settings is None else self.served.settings


ASKED, VARIED = Served(), Served(prompt="varied")

GRID = (
    GridRow("none", {}, 3, served=ASKED),
    GridRow("none, more blocks", {}, MORE_TOKENS, DRAFT_ALONE, blocks=True),
    GridRow("temperature 0", {"temperature": 0}, 3, served=VARIED),
    GridRow("temperature 0, a draft that is rejected", {"temperature": 0, "prompt": [0, 2, 1, 0]}, 3),
    GridRow("temperature 0, more blocks", {"temperature": 0}, MORE_TOKENS, DRAFT_ALONE, blocks=True),
    GridRow("temperature 0.5", {"temperature": 0.5}, 3, served=ASKED),
    GridRow("temperature 2", {"temperature": 2}, served=ASKED),
    GridRow("top-k", {"top_k": 2}, 3, served=ASKED),
    GridRow("top-p", {"top_p": 0.7}, 3, served=ASKED),
    GridRow("top-k and top-p", {"top_k": 2, "top_p": 0.6}, served=ASKED),
    GridRow("top-p at temperature 0.5", {"temperature": 0.5, "top_p": 0.75}, served=ASKED),
    GridRow("min-p", {"min_p": 0.4}, served=ASKED),
    GridRow("min-p at temperature 2", {"temperature": 2, "min_p": 0.6}, served=ASKED),
    GridRow("typical", {"typical_p": 0.5}, served=ASKED),
    GridRow("epsilon cut-off", {"epsilon_cutoff": 0.23}),
    GridRow("eta cut-off", {"eta_cutoff": 0.3}),
    GridRow("repetition penalty", {"repetition_penalty": 1.5}, 3, served=ASKED),
    GridRow("presence penalty", {"presence_penalty": 1.0}, 3, served=ASKED),
    GridRow("frequency penalty", {"frequency_penalty": 1.0}, 3, served=ASKED),
    GridRow("logit bias", {"logit_bias": {"1": 1.5}}, served=ASKED),
    GridRow("banned token", {"banned": [1]}, served=ASKED),
    GridRow("allowed tokens", {"allowed": [0, 1]}, served=ASKED),
    GridRow("grammar of two tokens", {"grammar": {"0": [1, 2], "1": [0, 2]}}, 3, served=ASKED),
    GridRow("n-gram ban", {"no_repeat_ngram": 2}, 3),
    GridRow("EOS in a block", {"eos": [1]}, 3),
    GridRow("EOS and minimum length", {"eos": [1], "min_tokens": 2}, 3),
    GridRow("two EOS tokens", {"eos": [1, 2]}, 3),
    GridRow("forced EOS at the cap", {"forced_eos": [2]}, 3),
    GridRow("cap inside a block", {}, 1, served=Served(tokens=6, in_turn=True, prompt="varied")),
    GridRow("stop across tokens", {"stop": [[1, 2]]}, 3, DRAFT_ALONE, served=Served([{"stop": [[1, 1, 1]]}])),
    GridRow("stop inside a block", {"stop": [[1]]}),
    GridRow("two stops", {"stop": [[1], [0, 2]]}, 3, DRAFT_ALONE),
    GridRow("stop over three blocks", {"stop": [[1, 0, 1]]}, MORE_TOKENS, DRAFT_ALONE, blocks=True),
    GridRow(
        "several settings",
        {"temperature": 0.7, "top_k": 2, "min_p": 0.2, "repetition_penalty": 1.3, "eos": [1], "min_tokens": 2},
        3,
    ),
    GridRow("n = 2", {"n": 2}, served=ASKED),
    GridRow("prompt of 1 token", {"prompt": [2]}, modes=DRAFT_ALONE),
    GridRow("prompt of 5 tokens", {"prompt": [1, 1, 0, 2, 1]}),
    GridRow("text over a page of 16 tokens", {"prompt": [*REPEATING, *REPEATING, *REPEATING, 2, 1]}, 3, DRAFT_ALONE),
    GridRow("same prompt beside", {"prompt": [1], "together": [{"prompt": [1]}]}),
    GridRow("other length beside", {"prompt": [0, 1], "together": [{"prompt": [1]}]}),
    GridRow("other settings beside", {"temperature": 0.5, "together": [{"temperature": 2.0}]},
            served=Served([{"temperature": 0.5}, {"temperature": 2.0}], prompt="varied")),
    GridRow("greedy beside sampled", {"together": [{"temperature": 0}]},
            served=Served([{"temperature": 0}, {}], prompt="varied")),
    GridRow("three beside, of other lengths", {"prompt": [1], "together": [{"prompt": [0]}, {"prompt": [0, 1]}]}),
    GridRow("three beside, one greedy and one that ends", {"together": [{"temperature": 0}, {"eos": [1]}]}),
    GridRow("logprobs", {"logprobs": True}, served=Served([{}], logprobs_of="text")),
    GridRow("logprobs at temperature 0.5", {"temperature": 0.5, "logprobs": True},
            served=Served([{"temperature": 0.5}], logprobs_of="text")),
    GridRow("draft at temperature 0.5", {"draft_temperature": 0.5}, 3, DRAFT_ALONE),
    GridRow("adaptive draft length", {"adaptive": True}, 3, DRAFT_ALONE),
    GridRow("adaptive draft length, more blocks", {"adaptive": True}, MORE_TOKENS, DRAFT_ALONE, blocks=True),
    GridRow("early exit", {"early_exit": 1}, 2, DRAFT_ALONE),
    GridRow("tokenizers apart", {"universal": True, "prompt": [2]}, 2, DRAFT_ALONE),
    GridRow("sampled drafts", {"draft_sampled": True, "temperature": 0.5}, 3, DRAFT_ALONE),
    GridRow("suffix drafts", {"suffix": True, "prompt": REPEATING}, 3, DRAFT_ALONE),
    GridRow("EAGLE head", {"eagle": True}, 3, DRAFT_ALONE),
    GridRow("EAGLE head, sampled drafts", {"eagle": True, "draft_sampled": True, "temperature": 0.5}, 3, DRAFT_ALONE),
    GridRow("requests with a seed", {"seeded": True}, served=Served([{}], seeded=True)),
    GridRow("prompt of 40 tokens, decoded before", {"prompt": REPEATING * 10, "earlier": [REPEATING * 10]},
            served=Served([{}], prompt="same")),
    GridRow("streamed", {}, modes=SERVERS_ALONE, served=Served(stream=True)),
    GridRow("top-p at temperature 0.5, temperature first", {"temperature": 0.5, "top_p": 0.75}, modes=SERVERS_ALONE,
            served=Served(temperature_first=True)),
    GridRow("prompts of 1 to 48 tokens", {}, modes=SERVERS_ALONE, served=VARIED),
    GridRow("logprobs of the settings", {"temperature": 0.5, "top_k": 2}, modes=SERVERS_ALONE,
            served=Served(logprobs_of="settings")),
    GridRow("logprobs of the prompt", {}, modes=SERVERS_ALONE,
            served=Served(tokens=1, prompt="varied", logprobs_of="prompt")),
)  # fmt: skip
"""Every setting that any engine or server has."""

SERVED = tuple(row for row in GRID if row.served)
"""The rows that servers are asked for."""


def chosen_rows(names: Sequence[str], rows: Sequence[GridRow] = GRID) -> list[GridRow]:
    """Return the rows of these names, all if none is named. Raises: InputError for a name that no row has."""
    if strange := [name for name in names if name not in {row.name for row in rows}]:
        raise InputError(f"{strange[0]!r} is no row of the grid", "DP401")
    return [row for row in rows if not names or row.name in names]
