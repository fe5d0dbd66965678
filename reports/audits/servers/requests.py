"""The grid of a server: its rows, each a kind of request, and the settings in the words of each kind of server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ....models.errors import InputError
from ....models.law import Prefix
from ....models.problem import Problem
from ..engines.grid import REPEATING
from .completions import Completion, Lost
from .kinds import LONGEST_PROMPT, Kind, Unreadable, Words
from .next_tokens import NextRows
from .reported import LogprobCheck, reported
from .settings import NEUTRAL

TOKENS = 112
"""Of a text: with 4,000 of them the limit is below TV 0.01."""

SPARE = 8
"""Tokens beyond the cap that are looked at."""


class ServerRow(NamedTuple):
    """One row of the grid: requests of one kind.

    name: in words, as in the grid of engines. settings: of the requests, in turn. tokens: the cap; 0 for 1 to 6.
    prompt: "none", "varied" (1 to LONGEST_PROMPT tokens) or "same" (40 tokens). how: of Kind. of: what logprobs are of:
    "" for none, "text", "settings" or "prompt". first: the temperature is asked to come before the cut-offs.
    """

    name: str
    settings: Sequence[Mapping[str, Any]] = ({},)
    tokens: int = TOKENS
    prompt: str = "none"
    how: Mapping[str, Any] = {}
    of: str = ""
    first: bool = False


GRID = (
    ServerRow("none"),
    ServerRow("streamed", how={"stream": True}),
    ServerRow("temperature 0", [{"temperature": 0}], prompt="varied"),
    ServerRow("temperature 0.5", [{"temperature": 0.5}]),
    ServerRow("temperature 2", [{"temperature": 2}]),
    ServerRow("top-k", [{"top_k": 2}]),
    ServerRow("top-p", [{"top_p": 0.7}]),
    ServerRow("top-k and top-p", [{"top_k": 2, "top_p": 0.6}]),
    ServerRow("top-p at temperature 0.5", [{"temperature": 0.5, "top_p": 0.75}]),
    ServerRow("top-p at temperature 0.5, temperature first", [{"temperature": 0.5, "top_p": 0.75}], first=True),
    ServerRow("min-p", [{"min_p": 0.4}]),
    ServerRow("min-p at temperature 2", [{"temperature": 2, "min_p": 0.6}]),
    ServerRow("typical", [{"typical_p": 0.5}]),
    ServerRow("repetition penalty", [{"repetition_penalty": 1.5}]),
    ServerRow("presence penalty", [{"presence_penalty": 1.0}]),
    ServerRow("frequency penalty", [{"frequency_penalty": 1.0}]),
    ServerRow("logit bias", [{"logit_bias": {"1": 1.5}}]),
    ServerRow("banned token", [{"banned": [1]}]),
    ServerRow("allowed tokens", [{"allowed": [0, 1]}]),
    ServerRow("grammar of two tokens", [{"grammar": {"0": [1, 2], "1": [0, 2]}}]),
    ServerRow("cap inside a block", tokens=0, prompt="varied"),
    ServerRow("stop across tokens", [{"stop": [[1, 1, 1]]}]),
    ServerRow("n = 2", [{"n": 2}]),
    ServerRow("prompts of 1 to 48 tokens", prompt="varied"),
    ServerRow("prompt of 40 tokens, decoded before", prompt="same"),
    ServerRow("other settings beside", [{"temperature": 0.5}, {"temperature": 2.0}], prompt="varied"),
    ServerRow("greedy beside sampled", [{"temperature": 0}, {}], prompt="varied"),
    ServerRow("requests with a seed", how={"seeded": True}),
    ServerRow("logprobs", of="text"),
    ServerRow("logprobs at temperature 0.5", [{"temperature": 0.5}], of="text"),
    ServerRow("logprobs of the settings", [{"temperature": 0.5, "top_k": 2}], of="settings"),
    ServerRow("logprobs of the prompt", tokens=1, prompt="varied", of="prompt"),
)  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """How one kind of server says settings.

    order: of its processors, as of ORDERS. names: of settings -> its field, or a function that gives its fields.
    logprobs: what they are of, "model" or "settings". fields: of every request.
    first: fields that put the temperature before the cut-offs, and the order that this makes; None if it has none.
    of_settings: fields that make logprobs those of the settings; None if it has none.
    """

    order: str
    names: Mapping[str, str | Callable[[Any, Words], dict[str, Any]]]
    logprobs: str = "model"
    fields: Mapping[str, Any] = field(default_factory=dict)
    first: tuple[Mapping[str, Any], Sequence[str]] | None = None
    of_settings: Mapping[str, Any] | None = None

    def said(self, settings: Mapping[str, Any], words: Words) -> dict[str, Any]:
        """The fields of a request. Raises: KeyError for a setting that such a server has not."""
        said: dict[str, Any] = {}
        for name, value in settings.items():
            form = self.names[name]
            said |= {form: value} if isinstance(form, str) else form(value, words)
        return said


def _same(*names: str) -> dict[str, str]:
    return dict(zip(names, names, strict=True))


def _stops(value: Sequence[Sequence[int]], words: Words) -> dict[str, Any]:
    return {"stop": [words.text(tokens) for tokens in value]}


def _gbnf(follow: Mapping[str, Sequence[int]], words: Words) -> dict[str, Any]:
    """A grammar in llama.cpp's form: one rule a token, which says what may follow it."""
    everything = range(len(words.words))

    def rule(tokens: Sequence[int]) -> str:
        return " | ".join(f'"{words.words[t]}" after{t}' for t in tokens)

    rules = [f"root ::= {rule(everything)}"]
    rules += [f"after{t} ::= ({rule(follow.get(str(t), everything))})?" for t in everything]
    return {"grammar": "\n".join(rules)}


