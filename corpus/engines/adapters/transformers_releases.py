"""The verifier of a release of Hugging Face transformers that is unpacked and not installed."""

from collections.abc import Callable
from typing import Any

import torch

from draftproof.verifiers.adapters.calling_convention import on_demand, softmax
from draftproof.verifiers.adapters.hf_transformers import around

from ..lifted import adapted, lift

FILE, NAME = "transformers/generation/utils.py", "_speculative_sampling"


def _of_release() -> Callable[..., Any]:
    """Return the plain convention around the function of the unpacked release."""
    lifted = lift("transformers", FILE, [NAME], {"torch": torch})
    return adapted(around(lifted.functions[NAME]), lifted, rows_in_use=softmax, bonus="inside")


__getattr__ = on_demand(globals(), {"of_release": _of_release})
