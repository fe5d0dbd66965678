"""transformers from outside: text that ``generate`` samples from forged checkpoints, assisted or not."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def sample(
    target: Path, draft: Path | None, start: int, tokens: int, gamma: int, seeds: Sequence[int], **settings: Any
) -> Iterator[list[int]]:
    """For each seed the tokens that follow the prompt [start]; without a draft by plain sampling.

    As the checkpoints ask for it: temperature 1, not truncated. settings: more arguments of ``generate``, such as
    ``assistant_ensemble_weight``, its named lossy mode.
    """
    import torch
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(target).eval()
    assisted = dict(settings)
    if draft is not None:
        assistant = AutoModelForCausalLM.from_pretrained(draft).eval()
        assistant.generation_config.num_assistant_tokens = gamma
        # gamma tokens each time: by default it drafts fewer after a token that the draft is not sure of.
        assistant.generation_config.num_assistant_tokens_schedule = "constant"
        assistant.generation_config.assistant_confidence_threshold = 0.0
        assisted["assistant_model"] = assistant
    prompt = torch.tensor([[start]])
    for seed in seeds:
        torch.manual_seed(seed)
        text = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=tokens, **assisted)
        yield text[0, 1:].tolist()