DIALECTS = {
    "openai": Dialect(
        "openai",
        _same("temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias", "n") | {"stop": _stops},
    ),
    "draftproof": Dialect(
        "draftproof-reference",
        _same("temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "presence_penalty",
              "frequency_penalty", "logit_bias", "banned", "allowed", "grammar", "n") | {"stop": _stops},
        logprobs="settings", of_settings={},
    ),
    "llama.cpp": Dialect(
        "llama.cpp",
        _same("temperature", "top_k", "top_p", "min_p", "typical_p", "presence_penalty", "frequency_penalty", "n") | {
            "repetition_penalty": "repeat_penalty", "stop": _stops, "grammar": _gbnf,
            "logit_bias": lambda bias, words: {"logit_bias": [[int(t), b] for t, b in bias.items()]},
            "banned": lambda tokens, words: {"logit_bias": [[t, False] for t in tokens]},
            "allowed": lambda tokens, words: {
                "logit_bias": [[t, False] for t in range(len(words.words)) if t not in tokens]},
        },
        fields={"repeat_last_n": 4096},
        first=({"samplers": ["temperature", "top_p"]}, ("temperature", "top_p")),
        of_settings={"post_sampling_probs": True},
    ),
    "mlx-lm": Dialect(
        "mlx-lm",
        _same("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
              "logit_bias") | {"stop": _stops},
        fields={"repetition_context_size": 4096, "presence_context_size": 4096, "frequency_context_size": 4096},
    ),
    "vllm": Dialect(
        "vllm",
        _same("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
              "logit_bias", "n") | {"stop": _stops, "allowed": "allowed_token_ids"},
    ),
}  # fmt: skip
"""By name of the server; "openai" has what its API describes."""


