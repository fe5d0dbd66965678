"""gpt-fast and LitGPT: functions that draft and verify a block, with models that hand out the rows given.

Drafted tokens are given, and the probabilities that they were drawn with, as what drafts hands them over: temperature
and top-k apply to the target's rows. All draw from torch's global generator, in the type of the rows.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import on_demand, softmax
from draftproof_engines.lifted import Edit, Lifted, adapted, lift


class DecoderSettings(NamedTuple):
    """What a request asks for, in the words of LitGPT; None is not asked."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def words(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value is not None}


PLAIN, COOL = DecoderSettings(), DecoderSettings(0.5, 3)


def _declared(called: Callable[..., list[int]], *lifted: Lifted) -> Callable[..., list[int]]:
    return adapted(called, *lifted, rows_in_use=softmax, bonus="drawn inside")


def gpt_fast(asked: DecoderSettings = PLAIN) -> Callable[..., list[int]]:
    """``speculative_decode`` of gpt-fast: drafts come from a stand-in of its ``decode_n_tokens``."""
    names = ("multinomial_sample_one_no_sync", "logits_to_probs", "model_forward", "speculative_decode")
    drafted = SimpleNamespace()
    given = {"torch": torch, "Optional": Optional, "Transformer": object}
    lifted = lift("gpt-fast", "generate.py", names, given | {"decode_n_tokens": lambda *_, **__: drafted.block})

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        words = asked.words()
        drafted.block = [*draft_tokens.to(torch.int)[:, None]], [*softmax(draft_probs)]
        target = target_probs.log()[None]
        models = [lambda *_: target, lambda *_: None]
        emitted = lifted.functions["speculative_decode"](
            *models, torch.zeros(1, dtype=torch.int), 0, len(draft_tokens), **words
        )
        return emitted.tolist()

    return _declared(called, lifted)


DRAFT_DRAW = Edit("draft_token, draft_prob = sample(logits, **sample_kwargs)",
                  "draft_token, draft_prob = drafted(idx)",
                  "drafted tokens and their probabilities are an input")  # fmt: skip


def litgpt(asked: DecoderSettings = PLAIN) -> Callable[..., list[int]]:
    """``speculative_decoding`` of LitGPT."""
    given = {"torch": torch, "F": torch.nn.functional, "GPT": object, "Any": Any}
    base = lift("litgpt", "litgpt/generate/base.py", ("multinomial_num_samples_1", "sample_top_p"), given)
    drafts = SimpleNamespace()
    given |= {name: base.functions[name] for name in ("multinomial_num_samples_1", "sample_top_p")}
    given["drafted"] = lambda k: (drafts.tokens[k : k + 1], drafts.rows[k])
    lifted = lift("litgpt", "litgpt/generate/speculative_decoding.py", ("sample", "speculative_decoding"), given,
                  [DRAFT_DRAW])  # fmt: skip

    def called(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> list[int]:
        drafts.tokens, drafts.rows = draft_tokens, softmax(draft_probs)
        emitted = lifted.functions["speculative_decoding"](
            lambda **_: None, lambda **_: target_probs.log()[None],
            torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64), 1, len(draft_tokens), **asked.words(),
        )  # fmt: skip
        return emitted.tolist()

    return _declared(called, base, lifted)


__getattr__ = on_demand(globals(), {
    "gpt_fast_plain": gpt_fast, "gpt_fast_settings": lambda: gpt_fast(COOL),
    "litgpt_plain": litgpt, "litgpt_settings": lambda: litgpt(COOL),
    "litgpt_top_p": lambda: litgpt(DecoderSettings(top_p=0.75)), "litgpt_greedy": lambda: litgpt(DecoderSettings(0.0)),
})  # fmt: skip
