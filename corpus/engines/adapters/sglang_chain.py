"""SGLang: ``chain_speculative_sampling_triton``, its Triton kernel under Triton's interpreter, token and block.

Driven: uniforms are inputs of the kernel (float32, as torch.rand draws them), one for the last token. It wants
probabilities of both models; the bonus token is drawn inside.
"""

from collections.abc import Sequence

import torch

from draftproof.verifiers.adapters.calling_convention import of_request, on_demand
from draftproof.verifiers.adapters.protocol import Row, by_length
from draftproof_engines.lifted import LiftedAdapter, lift, require_parameters, use_triton

FILE = "sglang/kernels/ops/speculative/reject_sampling.py"
PARAMETERS = ("predicts", "accept_index", "accept_token_num", "candidates", "retrive_index", "uniform_samples",
              "uniform_samples_for_final_sampling", "target_probs", "draft_probs")  # fmt: skip


class Chain(LiftedAdapter):
    """block: whether ``--speculative-use-block-verification`` is on."""

    mixes_greedy = True
    random = (
        {"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 24},
        {"name": "last", "kind": "uniform", "shape": [], "bits": 24},
    )

    def __init__(self, block: bool):
        triton = use_triton()
        lifted = lift("sglang", FILE, (), {"triton": triton, "tl": triton.language})
        self.block = block
        self.function = lifted.functions["chain_speculative_sampling_triton"]
        rule = ["block_verification"] if block else []  # up to 0.5.21 there is the token rule alone
        require_parameters(self.function, [*PARAMETERS, *rule], "sglang: chain_speculative_sampling_triton")
        self.describe(lifted, triton=triton.__version__, bonus="drawn inside")

    def together(self, rows: Sequence[Row]) -> list[Sequence[int]]:
        """Return one launch for each length: the kernel takes a batch of one gamma."""
        return by_length(rows, self._launched)

    def _launched(self, rows: Sequence[Row]) -> list[list[int]]:
        size, gamma = len(rows), len(rows[0].tokens)
        predicted = torch.full((size * (gamma + 1),), -1, dtype=torch.int32)
        accepted = torch.full((size, gamma + 1), -1, dtype=torch.int32)
        count = torch.zeros(size, dtype=torch.int32)
        root = torch.zeros(size, 1, dtype=torch.int64)
        self.function(
            predicted, accepted, count,
            torch.cat([root, torch.stack([row.tokens for row in rows])], dim=1),
            torch.arange(size * (gamma + 1)).view(size, gamma + 1), None, None,
            torch.stack([row.random["accept"] for row in rows]).float(),
            torch.stack([row.random["last"] for row in rows]).float(),
            torch.stack([of_request(row.target, row.greedy) for row in rows]).float(),
            torch.stack([row.draft for row in rows]).float(),
            1.0, 1.0, True, **({"block_verification": True} if self.block else {}),
        )  # fmt: skip
        slots = predicted.view(size, gamma + 1)
        return [slots[k, : int(n) + 1].tolist() for k, n in enumerate(count)]


__getattr__ = on_demand(globals(), {"token": lambda: Chain(False), "block": lambda: Chain(True)})
