"""Megatron-LM: drafted tokens are kept where they equal a sample of the target, with its sampler and its controller.

No draft rows: the target is sampled at every position, and the text goes on while the draft says the same: lossless,
with fewer accepted. The controller's method is lifted with its class, over the twin in torch of its Triton kernels.
The law is that of its ``torch.multinomial``, followed; batches are driven, with a row of noise for each draft token and
one for the last in its place: where two races decide one token, no law is computed.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof.verifiers.adapters.protocol import Row, by_length
from draftproof_engines.lifted import Edit, Lifted, LiftedAdapter, adapted, lift

ENGINE, FOLDER = "megatron-lm", "megatron/core/inference"
ON_A_CPU = Edit("torch.cuda.current_device()", "'cpu'", "it runs on a CPU")
DRIVEN = (
    Edit("torch.multinomial(probabilities, num_samples=1, generator=generator)",
         "(probabilities / DRIVEN.noise[DRIVEN.rows]).argmax(-1)", "the noise of the race is an input"),
    Edit("token_list.append(", "DRIVEN.rows = row_indices; token_list.append(", "which rows of it"),
)  # fmt: skip


class Controller(LiftedAdapter):
    """driven: whether noise is an input."""

    batch, mixes_greedy = 64, True
    random = (
        {"name": "noise", "kind": "exponential", "shape": ["gamma", "V"]},
        {"name": "last", "kind": "exponential", "shape": ["V"]},
    )

    def __init__(self, driven: bool = True):
        self.driven, self.lifted = SimpleNamespace(), list[Lifted]()
        base = self._lift("sampling/base.py", ("Sampling",), ABC=object, abstractmethod=lambda method: method)
        sampling = self._lift("sampling/torch_sampling.py", ("TorchSampling",),
                              [ON_A_CPU, *(DRIVEN if driven else ())], Sampling=base["Sampling"],
                              defaultdict=defaultdict)  # fmt: skip
        folder = "text_generation_controllers"
        names = ("verify_speculative_tokens", "prepare_next_forward_pass")
        verifier = self._lift(f"{folder}/mtp_utils_pytorch.py", names)
        made = self._lift(f"{folder}/text_generation_controller.py", ("TextGenerationController",),
                          nvtx_range_push=lambda _: None, nvtx_range_pop=lambda _: None,
                          **{name: verifier[name] for name in names})  # fmt: skip
        self.controller, self.sampling = made["TextGenerationController"], sampling["TorchSampling"]
        self.describe(*self.lifted, bonus="drawn inside")

    def _lift(self, file: str, names: Sequence[str], edits: Sequence[Edit] = (), **given: Any) -> dict[str, Any]:
        given = {"torch": torch, "Tensor": torch.Tensor, "DRIVEN": self.driven, **given}
        self.lifted.append(lift(ENGINE, f"{FOLDER}/{file}", names, given, edits, annotations=False))
        return self.lifted[-1].functions

    def together(self, rows: Sequence[Row]) -> list[Sequence[int]]:
        return by_length(rows, self._step)

    def _step(self, rows: Sequence[Row]) -> list[list[int]]:
        size, gamma, vocabulary = len(rows), len(rows[0].tokens), rows[0].target.shape[-1]
        if rows[0].random:
            noise = [torch.cat([row.random["noise"], row.random["last"][None]]) for row in rows]
            self.driven.noise = torch.cat(noise).float()
        asked = zip(*((1.0, int(row.greedy), 0.0) for row in rows), strict=True)
        context = SimpleNamespace(
            total_request_count=size, paused_request_count=0, num_decode_requests=size, num_prefill_requests=0,
            speculative_required_logit_indices=lambda: torch.arange(size * (gamma + 1)),
            config=SimpleNamespace(materialize_only_last_token_logits=True),
            active_request_metadata=dict(zip(("temperature", "top_k", "top_p"), map(torch.tensor, asked), strict=True)),
        )  # fmt: skip
        held = object.__new__(self.controller)
        vars(held).update(
            inference_wrapped_model=SimpleNamespace(inference_context=context), num_speculative_tokens=gamma,
            _sampling=self.sampling(None, vocabulary), _sampled_tokens_cuda=torch.zeros(size, dtype=torch.int64),
            _all_logits_cuda=torch.cat([row.target for row in rows]).float().log()[None],
            _last_accepted_seq_indices_buf=torch.zeros(size, dtype=torch.int64),
            _accepted_tokens_per_request=torch.full((size, gamma), -1), _accepted_token_counts_per_request=torch.zeros(
                size, dtype=torch.int64),
        )  # fmt: skip
        tokens = torch.stack([torch.cat([torch.zeros(1, dtype=torch.int64), row.tokens]) for row in rows])
        held._dynamic_step_sample_logits_and_verify_tokens(tokens.view(1, -1))
        kept, last = held._accepted_tokens_per_request.tolist(), held._sampled_tokens_cuda.tolist()
        counts = held._accepted_token_counts_per_request.tolist()
        return [[*kept[k][: counts[k]], last[k]] for k in range(size)]


def verification() -> Callable[..., list[int]]:
    """Return the plain convention around its step."""
    held = Controller(False)

    def called(target_probs: torch.Tensor, draft_probs: torch.Tensor, draft_tokens: torch.Tensor) -> list[int]:
        return [*held.together([Row(target_probs, draft_probs, draft_tokens, {})])[0]]

    return adapted(called, *held.lifted, rows_in_use=float32_softmax, bonus="drawn inside")


__getattr__ = on_demand(globals(), {"equality": verification, "batches": Controller})
