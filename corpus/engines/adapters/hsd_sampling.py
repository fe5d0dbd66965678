"""Hierarchical speculative decoding: ``_speculative_sampling`` of the authors' transformers, one draft, one request.

It takes logits, works in their precision, and draws from torch's global generator; the bonus token is drawn inside. One
function holds three rules: hierarchical ("backward"), block verification ("blockwise") and token verification.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand, softmax
from draftproof_engines.lifted import Edit, adapted, lift, require_parameters

FILE, NAME = "transformers/generation/utils.py", "_speculative_sampling"
PARAMETERS = ("candidate_input_ids", "candidate_logits", "candidate_length", "new_logits", "is_done_candidate",
              "backward", "blockwise", "clever", "stop")  # fmt: skip
TABS = Edit("\t", "    ", "the file mixes tabs and spaces and does not parse: with tabs of four columns it does, with "
            "one, two or eight not")  # fmt: skip


def with_rule(**rule: bool) -> Callable[..., Tensor]:
    """Return the plain convention around its function; no text ends early. Raises: NotASubject if it is not there."""
    lifted = lift("hsd", FILE, (NAME,), {"torch": torch, "F": F}, repairs=[TABS])
    function = lifted.functions[NAME]
    require_parameters(function, PARAMETERS, f"hsd: {NAME}")

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> Tensor:
        emitted, *_ = function(
            draft_tokens[None], draft_probs.log()[None], len(draft_tokens), target_probs.log()[None],
            torch.zeros(1, dtype=torch.bool), stop=lambda *_, **__: False, **rule,
        )  # fmt: skip
        return emitted[0]

    return adapted(called, lifted, rows_in_use=softmax, bonus="drawn inside")


# the first is what its scripts for one draft ask for
__getattr__ = on_demand(globals(), {
    "hierarchical": partial(with_rule, backward=True, clever=True), "block": partial(with_rule, blockwise=True),
    "token": with_rule,
})  # fmt: skip
