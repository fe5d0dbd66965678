"""mlx-lm in process: text of its own generation steps from forged checkpoints, speculative or plain.

One edit: tokens are drawn from the sampler's own last row by NumPy in place of ``mx.random.categorical``, whose numbers
are made in compiled code. All that comes before (processors, cut-offs, temperature) is as published.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

CONTEXT = 4096
"""Tokens that penalties look back at; by default 20."""


@cache
def _model(folder: Path) -> Any:
    from mlx_lm.utils import load_model  # pyright: ignore[reportMissingImports]

    return load_model(folder)[0]


def decode(
    target: Path, draft: Path | None, start: int, tokens: int, gamma: int, seeds: Sequence[int], **settings: Any
) -> Iterator[Any]:
    """For each seed the tokens that follow the prompt [start, *prompt]; without a draft by ``generate_step``."""
    import mlx.core as mx  # pyright: ignore[reportMissingImports]
    import numpy as np
    from mlx_lm import sample_utils  # pyright: ignore[reportMissingImports]
    from mlx_lm.generate import generate_step, speculative_generate_step  # pyright: ignore[reportMissingImports]

    prompt = mx.array([start, *settings.get("prompt", ())])
    for seed in seeds:
        rng = np.random.default_rng(seed)

        def drawn(scores: Any, temperature: float, rng: np.random.Generator = rng) -> Any:
            rows = np.array(scores.astype(mx.float32)).astype(np.float64) / temperature
            weights = np.exp(rows - rows.max(-1, keepdims=True)).reshape(-1, rows.shape[-1])
            picked = [int(rng.choice(len(row), p=row / row.sum())) for row in weights]
            return mx.array(picked, mx.uint32).reshape(rows.shape[:-1])

        sample_utils.categorical_sampling = drawn
        how = {"max_tokens": tokens, **_words(settings, sample_utils)}
        if draft is None:
            steps = ((token, row) for token, row in generate_step(prompt, _model(target), **how))
        else:
            models = _model(target), _model(draft)
            made = speculative_generate_step(prompt, *models, num_draft_tokens=gamma, **how)
            steps = ((token, row) for token, row, _ in made)
        text = [(int(token), row) for token, row in steps]
        ids = [token for token, _ in text]
        yield (ids, [row[token].item() for token, row in text]) if settings.get("logprobs") else ids


def _words(settings: Mapping[str, Any], sample_utils: Any) -> dict[str, Any]:
    """Return the settings as its sampler and processors."""
    sampling = {name: settings[name] for name in ("top_k", "top_p", "min_p") if name in settings}
    names = ("repetition_penalty", "presence_penalty", "frequency_penalty")
    penalties = {name: settings[name] for name in names if name in settings}
    penalties |= {f"{name.partition('_')[0]}_context_size": CONTEXT for name in penalties}
    bias = {int(token): by for token, by in (settings.get("logit_bias") or {}).items()}
    return {
        "sampler": sample_utils.make_sampler(settings.get("temperature", 1.0), **sampling),
        "logits_processors": sample_utils.make_logits_processors(bias or None, **penalties),
    }
