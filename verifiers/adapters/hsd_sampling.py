"""Hierarchical speculative decoding: ``_speculative_sampling`` of the authors' transformers, one draft, one request.

It takes logits, works in their precision, and draws from torch's global generator; the bonus token is drawn inside. One function
holds three rules: hierarchical ("backward"), block verification ("blockwise") and token verification.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from .calling_convention import declare
from .lifted import Edit, lift, require_parameters

FILE, NAME = "transformers/generation/utils.py", "_speculative_sampling"
PARAMETERS = ("candidate_input_ids", "candidate_logits", "candidate_length", "new_logits", "is_done_candidate", "backward",
              "blockwise", "clever", "stop")  # fmt: skip
TABS = Edit(
    "\t",
    "    ",
    "the file mixes tabs and spaces and does not parse: with tabs of four columns it does, with one, two or eight not",
)


def rows_in_use(probabilities: Tensor) -> Tensor:
    """The rows that it verifies with: softmax of the logits, in their precision."""
    return probabilities.log().softmax(dim=-1)


def adapted(**rule: bool) -> Callable[..., Tensor]:
    """The plain convention around its function; no text ends early. Raises: NotASubject if it is not there."""
    lifted = lift("hsd", FILE, (NAME,), {"torch": torch, "F": F}, repairs=[TABS])
    function = lifted.functions[NAME]
    require_parameters(function, PARAMETERS, f"hsd: {NAME}")

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> Tensor:
        emitted, *_ = function(
            draft_tokens[None], draft_probs.log()[None], len(draft_tokens), target_probs.log()[None], torch.zeros(1, dtype=torch.bool),
            stop=lambda *_, **__: False, **rule,
        )  # fmt: skip
        return emitted[0]

    origin = {"lifted": [lifted.record], "bonus": "drawn inside"}
    return declare(called, array="torch", published=lambda: lifted.text, rows_in_use=rows_in_use, origin=origin)


RULES = {
    "hierarchical": partial(adapted, backward=True, clever=True),  # what its scripts for one draft ask for
    "block": partial(adapted, blockwise=True),
    "token": adapted,
}


def __getattr__(name: str) -> Callable[..., Tensor]:
    if name in RULES:
        return globals().setdefault(name, RULES[name]())
    raise AttributeError(name)
