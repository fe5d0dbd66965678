"""The settings of the decoding loop, and checks of its input."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ..errors import InputError
from .draft_length import Adaptive

MAX_GAMMA = 64
"""Draft tokens of a block, at most: far beyond any gamma that pays."""

MIN_TEMPERATURE = 1e-6
"""The least temperature above 0: below it the rounding of float32 logits decides, and 0 says what is meant."""

DEVICES = ("cpu", "cuda", "mps")
"""Kinds of devices that the loop runs on."""


@dataclass(frozen=True)
class LoopSettings:
    """A set of what the decoding loop is asked to do.

    gamma: draft tokens an iteration, or ``Adaptive``.
    temperature, top_k, top_p: see ``sampling.warp``, for both models.
    max_new_tokens: no text grows by more.
    eos: tokens that end a text.
    seed: of all randomness.
    vocabulary: ids from it on are padding and masked in both models; None where both have the same number of ids.
    Raises: InputError for a value out of its range.
    """

    gamma: int | Adaptive = 4
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    max_new_tokens: int = 64
    eos: int | Collection[int] = ()
    seed: int = 0
    vocabulary: int | None = None

    def __post_init__(self) -> None:
        name = "adaptive gamma: longest" if isinstance(self.gamma, Adaptive) else "gamma"
        must_be_whole(name, self.longest_gamma, 1, MAX_GAMMA)
        for name, least in (("max_new_tokens", 1), ("top_k", 0), ("seed", 0)):
            must_be_whole(name, getattr(self, name), least)
        if not (isfinite(self.temperature) and self.temperature >= 0):
            raise InputError(f"temperature {self.temperature}: expected a number of at least 0")
        if 0 < self.temperature < MIN_TEMPERATURE:
            raise InputError(f"temperature {self.temperature}: expected 0 or at least {MIN_TEMPERATURE:g}")
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p {self.top_p}: expected a number above 0 and at most 1")

    @property
    def first_gamma(self) -> int:
        """Return gamma of the first iteration."""
        return self.gamma.first if isinstance(self.gamma, Adaptive) else self.gamma

    @property
    def longest_gamma(self) -> int:
        return self.gamma.longest if isinstance(self.gamma, Adaptive) else self.gamma

    @property
    def greedy(self) -> bool:
        """Return whether the most probable token is taken."""
        return self.temperature == 0

    @property
    def end_tokens(self) -> frozenset[int]:
        """Return the tokens that end a text."""
        return frozenset([self.eos] if isinstance(self.eos, int) else self.eos)


def must_be_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Check that the value is a whole number from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} {value!r}: expected a whole number of at least {least}")
    if most is not None and value > most:
        raise InputError(f"{name} {value}: expected a whole number of at most {most}")


def text_config(model: Any) -> Any:
    """Return the part of a model's configuration that is of its text."""
    return model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config


def checked_device(device: str | None, model: Any) -> Any:
    """Return the torch device of that name, the model's own if none is named.

    Raises: InputError if there is no such device here, or it is of a kind that computes nothing (meta) or is untried.
    """
    import torch

    if device is None:
        return model.device
    try:
        chosen = torch.device(device)
        if chosen.type not in DEVICES:
            raise RuntimeError
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError):  # torch without CUDA asserts
        have = "cpu" + "".join(f", cuda:{n}" for n in range(torch.cuda.device_count()))
        raise InputError(f"device {device!r}: not available here; expected one of {have}") from None
    return chosen


def checked_vocabulary(models: dict[str, Any], vocabulary: int | None) -> int:
    """Return how many ids both models have, padding apart.

    Raises: InputError if their numbers differ and none is given, or one is given that a model does not have.
    """
    sizes = {name: text_config(model).vocab_size for name, model in models.items()}
    if vocabulary is None:
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"the {name} {size}" for name, size in sizes.items())
            expected = "if that is padding, say vocabulary= (the tokenizer's length)"
            raise InputError(f"vocabularies differ: {counts} ids; {expected}")
        return next(iter(sizes.values()))
    for name, size in sizes.items():
        if not 1 <= vocabulary <= size:
            raise InputError(f"vocabulary {vocabulary}: the {name} has {size} ids, expected 1 to {size}")
    return vocabulary


def checked_prompts(
    prompts: Sequence[Sequence[int]], models: dict[str, Any], vocabulary: int, settings: LoopSettings
) -> list[list[int]]:
    """Return the prompts as lists.

    Raises: InputError for none, an empty one, a token outside the vocabulary, or a text too long for a context.
    """
    contexts = {name: getattr(text_config(model), "max_position_embeddings", None) for name, model in models.items()}
    texts = [[int(token) for token in prompt] for prompt in prompts]
    if not texts:
        raise InputError("no prompts; expected at least one")
    for n, text in enumerate(texts):
        if not text:
            raise InputError(f"prompt {n}: is empty; expected at least one token (the start token, say)")
        if strange := [token for token in text if not 0 <= token < vocabulary]:
            outside = f"token {strange[0]} is outside the vocabulary"
            raise InputError(f"prompt {n}: {outside}, expected 0 to {vocabulary - 1}")
        for name, context in contexts.items():
            if context is not None and len(text) + settings.max_new_tokens > context:
                tokens = f"{len(text)} tokens and {settings.max_new_tokens} new ones"
                raise InputError(f"prompt {n}: {tokens} are more than the {context} of the {name}'s context")
    return texts


def checked_models(models: dict[str, Any]) -> None:
    """Check that no model drops units at random. Raises: InputError."""
    for name, model in models.items():
        if model.training:
            raise InputError(f"the {name} is in training mode, with dropout; expected model.eval()")
