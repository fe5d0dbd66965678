"""What a loop used: what its models were given to read, compared with its texts, and its random numbers.

This is exact for all weights and every dtype: a cache that states one token too few, or has a rejected one, shows here
even if the rows do not depend on it. Wrong keys and values in the right number of columns show in the rows alone.
"""

from collections import Counter
from collections.abc import Sequence
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ....models.generating.caches import CachedModel, cache_argument
from ....models.generating.sampling import Streams
from ....verifiers.batched.sampling import Uniforms


class PassInputs(NamedTuple):
    """A forward pass, [B, n] each: the tokens in all columns, old and new, their positions, and the mask."""

    tokens: Tensor
    positions: Tensor
    mask: Tensor


class RowPlace(NamedTuple):
    """A place of a row. model: "target" or "draft". position: in its text, from 0."""

    model: str
    prompt: int
    iteration: int
    position: int

    @property
    def in_words(self) -> str:
        return f"iteration {self.iteration}, prompt {self.prompt}"

    def as_json(self) -> dict[str, int]:
        return {"prompt": self.prompt, "iteration": self.iteration, "position": self.position}


class Misread(NamedTuple):
    """A row of a pass that did not read its text.

    part: "tokens" or "positions".
    expected, observed: both from the first difference on.
    """

    place: RowPlace
    part: str
    expected: list[int]
    observed: list[int]


class InputRecorder:
    """A recorder of one model's forward passes, by hooks.

    A cache is taken to hold the columns that were read, cut at the end to the length that it states; whether it does
    shows in the rows that it gives. A model that is given embeddings instead of tokens cannot be recorded.
    A prefill calls the base model, a block the model, which may call a part of the base model only. Both are recorded;
    what the model calls of its base is the same pass.
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
        new, past = given["input_ids"].cpu(), _columns(given.get(cache_argument(module)))
        positions = given.get("position_ids")
        if positions is None:
            positions = torch.arange(past, past + new.shape[1])
        self.tokens = torch.cat([self.tokens[:, :past], new], 1)
        self.positions = torch.cat([self.positions[:, :past], positions.cpu().expand(new.shape)], 1)
        mask = given.get("attention_mask")
        mask = torch.ones(self.tokens.shape, dtype=torch.bool) if mask is None else mask.bool().cpu()
        self.passes.append(PassInputs(self.tokens, self.positions, mask))

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows of the batch, as the cache does, whichever rows the loop means."""
        self.select_cached(rows)
        self.tokens, self.positions = self.tokens[rows], self.positions[rows]

    def difference(self, inputs: PassInputs, row: int, text: list[int]) -> tuple[str, list[int], list[int]] | None:
        """Return part, expected and observed if one row of a pass has not read this text."""
        mask = inputs.mask[row]
        tokens, positions = inputs.tokens[row][mask].tolist(), inputs.positions[row][mask].tolist()
        if tokens != text:
            return "tokens", *_from_first_difference(text, tokens)
        expected = [min(place, self.last_position) for place in range(len(text))]
        if self.has_positions and positions != expected:
            return "positions", *_from_first_difference(expected, positions)
        return None


def _columns(cache: Any) -> int:
    """Return how many columns a cache states that it has."""
    return 0 if cache is None else int(cache.get_seq_length())


def _from_first_difference(expected: list[int], observed: list[int], most: int = 8) -> tuple[list[int], list[int]]:
    pairs = zip(expected, observed, strict=False)
    first = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(observed)))
    start = max(0, first - 1)
    return expected[start : start + most], observed[start : start + most]


PURPOSES = {"drafts": "a draft token", "acceptance": "a coin", "residual": "the last token of a block"}
"""Stream of random numbers -> what one of its numbers decides."""


class RandomNumberLog:
    """A log of every random number used so far.

    Two of n independent uniforms on the lattice of 2^-53 are equal with probability below n^2 / 2^54. So a number that
    is used twice is no coincidence.
    uses: number -> what it decided first, for which row of the batch and in which iteration.
    by_purpose: how many were used for each of PURPOSES.
    reused: number, first use and second use.
    iteration: the loop's present one.
    paused: True while numbers are drawn that count when they are handed on.
    """

    def __init__(self) -> None:
        self.uses: dict[float, str] = {}
        self.by_purpose: Counter[str] = Counter()
        self.reused: list[tuple[float, str, str]] = []
        self.iteration, self.paused = 0, False

    def add(self, numbers: Any, purpose: str, row: int) -> None:
        use = f"{PURPOSES[purpose]} of row {row} in iteration {self.iteration}"
        for number in np.atleast_1d(numbers).tolist():
            self.by_purpose[purpose] += 1
            if number in self.uses:
                self.reused.append((number, self.uses[number], use))
            self.uses.setdefault(number, use)

    def attach(self, streams: Any) -> None:
        """Log every number of these streams from now on; a given chance has none."""
        if not isinstance(streams, Streams):
            return
        for purpose in PURPOSES:
            logged = [LoggedGenerator(each, self, purpose, row) for row, each in enumerate(getattr(streams, purpose))]
            setattr(streams, purpose, logged)
        uniforms = streams.uniforms

        def logged_uniforms(tokens: Any) -> Uniforms:
            # What a batched verifier is handed counts, not what was drawn for it.
            self.paused = True
            drawn = uniforms(tokens)
            self.paused = False
            rows = [generator.row for generator in streams.drafts]
            for purpose in Uniforms._fields:
                for row, numbers in zip(rows, getattr(drawn, purpose).cpu().numpy(), strict=True):
                    self.add(numbers, purpose, row)
            return drawn

        streams.uniforms = logged_uniforms


class LoggedGenerator:
    """A generator whose numbers are logged."""

    def __init__(self, generator: Any, log: RandomNumberLog, purpose: str, row: int):
        self.generator, self.log, self.purpose, self.row = generator, log, purpose, row

    def random(self, *count: int) -> Any:
        drawn = self.generator.random(*count)
        if not self.log.paused:
            self.log.add(drawn, self.purpose, self.row)
        return drawn
