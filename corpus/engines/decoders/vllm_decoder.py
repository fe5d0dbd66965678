"""vLLM's V1 engine as a decoder that is driven: how it is started, its settings in its words, edits to it."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from draftproof.verifiers.adapters.registry import decoder_python

from . import DecoderProcesses

CHILD = Path(__file__).with_name("vllm_child.py")

NAMES = {"allowed": "allowed_token_ids", "banned": "bad_words_token_ids", "eos": "stop_token_ids"}
"""Settings of ours that have another name there."""

KEPT = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
        "min_tokens", "logit_bias", *NAMES)  # fmt: skip

REPAIR = """
import vllm.v1.sample.rejection_sampler as sampler
def expand(x, cu_num_tokens, num_tokens, replace_from=0, replace_to=0):
    x = x.where(x != replace_from, replace_to) if replace_from != replace_to else x
    return x.repeat_interleave(cu_num_tokens.diff(prepend=cu_num_tokens.new_zeros(1)))
sampler.expand_batch_to_tokens = expand
"""
"""An edit: values of requests are written for each of their tokens, as its Triton kernel does."""


def command() -> list[str]:
    """Return the environment's interpreter and the child's script."""
    return [str(decoder_python("vllm")), str(CHILD)]


def sources() -> list[str]:
    """Return the files whose digest stands for what was audited."""
    places = decoder_python("vllm").parents[1].glob("lib/python*/site-packages/vllm/v1/sample/*.py")
    return sorted(map(str, places))


def loading(target: str, draft: str | None, gamma: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to load. settings: "lookup", "suffix", "eagle", "draft_sampled" and "repaired" say how to speculate.

    draft: the folder of a model, with "eagle" that of an EAGLE head.
    """
    method = "ngram" if settings.get("lookup") else "plain"
    if draft is not None and method == "plain":
        method = next((name for name in ("suffix", "eagle") if settings.get(name)), "draft_model")
        if method != "suffix" and settings.get("draft_sampled"):
            method += ", sampled"
    made = {"target": target, "draft": draft, "gamma": gamma, "method": method}
    return made | ({"module": REPAIR} if settings.get("repaired") and method != "plain" else {})


def request(start: int, tokens: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return one text in vLLM's words."""
    given: dict[str, Any] = {NAMES.get(name, name): settings[name] for name in KEPT if name in settings}
    given |= {"max_tokens": tokens, "skip_reading_prefix_cache": not settings.get("earlier")}
    given |= {"logprobs": 0} if settings.get("logprobs") else {}
    given |= {"seed": 7} if settings.get("seeded") else {}
    earlier = [[start, *prompt] for prompt in settings.get("earlier") or ()]
    return {"prompt": [start, *(settings.get("prompt") or ())], "settings": given, "earlier": earlier}


def processes() -> DecoderProcesses:
    """Return what an audit asks: engines of this kind, each in a process of its own."""
    return DecoderProcesses(sys.modules[__name__])
