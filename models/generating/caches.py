"""A causal model of transformers with its cache, for a batch of texts that grow at different speeds.

The cache stays a rectangle. A column that holds no token of a row's text is a hole in that row: padding on the left of
a short prompt, or a draft token that was rejected there and accepted elsewhere. Holes are masked, and positions are
counted by a row's own tokens, so each row is attended to as if it stood alone. That is exact for every model that takes
its positions from ``position_ids`` and masks by column: a masked key has weight 0. Columns at the end that are holes in
all rows are cropped; a batch of one never has holes, and no mask is passed. A sliding window is counted in columns, so
for batches it is refused where it would matter.
"""

from collections.abc import Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError
from .settings import text_config

WINDOWS = "sliding_window", "window_size", "attention_chunk_size"
"""Fields of configurations for the number of columns beyond which a layer does not look."""


class CachedModel:
    """A model, and what it has read of each row's text."""

    def __init__(self, model: Any, batch: int, name: str = "model"):
        """Take a causal language model of transformers in evaluation mode. name: what errors call it.

        Raises: InputError if the model keeps a state that cannot be rolled back, or has no positions for ragged rows.
        """
        if getattr(model, "_is_stateful", False):
            raise InputError(self.no_rollback(name, model))
        self.model, self.device = model, model.device
        self.has_positions = "position_ids" in signature(model.forward).parameters
        if batch > 1 and not self.has_positions:
            kind = type(model).__name__
            raise InputError(f"{name}: {kind} takes no position_ids; expected a batch of one, got {batch}")
        config = text_config(model)
        self.last_position = (getattr(config, "max_position_embeddings", None) or 2**62) - 1
        self.window = min(getattr(config, name, None) or 2**62 for name in WINDOWS)
        self.name = name
        self.cache = empty_cache()
        self.cache_arguments = {each: cache_argument(each) for each in (model, model.base_model)}
        self.filled = torch.zeros(batch, 0, dtype=torch.bool)
        self.read = torch.zeros(batch, dtype=torch.int64)

    def unread(self, texts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Return the ends of the texts that the cache lacks, filled up on the left: tokens and which are real, [B, n]
        both.
        """
        ends = [text[seen:] for text, seen in zip(texts, self.read.tolist(), strict=True)]
        width = max(map(len, ends))
        tokens = torch.tensor([[0] * (width - len(end)) + list(end) for end in ends], dtype=torch.int64)
        real = torch.arange(width) >= width - torch.tensor([len(end) for end in ends])[:, None]
        return tokens.to(self.device), real

    def prefill(self, texts: Sequence[Sequence[int]]) -> None:
        """Read the texts without computing what follows."""
        tokens, real = self.unread(texts)
        if tokens.shape[1]:
            self._forward(self.model.base_model, tokens, real)

    def logits(self, tokens: Tensor, real: Tensor | None = None) -> Tensor:
        """Read tokens [B, n] behind the texts; the logits after each of them, [B, n, V].

        real: [B, n] on the CPU, False where a row has no token; None if all are.
        """
        real = torch.ones(tokens.shape, dtype=torch.bool) if real is None else real
        return self._forward(self.model, tokens, real).logits

    def _forward(self, model: Any, tokens: Tensor, real: Tensor) -> Any:
        self.filled = torch.cat([self.filled, real], 1)
        positions = self.positions(real)
        self.read = self.read + real.sum(1)
        given: dict[str, Any] = {self.cache_arguments[model]: self.cache, "use_cache": True}
        mask = self.mask()
        if mask is not None:
            if mask.shape[1] > self.window:
                outgrown = f"sequences of a batch are longer than its sliding window of {self.window}"
                raise InputError(f"{self.name}: {outgrown}; expected shorter ones or a batch of one")
            given["attention_mask"] = mask.long().to(self.device)
        if self.has_positions:
            # Behind the context's end stand only tokens that will be cut; there any position will do.
            given["position_ids"] = positions.clamp(0, self.last_position).to(self.device)
        out = model(input_ids=tokens, **given)
        self.cache = cache_of(out)
        if not hasattr(self.cache, "crop"):
            raise InputError(self.no_rollback(self.name, self.model))
        return out

    @staticmethod
    def no_rollback(name: str, model: Any) -> str:
        return f"{name}: {type(model).__name__} keeps a state that cannot be rolled back; expected keys and values"

    def positions(self, real: Tensor) -> Tensor:
        """Return the positions of the tokens being read, counted by the row's own tokens."""
        return self.read[:, None] + real.cumsum(1) - 1

    def mask(self) -> Tensor | None:
        """Return which columns hold tokens, [B, columns]; None if all do."""
        return None if self.filled.all() else self.filled

    def rewind(self, length: Tensor) -> None:
        """Drop all but the first ``length`` [B] tokens of each text; a row that has read fewer keeps those."""
        self.filled &= self.filled.cumsum(1) <= length[:, None]
        used = self.filled.any(0).nonzero()
        columns = int(used[-1]) + 1 if len(used) else 0
        if extra := self.filled.shape[1] - columns:
            self.cache.crop(-extra)
        self.filled = self.filled[:, :columns]
        self.read = torch.minimum(self.read, length)

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch."""
        chosen = torch.tensor(rows)
        self.filled, self.read = self.filled[chosen], self.read[chosen]
        self.cache.batch_select_indices(chosen.to(self.device))


def cache_argument(model: Any) -> str:
    """Return the name of a model's argument for its cache, another one from transformers 5.24 on."""
    return "cache" if "cache" in signature(model.forward).parameters else "past_key_values"


def cache_of(output: Any) -> Any:
    """Return the cache that a pass of a model gives back; None without one."""
    return output.cache if hasattr(output, "cache") else getattr(output, "past_key_values", None)


def empty_cache() -> Any:
    """Return a cache that keeps every column, sliding windows or not."""
    from transformers import DynamicCache

    return DynamicCache()
