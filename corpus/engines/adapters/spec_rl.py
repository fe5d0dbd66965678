"""SPEC-RL: how much of an older policy's response its trainer keeps (``spec_cut``), and the token after it.

What was drafted is a response of an older policy, with the logprobs of then. Its caller, ``RayPPOTrainer.fit``, has
vLLM go on behind the kept part, from the new policy's row. It hands in the same seed in every step of training; here
the uniforms are torch's.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof_engines.lifted import adapted, lift, require_parameters

FILE = "verl/utils/speculative_decoding.py"
CUTS = ("_rand_like_compat", "spec_cut", "spec_cut_with_knobs")


def rollouts(bias: float = 0.0, residual: bool = False) -> Callable[..., list[int]]:
    """Return the plain convention around its rollouts. Raises: NotASubject if it is not there.

    bias: ``spec_bias`` of its trainer; its examples have 0 and 0.5. residual: draw the next token from what the target
    has above the draft, as speculative sampling does.
    """
    lifted = lift("spec-rl", FILE, CUTS, {"torch": torch, "math": math}, annotations=False)
    cut = lifted.functions["spec_cut_with_knobs" if bias else "spec_cut"]
    require_parameters(cut, ("old_logp", "new_logp", "response_mask"), "spec-rl: its cut")
    how = {"bias": -bias} if bias else {}

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        places, tokens = torch.arange(len(draft_tokens)), draft_tokens.tolist()
        old, new = (rows[places, draft_tokens].log()[None] for rows in (draft_probs, target_probs[:-1]))
        kept = int(cut(old, new, torch.ones(1, len(tokens)), **how)["cut_idx"][0])
        row = target_probs[kept]
        if residual and kept < len(tokens):
            row = (row - draft_probs[kept]).clamp(min=0)
        return [*tokens[:kept], int(torch.multinomial(row, 1))]

    return adapted(called, lifted, rows_in_use=None, bonus="drawn inside")


__getattr__ = on_demand(globals(), {"policy": rollouts, "lenient": lambda: rollouts(0.5),
                                    "with_residual": lambda: rollouts(residual=True)})  # fmt: skip
