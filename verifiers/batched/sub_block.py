"""The procedure that batched block verification and greedy block verification share.

They keep the longest accepted sub-block, and differ only in p_i. The reference is verifiers/sub_block.py.
"""

import torch
from torch import Tensor

from .rows import Rows


def longest_sub_block(rows: Rows, kept: Tensor, coins: Tensor) -> Tensor:
    """tau = max{i : eta_i < h_i} of each block, [B]; 0 if there is none.

    kept: p_1..p_gamma, [B, gamma]; coins: eta_1..eta_gamma, same shape; h_i: see ``Rows.acceptance``.
    """
    accept = rows.acceptance(kept, coins < kept)
    steps = torch.arange(1, kept.shape[1] + 1, device=kept.device)
    return ((coins < accept) * steps).amax(-1)
