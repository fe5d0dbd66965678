"""The kernels on a batch: shapes, room for what they write, launches."""

from typing import Any

import torch
from torch import Tensor

from ..batched.emitted import Emitted
from ..batched.keyed_uniforms import Seeds
from ..batched.sampling import Uniforms
from . import block_verification, token_verification
from .parts import normalise
from .runtime import INTERPRETED

TILE = 1024
"""Tokens of a tile, at most."""

WIDE_TILE = 8 * TILE
"""Tile of a row of logits that is normalised: one program reads its tiles one after the other."""

FEWEST_SUMS = 8
"""Room for sums of tiles, at least: Triton 3.6 compiles no running sum over fewer than a thread holds of a tile."""

AT_ONCE = 2**18
"""Requests times tokens of a tile in one program of the interpreter, whose operations take as long for one as for many.

Compiled, a program has one request.
"""

# Warps: measured on an H200, where one a tile of sums takes 0.55 of the time of four. Fused, p M_b - M_s would round
# differently than in the tensor version, and equal rows would leave a residual.
OPTIONS: dict[str, dict[str, Any]] = {
    kernel: {} if INTERPRETED else {"enable_fp_fusion": False, "num_warps": warps}
    for kernel, warps in {"normalise": 8, "sum_tiles": 1, "finish": 4}.items()
}


def launch(
    algorithm: str, target: Tensor, draft: Tensor | None, tokens: Tensor, chance: Uniforms | Seeds, *,
    temperature: Tensor | None,
) -> Emitted:  # fmt: skip
    """Return a batch verified by the kernels; arguments as in ``batched.backends.verify``, each contiguous.

    temperature: [B], of logits; None: the rows are probabilities.
    """
    batch, gamma, vocabulary = *tokens.shape, target.shape[2]
    tile = min(TILE, _power_of_2(vocabulary))
    tiles = -(-vocabulary // tile)
    rows = min(AT_ONCE // tile, _power_of_2(batch)) if INTERPRETED else 1
    groups = -(-batch // rows)
    sizes: dict[str, Any] = {"ROWS": rows, "TILE": tile}
    scales = draft_scales = None
    if temperature is not None:
        temperature = temperature.to(target.device, torch.float32).contiguous()
        scales = _scales(target, temperature, groups, sizes)
        draft_scales = None if draft is None else _scales(draft, temperature, groups, sizes)
    if algorithm == "token":
        kernels, grid, sums = token_verification, (groups, tiles), (batch, tiles)
    else:
        kernels, grid, sums = block_verification, (groups, gamma + 1, tiles), (batch, gamma + 1, tiles)
        sizes["GREEDY"] = algorithm == "greedy-block"
    partial = torch.empty(sums, dtype=torch.float32, device=target.device)
    emitted, accepted = tokens.new_empty((batch, gamma + 1)), tokens.new_empty(batch)
    given = (target, draft, scales, draft_scales, temperature, tokens, *_numbers(chance, target.device), partial)
    sizes["GAMMA"] = gamma
    kernels.sum_tiles[grid](*given, batch, vocabulary, tiles, **sizes, **OPTIONS["sum_tiles"])
    most = max(FEWEST_SUMS, _power_of_2(tiles))
    kernels.finish[(groups,)](*given, emitted, accepted, batch, vocabulary, tiles, MOST_TILES=most, **sizes,
                              **OPTIONS["finish"])  # fmt: skip
    return Emitted(emitted, accepted)


def _scales(rows: Tensor, temperature: Tensor, groups: int, sizes: dict[str, Any]) -> Tensor:
    batch, count, vocabulary = rows.shape
    scales = torch.empty((batch, count, 2), dtype=torch.float32, device=rows.device)
    sizes = {**sizes, **OPTIONS["normalise"], "TILE": min(WIDE_TILE, _power_of_2(vocabulary))}
    normalise[(groups, count)](rows, scales, temperature, batch, vocabulary, COUNT=count, **sizes)
    return scales


def _power_of_2(number: int) -> int:
    """Return the least that is no smaller; Triton's own takes 2 microseconds, four times a call."""
    return 1 << (number - 1).bit_length()


def _numbers(chance: Uniforms | Seeds, device: torch.device) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return coins, picks and keys, as ``numbers.uniform`` takes them."""
    if isinstance(chance, Seeds):
        return None, None, torch.stack([chance.seed, chance.call], dim=1).to(device)
    return chance.acceptance.to(device).contiguous(), chance.residual.to(device).contiguous(), None
