"""What the models of a loop were given to read, compared with its texts: tokens, positions and masks.

Exact, whatever the weights are and in every dtype: a cache that has lost a token, or has a rejected one, shows here
also where the rows do not depend on it.
"""

from collections.abc import Sequence
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ....models.generating.caches import CachedModel


class PassInputs(NamedTuple):
    """One forward pass: the tokens in all columns, old and new, their positions, and which are attended to; [B, n] each."""

    tokens: Tensor
    positions: Tensor
    mask: Tensor


class Misread(NamedTuple):
    """A row of a pass that did not read its text.

    model: "target" or "draft".
    prompt, iteration, position: where; the position in the text, from 0.
    part: "tokens" or "positions".
    expected, observed: both from the first difference on.
    """

    model: str
    prompt: int
    iteration: int
    position: int
    part: str
    expected: list[int]
    observed: list[int]


class InputRecorder:
    """The forward passes of one model, recorded by a hook.

    A cache is taken to hold the columns that were read, cut at the end to the length that it states; whether it does
    shows in the rows that come out. Of no use for a model that is handed embeddings in the place of tokens.
    A prefill calls the base model, a block the model, which may call a part of the base model only: both are recorded,
    and what the model calls of the base is the same pass.
    """

    def __init__(self, cached: CachedModel):
        model, base = cached.model, cached.model.base_model
        self.last_position, self.has_positions = cached.last_position, cached.has_positions
        self.tokens = self.positions = torch.zeros(len(cached.read), 0, dtype=torch.int64)
        self.passes: list[PassInputs] = []
        self.paused = self.inside = False
        self.model = model
        self.handles = [each.register_forward_pre_hook(self.record, with_kwargs=True) for each in {model, base}]
        self.handles.append(model.register_forward_hook(self.leave, always_call=True))
        self.cached, self.select_cached = cached, cached.select
        cached.select = self.select

    def leave(self, *_: Any) -> None:
        self.inside = False

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.cached.select = self.select_cached

    def record(self, module: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if self.paused or self.inside:
            return
        self.inside = module is self.model
        given = dict(zip(signature(module.forward).parameters, arguments, strict=False)) | named
        new, past = given["input_ids"].cpu(), _columns(given.get("past_key_values"))
        positions = given.get("position_ids")
        if positions is None:
            positions = torch.arange(past, past + new.shape[1])
        self.tokens = torch.cat([self.tokens[:, :past], new], 1)
        self.positions = torch.cat([self.positions[:, :past], positions.cpu().expand(new.shape)], 1)
        mask = given.get("attention_mask")
        mask = torch.ones(self.tokens.shape, dtype=torch.bool) if mask is None else mask.bool().cpu()
        self.passes.append(PassInputs(self.tokens, self.positions, mask))

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch, as the cache does, whichever rows the loop means."""
        self.select_cached(rows)
        self.tokens, self.positions = self.tokens[rows], self.positions[rows]

    def difference(self, inputs: PassInputs, row: int, text: list[int]) -> tuple[str, list[int], list[int]] | None:
        """Part, expected and observed where one row of a pass has not read this text."""
        mask = inputs.mask[row]
        tokens, positions = inputs.tokens[row][mask].tolist(), inputs.positions[row][mask].tolist()
        if tokens != text:
            return "tokens", *_from_first_difference(text, tokens)
        expected = [min(place, self.last_position) for place in range(len(text))]
        if self.has_positions and positions != expected:
            return "positions", *_from_first_difference(expected, positions)
        return None


def _columns(cache: Any) -> int:
    """How many columns a cache states that it has."""
    if cache is None:
        return 0
    return cache[0][0].shape[-2] if isinstance(cache, tuple) else int(cache.get_seq_length())


def _from_first_difference(expected: list[int], observed: list[int], most: int = 8) -> tuple[list[int], list[int]]:
    pairs = zip(expected, observed, strict=False)
    first = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(observed)))
    start = max(0, first - 1)
    return expected[start : start + most], observed[start : start + most]
