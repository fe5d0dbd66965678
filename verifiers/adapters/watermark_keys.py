"""Watermarked verifiers: an argument ``key`` decides their noise, and their law is the average over keys.

The claim ``lossless-over-keys`` judges that average (``verifiers.claims``).
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .calling_convention import declare

KEY = "key"
"""The argument by which a watermarked verifier is known; passed by name."""


def takes_a_key(function: Any) -> bool:
    """Return whether a function needs an argument ``key``: its noise is decided by a key."""
    try:
        parameter = inspect.signature(function).parameters.get(KEY)
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.default is parameter.empty


def over_keys(function: Callable) -> Callable:
    """Return the function with a key drawn anew in each call, so that its law is the average over keys.

    Its attribute ``keys``, a whole number K: the key is one of 0..K-1, each as likely. Without it the key is a function
    from labels to uniforms of [0, 1): the same label has the same number, and numbers of different labels are
    independent, as in the average over all keys of an ideal keyed function.
    """
    keys, takes_rng = getattr(function, "keys", None), "rng" in inspect.signature(function).parameters

    def verify(target_probs: Any, draft_probs: Any, draft_tokens: Any, rng: np.random.Generator) -> Any:
        noise: dict[tuple, Any] = {}

        def key(*label: Any) -> Any:
            if label not in noise:
                noise[label] = rng.random()
            return noise[label]

        options = {KEY: key if keys is None else int(rng.integers(keys))} | ({"rng": rng} if takes_rng else {})
        return function(target_probs, draft_probs, draft_tokens, **options)

    return declare(verify, **getattr(function, "__dict__", {}))
