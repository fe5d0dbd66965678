"""Drafts without a model: what followed the text's last tokens when they stood there before, as a point mass.

It answers as a causal model of transformers does, so that the loop, its caches and its observers take it for one.
"""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

LONGEST = 3
"""Tokens of the text's end that are looked for, at most; fewer where they stand nowhere else."""


class TextCache:
    """What a lookup has read: tokens and which are real, [B, columns]."""

    def __init__(self) -> None:
        self.tokens, self.real = torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, 0, dtype=torch.bool)

    def crop(self, columns: int) -> None:
        """Without the last columns; columns: negative, as of transformers' caches."""
        self.tokens, self.real = self.tokens[:, :columns], self.real[:, :columns]

    def batch_select_indices(self, rows: Tensor) -> None:
        self.tokens, self.real = self.tokens[rows], self.real[rows]


class LookupModel(torch.nn.Module):
    """One-hot rows over a vocabulary: the law of a drafter that proposes and gives no probabilities."""

    def __init__(self, vocabulary: int):
        super().__init__()
        self.config = SimpleNamespace(vocab_size=vocabulary, max_position_embeddings=None)
        self.device, self.dtype = torch.device("cpu"), torch.float32

    @property
    def base_model(self) -> "LookupModel":
        return self

    def forward(
        self, input_ids: Tensor, past_key_values: Any = None, use_cache: bool = True,
        attention_mask: Tensor | None = None, position_ids: Tensor | None = None,
    ) -> Any:  # fmt: skip
        """Logits 0 for the token looked up, -inf for all others, [B, n, V]."""
        cache, new = past_key_values if isinstance(past_key_values, TextCache) else TextCache(), input_ids.shape[1]
        read = input_ids if not cache.tokens.numel() else torch.cat([cache.tokens, input_ids], 1)
        real = torch.ones_like(read, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
        cache.tokens, cache.real = read, real
        logits = torch.full((*input_ids.shape, self.config.vocab_size), -torch.inf)
        for row in range(len(read)):
            for place in range(new):
                behind = read.shape[1] - new + place + 1
                text = read[row, :behind][real[row, :behind]].tolist()
                logits[row, place, following(text)] = 0.0
        return SimpleNamespace(logits=logits, past_key_values=cache)


def following(text: list[int]) -> int:
    """Return the token that followed the latest earlier occurrence of the text's last tokens, as many as possible up to
    LONGEST; the first one of the text where its last token stands nowhere else."""
    for length in range(min(LONGEST, len(text) - 1), 0, -1):
        wanted = text[-length:]
        for begin in range(len(text) - length - 1, -1, -1):
            if text[begin : begin + length] == wanted:
                return text[begin + length]
    return text[0] if text else 0
