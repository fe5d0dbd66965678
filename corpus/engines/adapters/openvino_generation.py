"""openvino-genai from outside: text that its pipeline samples from forged checkpoints.

In 2026.4 a call's seed restarts the generator for each prompt of the call, so prompts in one call all get the same
text, and with prefix caching, its default, speculative sampling ends in an error now and then. So every sample is a
call with its own seed, and prefix caching is off unless it is asked for.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from draftproof_engines.adapters.openvino_llama import convert, ov

FLOAT32: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
"""Without it the engine uses bfloat16 on processors that have it."""


def sample(
    target: Path, draft: Path | None, start: int, tokens: int, gamma: int, seeds: Sequence[int],
    prefix_caching: bool = False, threshold: float = 0.0,
) -> Iterator[list[int]]:  # fmt: skip
    """For each seed the tokens that follow the prompt [start]; without a draft by plain sampling.

    At temperature 1, not truncated. threshold: draft until a token's probability falls below it, 0: gamma tokens.
    """
    import openvino_genai as genai

    for folder in filter(None, (target, draft)):
        _export(folder)
    scheduling = genai.SchedulerConfig()
    scheduling.enable_prefix_caching = prefix_caching
    assistant: dict[str, Any] = {} if draft is None else {"draft_model": genai.draft_model(draft, "CPU", **FLOAT32)}
    pipeline = genai.LLMPipeline(target, "CPU", scheduler_config=scheduling, **assistant, **FLOAT32)
    asked = genai.GenerationConfig()
    asked.do_sample, asked.temperature, asked.top_p = True, 1.0, 1.0
    asked.max_new_tokens, asked.ignore_eos = tokens, True
    if draft is not None:
        if threshold:
            asked.assistant_confidence_threshold = threshold
        else:
            asked.num_assistant_tokens = gamma
    prompt = ov.Tensor(np.array([[start]], np.int64))
    for seed in seeds:
        asked.rng_seed = seed
        yield list(pipeline.generate(prompt, asked).tokens[0])


def _export(folder: Path) -> None:
    """The model and the tokenizer in the engine's form, beside the checkpoint."""
    from openvino_tokenizers import convert_tokenizer
    from transformers import AutoTokenizer

    convert(folder)
    names = ("openvino_tokenizer.xml", "openvino_detokenizer.xml")
    models: Any = convert_tokenizer(AutoTokenizer.from_pretrained(folder), with_detokenizer=True)
    for name, model in zip(names, models, strict=True):
        ov.save_model(model, folder / name)
