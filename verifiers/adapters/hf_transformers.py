"""Hugging Face transformers: the verifier inside assisted generation, called as published.

``generation.utils._speculative_sampling`` takes logits, works in their precision, and draws from torch's global
generator. Its signature changed over the releases; arguments are passed by name, and ``assistant_ensemble_weight``
(5.2x and later), which trades losslessness for acceptance, stays at its default, off.

``generate`` converts both models' logits to float32 before, so that an audit in bfloat16 has to be asked for. There the
function's uniforms have 8 bits, and on blocks of 64 tokens it is refuted.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from .calling_convention import OnLogits, declare, softmax

if TYPE_CHECKING:
    from torch import Tensor


def around(function: Callable[..., Any] | None = None) -> OnLogits:
    """Return the plain convention around a function like transformers': logits are log-probabilities, batch of one."""

    def verify(target_logits: "Tensor", draft_logits: "Tensor", draft_tokens: "Tensor") -> "Tensor":
        return emitted_tokens(target_logits[None], draft_logits[None], draft_tokens[None], function)[0]

    return OnLogits(verify)


def emitted_tokens(
    target_logits: "Tensor", draft_logits: "Tensor", draft_tokens: "Tensor", function: Callable[..., Any] | None = None
) -> "Tensor":
    """Return what transformers' function emits, [1, tau + 1], for logits [1, gamma + 1, V] and [1, gamma, V]."""
    function = function or published()
    gamma = draft_tokens.shape[1]
    given = {"candidate_input_ids": draft_tokens, "candidate_logits": draft_logits, "candidate_length": gamma}
    # Up to 4.5x: whether the candidate ended with an end-of-sequence token, and how many may be matched.
    older = {"is_done_candidate": False, "last_assistant_token_is_eos": False, "max_matches": gamma}
    given |= {"new_logits": target_logits, **older}
    valid_tokens, _ = function(**{name: value for name, value in given.items() if name in _parameters(function)})
    return valid_tokens


@cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def published() -> Callable[..., Any]:
    """Return the engine's own function, whose source the report identifies."""
    from transformers.generation.utils import _speculative_sampling

    return _speculative_sampling


verify = declare(around(), array="torch", rows_in_use=softmax, published=published)
