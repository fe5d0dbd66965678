"""IPEX-LLM: one block of ``speculative_generate``, with models that hand out the rows given.

Tokens and their probabilities are given in place of those that its draft model draws; its random numbers are torch's,
in the model's own type.
Caches, the prompt's arguments and the first token are stand-ins; the block ends where its streamer is handed it.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand, softmax
from draftproof_engines.lifted import Edit, adapted, lift

FILE = "ipex_llm/transformers/speculative.py"
ON_A_CPU = Edit("from ipex_llm.transformers.convert import get_enable_ipex", "get_enable_ipex = lambda: False",
                "none of its graphs is traced")  # fmt: skip


class BlockHandedOver(Exception):
    """The tokens of a block, which its streamer is handed."""


class RowsAsModel:
    """The target. rows: of the block's positions, with the first position's for the prompt."""

    device, config = torch.device("cpu"), SimpleNamespace(model_type="llama")
    n_matched = n_drafted = 0

    def __init__(self, rows: Tensor):
        self.rows, self.dtype, self.generate_time = rows, rows.dtype, list[float]()
        self.draft_time, self.verify_time, self.draft_num, self.accept_num = (list[float]() for _ in range(4))

    def clear_benchmarks(self) -> None:
        self.first_token_time = 0.0

    def __call__(self, **_: Any) -> dict[str, Any]:
        return {"logits": self.rows[:1].log()[None], "past_key_values": ()}

    def _crop_past_key_values(self, *_: Any) -> tuple[()]:
        return ()


def block(temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Callable[..., list[int]]:
    """Return the plain convention around one block of its loop."""
    drafts = SimpleNamespace()
    asked = SimpleNamespace(do_sample=True, temperature=temperature, top_k=top_k, top_p=top_p, eos_token_id=None)

    def arguments(_: Any, inputs: Tensor, *__: Any, **___: Any) -> tuple[Any, ...]:
        return inputs, asked, lambda __, logits: logits, None, {}

    def filtered(logits: Tensor, top_k: int, top_p: float) -> Tensor:
        from transformers import TopKLogitsWarper, TopPLogitsWarper  # what its function in transformers was made of

        logits = TopKLogitsWarper(top_k)(None, logits) if top_k else logits  # pyright: ignore[reportArgumentType]
        return TopPLogitsWarper(top_p)(None, logits) if top_p < 1 else logits  # pyright: ignore[reportArgumentType]

    def drawn(_: Tensor, return_probs: bool = False, **__: Any) -> tuple[Any, ...]:
        if not return_probs:
            return torch.zeros((1, 1), dtype=torch.int64), None
        return torch.tensor([[next(drafts.tokens)]]), next(drafts.rows)[None], torch.ones(1)

    def checked(holds: bool, message: str) -> None:
        if not holds:
            raise ValueError(message)

    lifted = lift("ipex-llm", FILE, ("logits_to_probs", "multinomial_sample_one_no_sync", "speculative_generate"), {
        "torch": torch, "time": SimpleNamespace(time=lambda: 0.0), "invalidInputError": checked,
        "top_k_top_p_filtering": filtered, "deepmind_sample": drawn, "_prepare_generate_args": arguments,
        "_prepare_past_key_values_storage_cpu": lambda *_: [], "_prepare_draft_past_key_values_cpu": lambda *_: (),
        "_update_past_key_values_storage_cpu": lambda *_: None, "_non_cpu_ipex_verify": lambda *_, **__: drafts.target,
    }, [ON_A_CPU], annotations=False)  # fmt: skip

    class Streamer:
        @staticmethod
        def put(tokens: Tensor) -> None:
            raise BlockHandedOver(tokens)

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        gamma, drafts.tokens, drafts.rows = len(draft_tokens), iter(draft_tokens), iter(softmax(draft_probs))
        drafts.target = {"logits": target_probs.log()[None], "past_key_values": ()}
        try:
            lifted.functions["speculative_generate"](
                RowsAsModel(target_probs), torch.zeros((1, 1), dtype=torch.int64), max_new_tokens=gamma + 2,
                draft_model=lambda **_: {"logits": target_probs[None], "past_key_values": ()},
                max_step_draft=gamma, streamer=Streamer,
            )  # fmt: skip
        except BlockHandedOver as emitted:
            return emitted.args[0][0].tolist()
        raise RuntimeError("no block was verified")

    return adapted(called, lifted, rows_in_use=softmax, bonus="drawn inside")


__getattr__ = on_demand(globals(), {"plain": block, "settings": lambda: block(0.5, 3)})
