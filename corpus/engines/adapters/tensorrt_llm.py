"""TensorRT-LLM: ``TwoModelSpecDecHandler.process_draft_tokens``, one request of its sampler in torch.

Drafts with logits are tested by rejection; drafts without (n-grams) are kept where they equal a sample of the target.
Its sampler is not lifted: q is the softmax of the draft's logits (temperature 1), and what the target would say at each
position is drawn by torch.multinomial, as both of its samplers in torch do. Nothing ends a text.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import float32_softmax, on_demand
from draftproof_engines.lifted import adapted, lift

ENGINE, FILE = "tensorrt-llm", "tensorrt_llm/_torch/pyexecutor/sampler/two_model_spec_dec.py"
GREEDY = ("greedy", None)


class HandledRequest(SimpleNamespace):
    """What the handler reads of a request. emitted: its new tokens."""

    emitted: list[int]

    def add_new_token(self, token: Any, _: int) -> None:
        self.emitted.append(int(token))


def _added(request: HandledRequest, new_tokens: Sequence[int], *, beam_idx: int, step: int = 0) -> int:
    request.add_new_token(new_tokens[step], beam_idx)
    return new_tokens[step]


def verification(tested: bool, padded: int = 0) -> Callable[..., list[int]]:
    """Return the plain convention around its handler.

    tested: whether drafts come with logits. padded: how many places at the end of a block hold a 0 without logits.
    """
    lifted = lift(ENGINE, FILE, ("get_rejected_indices", "sample_rejected", "TwoModelSpecDecHandler"), {
        "torch": torch, "cast": cast, "prefer_pinned": lambda: False, "DEFAULT_BEAM_IDX": 0, "GREEDY": GREEDY,
        "add_token": _added, "get_draft_token_length": lambda request: len(request.py_draft_tokens),
        "handle_stop_criteria": lambda *_, **__: False,
        "_request_strategy": lambda request, vocab_size: request.strategy,
        "sample": lambda _, logits, generator: (None, logits.softmax(-1), 1.0),
    }, annotations=False)  # fmt: skip

    def called(
        target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor, generator: torch.Generator
    ) -> list[int]:
        gamma, target = len(draft_tokens), float32_softmax(target_probs)
        known = gamma - padded
        drafted, says = [*draft_tokens[:known].tolist(), *[0] * padded], list[int]()
        if not tested:
            says = torch.multinomial(target, 1, generator=generator).view(-1).tolist()
        says = says or [*[-1] * gamma, int(torch.multinomial(target[-1], 1, generator=generator))]
        sampler = SimpleNamespace(
            get_generator=lambda _: generator, finish_if_reason=lambda *_, **__: False, max_seq_len=0,
            get_spec_tree_manager=lambda _: None, _force_num_accepted_tokens=0,
        )  # fmt: skip
        request = HandledRequest(
            py_draft_tokens=drafted, py_target_probs=target, strategy=("temperature", 1.0), seq_slot=0, emitted=[],
            py_draft_logits=draft_probs[:known].float().log() if tested else None,
        )  # fmt: skip
        handler = lifted.functions["TwoModelSpecDecHandler"](sampler)
        handler.process_draft_tokens(request, torch.zeros(gamma + 1, 1, 1, dtype=torch.int64), says, [])
        return request.emitted

    return adapted(called, lifted, rows_in_use=float32_softmax, bonus="drawn by a stand-in of its sampler")


__getattr__ = on_demand(globals(), {
    "tested": lambda: verification(True), "equality": lambda: verification(False),
    "padded": lambda: verification(True, 1),
})  # fmt: skip
