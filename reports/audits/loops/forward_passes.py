"""A model's rows by forward passes of our own, and how far passes of different shapes drift apart by rounding alone.

Nothing here uses the loop or its caches: these are the rows that the loop's are compared with.
"""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ....models.generating.caches import cache_argument, cache_of, empty_cache
from ....models.generating.sampling import Warp

QUANTILES = {"median": 0.5, "q99": 0.99, "max": 1.0}
"""Quantiles of drift that are reported."""


@torch.inference_mode()
def full_pass(model: Any, text: Sequence[int], vocabulary: int) -> Tensor:
    """Return the logits after each token of a text, [len(text), vocabulary], from one pass over it without a cache.

    They are float32, or float64 if the model has that.
    """
    return _cut(model(input_ids=_tokens(model, [text]), use_cache=False).logits[0], vocabulary)


@torch.inference_mode()
def chunked_passes(
    model: Any, text: Sequence[int], size: int, vocabulary: int, before_pass: Callable[[], None] = lambda: None
) -> Tensor:
    """Return the same logits, from passes of ``size`` tokens on a cache that only grows.

    before_pass: called before each pass; it may raise to end them.
    """
    cache, parts = empty_cache(), []
    for start in range(0, len(text), size):
        before_pass()
        given = {cache_argument(model): cache, "use_cache": True}
        out = model(input_ids=_tokens(model, [text[start : start + size]]), **given)
        cache = cache_of(out)
        parts.append(_cut(out.logits[0], vocabulary))
    return torch.cat(parts)


@torch.inference_mode()
def padded_pass(model: Any, texts: Sequence[Sequence[int]], vocabulary: int) -> list[Tensor]:
    """Return the same logits of several texts, from one batch: shorter texts are padded on the left and masked."""
    width = max(map(len, texts))
    tokens = _tokens(model, [[0] * (width - len(text)) + list(text) for text in texts])
    real = torch.arange(width) >= width - torch.tensor([len(text) for text in texts])[:, None]
    given = {"attention_mask": real.long().to(model.device)}
    if "position_ids" in signature(model.forward).parameters:
        given["position_ids"] = (real.cumsum(1) - 1).clamp(min=0).to(model.device)
    logits = model(input_ids=tokens, use_cache=False, **given).logits
    return [_cut(rows[width - len(text) :], vocabulary) for rows, text in zip(logits, texts, strict=True)]


def row_distance(logits: Tensor, other: Tensor) -> Tensor:
    """Return the total variation of softmax(logits) and softmax(other), [..., V] to [...]."""
    return (logits.softmax(-1) - other.softmax(-1)).abs().sum(-1) / 2


class Drift(NamedTuple):
    """A distance of passes of one shape from one pass over the whole text, over all positions of some texts.

    Three quantities have a median, 99 % quantile, largest value and mean over the positions.
    shape: of the passes, in words.
    positions: how many were compared.
    log_p: |log p - log p'| of the tokens that follow in the texts.
    total_variation: of the rows at temperature 1.
    warped: total variation of the rows as they are sampled.
    gap: the largest change of the difference between the two largest logits.
    rounding: eps of the model's dtype times the largest |logit| among the two largest: one unit in its last place.
    """

    shape: str
    positions: int
    log_p: dict[str, float]
    total_variation: dict[str, float]
    warped: dict[str, float]
    gap: float
    rounding: float


def measure_drift(
    model: Any, texts: Sequence[Sequence[int]], block: int, vocabulary: int, warp: Warp, batched: bool = True,
    before_pass: Callable[[], None] = lambda: None,
) -> list[Drift]:  # fmt: skip
    """Measure the drift of passes of one token, of ``block`` tokens, and of rows of a padded batch.

    texts: of several blocks each, since a first chunk is read as the whole text is. In the batch of n texts, text k is
    shortened by the part k / 2n of it, so that it is padded.
    batched: False for a model that takes no batch.
    """
    shapes = {
        shape: (texts, [chunked_passes(model, text, size, vocabulary, before_pass) for text in texts])
        for shape, size in (("one token", 1), (f"blocks of {block}", block))
    }
    if batched:
        ragged = [text[: max(2, len(text) - len(text) * n // (2 * len(texts)))] for n, text in enumerate(texts)]
        shapes["padded rows"] = ragged, padded_pass(model, ragged, vocabulary)
    return [_drift(shape, model, read, passes, vocabulary, warp) for shape, (read, passes) in shapes.items()]


def _drift(
    shape: str, model: Any, texts: Sequence[Sequence[int]], passes: Sequence[Tensor], vocabulary: int, warp: Warp
) -> Drift:
    log_p, raw, warped, gap, largest = [], [], [], 0.0, 0.0
    for text, rows in zip(texts, passes, strict=True):
        whole = full_pass(model, text, vocabulary)
        following = torch.tensor(text[1:], device=whole.device)[:, None]
        log_p.append((whole.log_softmax(-1) - rows.log_softmax(-1))[:-1].gather(1, following).abs().squeeze(1))
        raw.append(row_distance(whole, rows))
        warped.append(row_distance(warp(whole), warp(rows)))
        first = whole.topk(2).indices
        gaps = [pair[:, 0] - pair[:, 1] for pair in (whole.gather(1, first), rows.gather(1, first))]
        gap = max(gap, float((gaps[0] - gaps[1]).abs().max()))
        largest = max(largest, float(whole.gather(1, first).nan_to_num(0, 0, 0).abs().max()))
    quantiles = (_quantiles(torch.cat(part)) for part in (log_p, raw, warped))
    return Drift(shape, sum(map(len, raw)), *quantiles, gap=gap, rounding=torch.finfo(model.dtype).eps * largest)


def _quantiles(values: Tensor) -> dict[str, float]:
    values = values.double().cpu()
    return {name: float(values.quantile(q)) for name, q in QUANTILES.items()} | {"mean": float(values.mean())}


def _tokens(model: Any, texts: Sequence[Sequence[int]]) -> Tensor:
    return torch.tensor([list(text) for text in texts], dtype=torch.int64, device=model.device)


def _cut(logits: Tensor, vocabulary: int) -> Tensor:
    return logits[..., :vocabulary].to(torch.promote_types(logits.dtype, torch.float32))
