"""DeepSpec: ``verify_draft_tokens`` of its evaluation, one request, pure torch.

It draws from torch's global generator, in float32; the bonus token is drawn inside. It wants a target model that gives
logits: one that gives the audit's stands in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof_engines.lifted import adapted, lift, require_parameters

SAMPLING = ("gather_token_probs", "logits_to_probs", "sample_from_probs", "sample_residual")
PARAMETERS = ("target_model", "proposal", "position_ids", "start", "past_key_values_target", "temperature",
              "max_proposal_tokens")  # fmt: skip


def verification() -> Callable[..., Tensor]:
    """The plain convention around DeepSpec's function at temperature 1. Raises: NotASubject if it is not there."""
    sampling = lift("deepspec", "deepspec/utils/sampling.py", SAMPLING, {"torch": torch})
    given = {"torch": torch, "Any": Any, "dataclass": dataclass, "DynamicCache": object}
    given |= {name: sampling.functions[name] for name in SAMPLING}
    names = ("DraftProposal", "VerificationResult", "verify_draft_tokens")
    evaluator = lift("deepspec", "deepspec/eval/base_evaluator.py", names, given)
    verify, proposal = (evaluator.functions[name] for name in ("verify_draft_tokens", "DraftProposal"))
    require_parameters(verify, PARAMETERS, "deepspec: verify_draft_tokens")

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> Tensor:
        gamma = len(draft_tokens)
        drafted = proposal(
            draft_token_count=gamma,
            verify_input_ids=torch.cat([torch.zeros(1, dtype=torch.int64), draft_tokens])[None],
            draft_probs=draft_probs.log().softmax(dim=-1, dtype=torch.float32)[None],
        )  # fmt: skip
        given = verify(
            target_model=lambda **_: SimpleNamespace(logits=target_probs.log()[None]), proposal=drafted,
            position_ids=torch.arange(gamma + 1)[None], start=0, past_key_values_target=None, temperature=1.0,
            max_proposal_tokens=gamma,
        )  # fmt: skip
        return given.committed_tokens[0]

    return adapted(called, sampling, evaluator, rows_in_use=float32_softmax, bonus="drawn inside")


__getattr__ = on_demand(globals(), {"verify": verification})
