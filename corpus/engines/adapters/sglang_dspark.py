"""SGLang, DSPARK: its block-wise rejection kernels under Triton's interpreter, and its planner of verified lengths.

The kernels (SGLANG_OPT_DSV41_BLOCKWISE_REJECTION) take logits and draw inside: driven by tables, which stand in for
their generators. Without that option DSPARK calls the chain kernel of ``sglang_chain``. The planner chooses how many
drafted tokens are verified, from the draft's confidence: it is run around token verification, in plain torch.
"""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof.verifiers.adapters.protocol import Row, by_length
from draftproof_engines.adapters.vllm_runner_v2 import _Device, _tensor
from draftproof_engines.lifted import Edit, LiftedAdapter, adapted, lift, require_parameters, use_triton

KERNELS = "sglang/kernels/ops/speculative/dspark"
PLANNER = "sglang/srt/speculative/dspark_components/dspark_planner.py"
SCHEDULE = ("compute_sort_survival", "schedule_verify_lens_topk", "schedule_verify_lens_topk_from_survival",
            "_value_independent_descending_order")  # fmt: skip
DRIVEN = (
    Edit("tl.rand(seed, (req * STRIDE + i).to(tl.int32))", "table_uniform(req, i, seed)",
         "Philox is stood in for by a table"),
    Edit("u = _murmur3_uniform32(seed, req, offs)", "noise = table_noise(req, offs)", "so is its hash"),
    Edit("residual - tl.log(-_log1p_neg_stable(u))", "residual + noise",
         "the table holds Gumbel noise: how it is made of the hash is not examined"),
)  # fmt: skip


class Blockwise(LiftedAdapter):
    """Requests that sample. drafted: whether drafts are sampled, not the likeliest tokens (a "greedy draft")."""

    random = (
        {"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 31},
        {"name": "noise", "kind": "gumbel", "shape": ["V"]},
    )
    rows_in_use = staticmethod(float32_softmax)

    def __init__(self, drafted: bool = True):
        self.drafted, self.rows = drafted, list[Mapping[str, Any]]()
        triton = self.triton = use_triton()
        given = {
            "torch": torch, "triton": triton, "tl": triton.language, "Optional": Optional, "libdevice": _Device(triton),
            "inputs_on_cuda": None, "msgspec": SimpleNamespace(Struct=_Record),
            "table_uniform": self._uniform, "table_noise": self._noise,
        }  # fmt: skip
        lifted = lift("sglang", f"{KERNELS}/blockwise_rejection.py", (), given, DRIVEN)
        self.function = lifted.functions["blockwise_rejection_triton"]
        parameters = ("candidates", "target_logits", "draft_logits", "target_temperatures", "draft_temperatures")
        require_parameters(self.function, parameters, "sglang: blockwise_rejection_triton")
        self.describe(lifted, triton=triton.__version__, bonus="drawn inside")

    def together(self, rows: Sequence[Row]) -> list[Sequence[int]]:
        """Return one launch for each length: its blocks have one."""
        return by_length(rows, self._launched)

    def _launched(self, rows: Sequence[Row]) -> list[list[int]]:
        self.rows, ones = [row.random for row in rows], torch.ones(len(rows))
        drafted = torch.stack([row.tokens for row in rows])
        kept, last, _ = self.function(
            candidates=torch.cat([torch.zeros(len(rows), 1, dtype=torch.int64), drafted], dim=1),
            target_logits=torch.cat([row.target for row in rows]).float().log(),
            draft_logits=torch.stack([row.draft for row in rows]).float().log() if self.drafted else None,
            target_temperatures=ones, draft_temperatures=ones,
            noise=SimpleNamespace(key=0, counter=torch.zeros(1, dtype=torch.int64)),
        )  # fmt: skip
        return [[*drafted[k, : int(n)].tolist(), int(last[k])] for k, n in enumerate(kept)]

    def _uniform(self, request: Any, place: Any, like: Any) -> Any:
        value = self.rows[int(request.handle.data.item())]["accept"][int(place)]
        return _tensor(self.triton, np.array([float(value)], dtype=np.float32), like)

    def _noise(self, request: Any, tokens: Any) -> Any:
        row = np.asarray(self.rows[int(request.handle.data.item())]["noise"], dtype=np.float32)
        places = tokens.handle.data  # beyond the vocabulary the kernel masks what it gets
        return _tensor(self.triton, row[np.minimum(places, len(row) - 1)], tokens)


class _Record:
    """Stands in for the base of its record of a key and a counter."""

    def __init_subclass__(cls, **said: Any):
        super().__init_subclass__()


class Bounds(NamedTuple):
    """The bounds of its scheduler, as DSparkScheduleConfig has them by default."""

    gamma: int
    min_verify_len: int = 1
    survival_eps: float = 1e-6

    def resolved_max_verify_len(self) -> int:
        return self.gamma + 1


def planned(at_once: bool = False) -> Callable[..., list[int]]:
    """Return token verification of as many drafted tokens as the planner has verified.

    The confidence at a place is the likeliest token's probability in the draft's row: it depends on the tokens before
    that place alone, as that of the engine's head does. Another request shares the budget, with a confidence of 3/5.
    The budget of a step comes from an earlier step's confidence: here it is 2. at_once: a request alone, whose budget
    comes from the confidence of the block that is verified, which the engine never does.
    """
    schedule = lift("sglang", f"{KERNELS}/dspark_schedule.py", SCHEDULE, {"torch": torch}, annotations=False)
    names = ("compute_verify_token_budget", "_lookup_sps_tensor")
    given = {"torch": torch, "SpsAdditiveCostTable": (), "VerifyBudgetDecision": SimpleNamespace}
    budgets = lift("sglang", PLANNER, names, given, annotations=False)
    survival, lengths = (schedule.functions[name] for name in SCHEDULE[:2])
    budget = budgets.functions[names[0]]
    require_parameters(lengths, ("confidence", "budget", "cfg"), "sglang: schedule_verify_lens_topk")
    require_parameters(budget, ("history_survival_probs", "sps_table", "cfg"), "sglang: compute_verify_token_budget")
    # steps a second by tokens of the batch: a second drafted token costs much, further ones nothing
    costs = SimpleNamespace(sample_batch_tokens=[1, 3], sample_steps_per_sec=[1.0, 0.7])

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        own, bounds = draft_probs.amax(-1).double(), Bounds(len(draft_tokens))
        confidence = own[None] if at_once else torch.stack([own, torch.full_like(own, 0.6)])
        asked = {"history_survival_probs": survival(confidence), "sps_table": costs, "cfg": bounds}
        chosen = budget(**asked).budget if at_once else 2
        verified = int(lengths(confidence=confidence, budget=chosen, cfg=bounds)[0]) - 1
        tokens = draft_tokens.tolist()
        for i, x in enumerate(tokens):
            if torch.rand(()) * draft_probs[i, x] >= target_probs[i, x]:
                left = (target_probs[i] - draft_probs[i]).clamp(min=0)
                return [*tokens[:i], int(torch.multinomial(left, 1))]
            if i == verified:  # the last one that is emitted: it is tested on the row behind the verified ones
                return tokens[: i + 1]
        return [*tokens, int(torch.multinomial(target_probs[-1], 1))]

    return adapted(called, schedule, budgets, rows_in_use=None, bonus="drawn inside")


__getattr__ = on_demand(globals(), {
    "blockwise": Blockwise, "likeliest": lambda: Blockwise(False), "planner": planned,
    "looking_ahead": lambda: planned(at_once=True),
})  # fmt: skip