@dataclass
class RowPlan:
    """The requests of one row, slot by slot, from the seed alone: what ``Sampler`` asks of a plan.

    row: what is asked. problem, words: what is served. dialect, fields: how requests say it, and what all have.
    """

    row: ServerRow
    problem: Problem
    words: Words
    seed: int
    dialect: Dialect
    fields: Mapping[str, Any]
    check: LogprobCheck | None = None
    _rows: dict[tuple[int, int], NextRows] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for settings in self.row.settings:
            if missing := [name for name in settings if name not in self.dialect.names]:
                raise InputError(f"it has no field for {missing[0]} that is known here")
        if self.row.first and self.dialect.first is None:
            raise InputError("its order cannot be asked for")
        if self.row.of == "settings" and self.dialect.of_settings is None:
            raise InputError("it reports none of the settings")
        if self.row.of:
            of_model = self.row.of == "prompt" or (self.row.of == "text" and self.dialect.logprobs == "model")
            bare = NextRows(self.problem.target, {}, TOKENS, ())
            self.check = LogprobCheck(lambda p, t: (bare if of_model else self.rows(0)).at(p, t)[1])

    @property
    def length(self) -> int:
        """Tokens of a text that are looked at."""
        return (self.row.tokens or TOKENS) + SPARE

    @property
    def kind(self) -> Kind:
        """The row as a kind of request."""
        n = int(self.row.settings[0].get("n", 1))
        return Kind(self.row.name, self.row.name, choices=n, prompts=self.row.prompt != "none", **self.row.how)

    def settings(self, slot: int) -> Mapping[str, Any]:
        """Of a slot's request."""
        return self.row.settings[slot % len(self.row.settings)]

    def tokens(self, slot: int) -> int:
        """The cap of a slot's text."""
        return self.row.tokens or 1 + slot % 6

    def rows(self, slot: int) -> NextRows:
        """The rows of a slot's text under its settings."""
        key = slot % len(self.row.settings), self.tokens(slot)
        if key not in self._rows:
            from ....models.decoding_settings import ORDERS

            order = self.dialect.first[1] if self.row.first and self.dialect.first else ORDERS[self.dialect.order]
            settings = {name: value for name, value in self.settings(slot).items() if name != "n"}
            self._rows[key] = NextRows(self.problem.target, settings, self.tokens(slot), order)
        return self._rows[key]

    def prompt(self, kind: Kind, slot: int) -> Prefix:
        """Tokens before the text."""
        if self.row.prompt == "same":
            return tuple(REPEATING * 10)
        if self.row.prompt == "none":
            return ()
        rng = np.random.default_rng([self.seed, slot])
        return tuple(map(int, rng.integers(self.problem.vocabulary, size=1 + rng.integers(LONGEST_PROMPT))))

    def body(self, kind: Kind, slot: int) -> dict[str, Any]:
        """The request of a slot."""
        asked = NEUTRAL | dict(self.dialect.fields) | self.dialect.said(self.settings(slot), self.words)
        body: dict[str, Any] = {"prompt": self.words.text(self.prompt(kind, slot)), "max_tokens": self.tokens(slot)}
        body |= {"stream": True} if kind.stream else {}
        body |= {"seed": int(np.random.default_rng([self.seed, slot, 1]).integers(2**31))} if kind.seeded else {}
        body |= dict(self.dialect.first[0]) if self.row.first and self.dialect.first else {}
        body |= {"logprobs": self.problem.vocabulary} if self.row.of else {}
        body |= {"echo": True} if self.row.of == "prompt" else {}
        body |= dict(self.dialect.of_settings or {}) if self.row.of == "settings" else {}
        return {name: value for name, value in (asked | body | dict(self.fields)).items() if value is not None}

    def texts(self, kind: Kind, slot: int, answer: Completion) -> list[Prefix]:
        """What was emitted, a text for each choice, with the stop sequence that was cut off. Raises: Lost."""
        if len(answer.texts) < kind.choices:
            raise Lost(f"{len(answer.texts)} of {kind.choices} choices")
        try:
            return [self._text(kind, slot, answer, choice) for choice in range(len(answer.texts))]
        except Unreadable as error:
            raise Lost(f"a text that is not of the target's tokens: {error}") from None

    def _text(self, kind: Kind, slot: int, answer: Completion, choice: int) -> Prefix:
        text, prompt = tuple(self.words.tokens(answer.texts[choice])), self.prompt(kind, slot)
        echoed = self.row.of == "prompt" and text[: len(prompt)] == prompt and len(text) > len(prompt)
        if self.check is not None:
            entries = reported(answer.logprobs[choice], self.words)
            if self.row.of == "prompt":
                self._check_prompt(entries if echoed else None, prompt)
            else:
                self.check.add(entries, prompt, text)
        text = text[len(prompt) :] if echoed else text
        stops = self.settings(slot).get("stop")
        return (*text, *stops[0]) if stops and answer.ended[choice] == "stop" else text

    def _check_prompt(self, entries: Any, prompt: Prefix) -> None:
        """Of the prompt's own tokens; a token of the start in front of them is passed over."""
        assert self.check is not None
        mine = [e for e in entries or () if e.token < self.problem.vocabulary][: len(prompt)]
        self.check.add(mine or None, (), prompt)
