"""vLLM V0 (0.4.0 to 0.9.2): ``RejectionSampler``, a torch module with one row of uniforms and one of noise a position.

It draws from torch's global generator and wants probabilities in float32; the bonus token comes from outside. Until
0.5.5 it is made without bonus tokens, as its worker makes it: after a whole block was accepted none follows.
"""

import functools
import inspect
import re
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand
from draftproof_engines.lifted import Edit, adapted, engine_file, lift
from draftproof_engines.ragged import emitted

FOLDER = "vllm/model_executor/layers/"
FILE, BASE_FILE = FOLDER + "rejection_sampler.py", FOLDER + "spec_decode_base_sampler.py"


def sampler() -> Any:
    """Return the plain convention around the sampler of the unpacked release."""
    given: dict[str, Any] = {
        "torch": torch, "nn": torch.nn, "cached_property": functools.cached_property,
        "abstractmethod": lambda function: function, "chain_speculative_sampling": None,
        "envs": SimpleNamespace(VLLM_USE_FLASHINFER_SAMPLER=False),
        "logger": SimpleNamespace(info=lambda *_: None),
    }  # fmt: skip
    text, bases = engine_file("vllm", FILE).read_text(encoding="utf-8"), []
    edits = [
        Edit(line, "", "run as it is written, not compiled")
        for line in re.findall(r"@torch\.(?:compile\(.*|jit\.script)\n", text)
    ]
    if "spec_decode_base_sampler" in text:
        bases.append(lift("vllm", BASE_FILE, (), given, annotations=False))
        given |= {name: value for name, value in bases[0].functions.items() if name.startswith("Spec")}
    lifted = lift("vllm", FILE, ("RejectionSampler", "_multinomial"), given, edits, annotations=False)
    module = lifted.functions["RejectionSampler"]()
    module.num_accepted_tokens, module.num_emitted_tokens = torch.tensor(0), torch.tensor(0)
    takes = list(inspect.signature(module.forward).parameters)

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        bonus = torch.multinomial(target_probs[-1], 1)[None]
        values = {
            "target_probs": target_probs[None, :-1], "target_with_bonus_probs": target_probs[None],
            "bonus_token_ids": bonus, "draft_probs": draft_probs[None], "draft_token_ids": draft_tokens[None],
            "generators": [None], "seeded_seqs": None,
        }  # fmt: skip
        return emitted(module(**{name: values[name] for name in takes}))[0]

    return adapted(called, *bases, lifted, rows_in_use=None, bonus="drawn outside")


__getattr__ = on_demand(globals(), {"token": sampler})
