"""Token and block verification on the same draft blocks: what each can expect to accept of a block.

The noise of drafting and of the coins between two runs of the loop is larger than the difference of the verifiers.
Given the block there is no noise: both expectations are closed forms, and the first gamma tokens of a longer block are
a block of gamma tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ....models.generating.loop_verifiers import Drafted, LoopVerifier, loop_verifier
from ....models.generating.randomness import BatchChance
from ....verifiers.batched.emitted import Emitted, EmittedPaths


class ExpectedAcceptance:
    """E[tau | X^gamma] of draft blocks, for each gamma up to the blocks' length, by their rows in float64.

    Source: Sun et al. 2025, Algorithms 1 and 2; a test compares the mean over all blocks with the exact laws.
    """

    def __init__(self, drafted: Drafted):
        target, draft = (rows.double().softmax(-1) if drafted.logits else rows.double() for rows in drafted[:2])
        chosen = drafted.tokens.long()[..., None]
        self.ratios = (target[:, :-1].gather(-1, chosen) / draft.gather(-1, chosen)).squeeze(-1)
        survival = [torch.ones_like(self.ratios[:, 0])]
        for ratio in self.ratios.unbind(1):
            survival.append((survival[-1] * ratio).clamp(max=1))
        self.survival = torch.stack(survival[1:], 1)
        surplus = (self.survival[:, :-1, None] * target[:, 1:-1] - draft[:, 1:]).clamp(min=0).sum(-1)
        deficit = 1 - self.survival[:, :-1]
        self.accept = torch.where(deficit > 0, surplus / (surplus + deficit), 1.0)

    def by_token(self, gamma: int) -> Tensor:
        """[B]: sum_i prod_{j <= i} min(1, M_b(X_j) / M_s(X_j))."""
        return self.ratios[:, :gamma].clamp(max=1).cumprod(-1).sum(-1)

    def by_block(self, gamma: int) -> Tensor:
        """[B]: sum_i Pr(tau >= i) = sum_i (1 - prod_{j >= i} (1 - h_j)), since tau = max{i : eta_i < h_i}."""
        accept = torch.cat([self.accept[:, : gamma - 1], self.survival[:, gamma - 1 : gamma]], 1)
        if gamma == 1:
            return accept.sum(-1)
        return (1 - (1 - accept).flip(-1).cumprod(-1)).sum(-1)


class SameBlocks:
    """Both expectations for every block of a run. blocks: [gamma] -> (token, block) of each block."""

    def __init__(self, gammas: Sequence[int]):
        self.blocks: dict[int, list[tuple[float, float]]] = {gamma: [] for gamma in gammas}

    def rule(self) -> LoopVerifier:
        """Block verification that adds its blocks before it verifies them."""
        block = loop_verifier("block")

        def verify(drafted: Drafted, chances: BatchChance) -> Emitted | EmittedPaths:
            self.add(drafted)
            return block.verify(drafted, chances)

        return LoopVerifier(block.name, verify)

    def add(self, drafted: Drafted) -> None:
        expected = ExpectedAcceptance(drafted)
        for gamma, expectations in self.blocks.items():
            expectations += zip(expected.by_token(gamma).tolist(), expected.by_block(gamma).tolist(), strict=True)

    def as_json(self) -> list[dict[str, Any]]:
        """token, block: E[tau | block] of each block, in order."""
        return [
            {"gamma": gamma, "token": [token for token, _ in both], "block": [block for _, block in both]}
            for gamma, both in self.blocks.items()
        ]
