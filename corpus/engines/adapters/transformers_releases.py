"""The verifier of a release of Hugging Face transformers that is unpacked and not installed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import as_logits, on_demand, softmax
from draftproof.verifiers.adapters.hf_transformers import emitted_tokens

from ..lifted import adapted, lift

FILE, NAME = "transformers/generation/utils.py", "_speculative_sampling"


def _of_release() -> Callable[..., Any]:
    """Return the plain convention around the function of the unpacked release."""
    lifted = lift("transformers", FILE, [NAME], {"torch": torch})

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> Tensor:
        return of_logits(*as_logits(target_probs, draft_probs, draft_tokens))[0]

    of_logits = partial(emitted_tokens, function=lifted.functions[NAME])
    return adapted(called, lifted, rows_in_use=softmax, bonus="inside")


__getattr__ = on_demand(globals(), {"of_release": _of_release})
