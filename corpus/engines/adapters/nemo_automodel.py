"""NeMo Automodel: the verification of its DFlash 2 drafter, and of its reference for MSD, one request, pure torch.

Both draw from torch's global generator; the bonus token is drawn inside. DFlash 2 drafts from the likeliest tokens of a
place and gives their ids with their probabilities: here all tokens of the draft's row are candidates.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof_engines.lifted import Edit, adapted, lift, require_parameters

FOLDER = "nemo_automodel/components/speculative"
MSD = ("MSDStochasticStep", "MSDStochasticVerificationResult", "_validate_generator_device", "accept_or_resample",
       "verify_stochastic_chain")  # fmt: skip
DRAW = "torch.rand((), generator=generator, device=target_logits.device)"
EDITS = (Edit(f"float({DRAW}.item())", DRAW, "a number that is followed is compared as it was drawn"),)


def dflash2(temperature: float = 1.0, top_p: float = 1.0, top_k: int = 0) -> Callable[..., list[Any]]:
    """Return the plain convention around ``dflash2_rejection_sample``, its rows made as ``spec_generate`` makes them.

    Raises: NotASubject if it is not there.
    """
    rows = lift("nemo-automodel", f"{FOLDER}/dflash/draft_qwen3.py", ("sampling_probs",), {"torch": torch})
    rule = lift("nemo-automodel", f"{FOLDER}/dflash/draft_qwen3_dflash2.py", ("dflash2_rejection_sample",),
                {"torch": torch})  # fmt: skip
    verify, probs = rule.functions["dflash2_rejection_sample"], rows.functions["sampling_probs"]
    parameters = ("draft_tokens", "target_probs", "draft_probs", "candidate_ids")
    require_parameters(verify, parameters, "nemo-automodel: dflash2_rejection_sample")
    require_parameters(probs, ("logits", "temperature", "top_p", "top_k"), "nemo-automodel: sampling_probs")

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[Any]:
        # its selector scores candidates in the order of the logits, likeliest first
        scores, candidates = torch.topk(draft_probs.log(), draft_probs.shape[1], dim=-1)
        count, token = verify(
            draft_tokens[None], probs(target_probs.log()[None], temperature, top_p, top_k),
            torch.softmax(scores.float() / temperature, dim=-1)[None], candidates[None],
        )  # fmt: skip
        return [*draft_tokens[:count], token]

    return adapted(called, rows, rule, rows_in_use=float32_softmax, bonus="drawn inside")


def msd() -> Callable[..., list[int]]:
    """Return the plain convention around ``verify_stochastic_chain``. Raises: NotASubject if it is not there."""
    given = {"torch": torch, "math": math, "dataclass": dataclass, "Iterable": Iterable}
    lifted = lift("nemo-automodel", f"{FOLDER}/eagle/msd_decode.py", MSD, given, EDITS)
    verify = lifted.functions["verify_stochastic_chain"]
    require_parameters(verify, ("candidate_token_ids", "target_logits", "draft_logits"), "nemo-automodel: its chain")

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        unused = torch.zeros(1, draft_probs.shape[1])  # it wants as many rows of the draft as of the target
        emitted = verify(
            candidate_token_ids=draft_tokens.tolist(), target_logits=target_probs.log(),
            draft_logits=torch.cat([draft_probs.log(), unused.to(draft_probs)]),
        )  # fmt: skip
        return list(emitted.emitted_token_ids)

    return adapted(called, lifted, rows_in_use=float32_softmax, bonus="drawn inside")


__getattr__ = on_demand(globals(), {"block": dflash2, "chain": msd})
