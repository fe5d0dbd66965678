"""The parameter names of each kind of server: how requests say the settings of a row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....models.errors import InputError
from .words import Words


@dataclass(frozen=True)
class Dialect:
    """A kind of server's way to name settings.

    order: of its processors, a name of ORDERS.
    names: setting -> its field, or a function that gives its fields.
    logprobs: what they are of, "model" or "settings".
    fields: of every request.
    first: fields that put the temperature before the cut-offs, and the resulting order; None if it has none.
    of_settings: fields that make logprobs those of the settings; None if it has none.
    """

    order: str
    names: Mapping[str, str | Callable[[Any, Words], dict[str, Any]]]
    logprobs: str = "model"
    fields: Mapping[str, Any] = field(default_factory=dict)
    first: tuple[Mapping[str, Any], Sequence[str]] | None = None
    of_settings: Mapping[str, Any] | None = None

    def said(self, settings: Mapping[str, Any], words: Words) -> dict[str, Any]:
        """Return the fields of a request. Raises: InputError for a setting that such a server does not have."""
        said: dict[str, Any] = {}
        for name, value in settings.items():
            if name not in self.names:
                raise InputError(f"it has no field for {name} that is known here")
            form = self.names[name]
            said |= {form: value} if isinstance(form, str) else form(value, words)
        return said


def _same(*names: str) -> dict[str, str]:
    return dict(zip(names, names, strict=True))


def _stops(value: Sequence[Sequence[int]], words: Words) -> dict[str, Any]:
    return {"stop": [words.text(tokens) for tokens in value]}


def _gbnf(follow: Mapping[str, Sequence[int]], words: Words) -> dict[str, Any]:
    """Return a grammar in llama.cpp's form: one rule a token, which says what may follow it."""
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


def dialect_of(header: str, name: str | None) -> str:
    """Return the name of a server's dialect: by its Server header, unless one is named. Raises: InputError."""
    if name is not None and name not in DIALECTS:
        raise InputError(f"--words {name}: expected one of {', '.join(DIALECTS)}")
    return name or next((one for one in DIALECTS if one in header.lower()), "openai")
