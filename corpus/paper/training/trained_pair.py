"""A pair trained offline on Python's own text, kept in the user's cache: for where no weights can be downloaded."""

import json
import platform
import shutil
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any

from draftproof.models.digests import versions
from draftproof.models.errors import InputError, OutOfMemoryError
from draftproof.models.files import cache_folder, write_atomically
from draftproof.models.generating.settings import checked_device
from draftproof.models.libraries import means_no_memory, quiet, reason, require, save_tokenizer
from draftproof.models.pairs.packaged_pair import FIGURES, TRAINED_FORMAT, Progress, figures_of
from draftproof_paper.training.corpus import Corpus, corpus, write_prompts
from draftproof_paper.training.recipe import Recipe

PROMPTS, CHECKPOINT = "prompts.jsonl", "training.pt"


def train_pair(
    folder: str | Path, seed: int = 0, recipe: Recipe | None = None, progress: Progress = lambda *_: None,
    device: str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Write folder/target, folder/draft, folder/small-draft, each with the tokenizer, and folder/prompts.jsonl.

    prompts.jsonl has the beginnings of texts that none was trained on.
    folder: new, empty, or with this very pair.
    progress: progress(stage, done, total).
    device: where to train.
    Returns, and writes to folder/pair.json: ``models``, by name, with parameters, loss and alpha (see ``evaluation``);
    seed, recipe, the steps' cpu_seconds, and the ``key`` that names the pair in the cache.
    Guarantee: one recipe and seed give one pair, on one machine with one set of libraries (see ``training.train``); a
    killed run goes on where it was, and a pair that the cache has is copied.
    Raises: InputError in one line: a folder in use, a cache that cannot be written, no text to train on, no such
    device, memory that runs out.
    """
    require("torch", "transformers")
    recipe, folder = recipe or Recipe(), Path(folder)
    if not 0 <= seed < 2**63:  # what torch's generator takes
        raise InputError(f"seed {seed}: expected a whole number from 0 on and below 2^63")
    device = str(checked_device(device, None))
    progress("reading", 0, recipe.steps)
    text = corpus()
    key = recipe.digest(seed=seed, text=text.digest(), **_libraries(), **_on(device))[:16]
    there = figures_of(folder, TRAINED_FORMAT)
    if there and there.get("key") == key:
        return there
    try:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty; expected a folder that is new, empty, or has this very pair")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({reason(error)})") from None
    cached = cache_folder() / "pairs" / key
    try:
        cached.mkdir(parents=True, exist_ok=True)
        figures = figures_of(cached, TRAINED_FORMAT)
        if figures is None:
            with quiet():
                figures = _make(cached, key, recipe, seed, text, progress, device)
    except OSError as error:
        where = "XDG_CACHE_HOME says where to keep pairs"
        raise InputError(f"{cached}: cannot be written ({reason(error)}); {where}") from None
    except (RuntimeError, MemoryError) as error:
        if not means_no_memory(error):
            raise
        raise OutOfMemoryError(f"out of memory on {device} in training; expected a smaller recipe") from None
    try:
        for name in (*recipe.sizes, PROMPTS, FIGURES):
            copy = shutil.copytree if (cached / name).is_dir() else shutil.copyfile
            copy(cached / name, folder / name)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({reason(error)})") from None
    return figures


def _make(
    cached: Path, key: str, recipe: Recipe, seed: int, text: Corpus, progress: Progress, device: str
) -> dict[str, Any]:
    """Train, measure and save; the figures last: with them a pair is whole."""
    import torch
    from safetensors import SafetensorError

    from draftproof_paper.training.recipe import BOS, EOS, concatenated_ids, train_tokenizer
    from draftproof_paper.training.training import evaluate, train

    texts = _cut([d.text for d in text.training], recipe.text)
    tokenizer = train_tokenizer(texts, recipe.vocabulary)
    ids = torch.tensor(concatenated_ids(tokenizer, texts))
    models, cpu_seconds = train(recipe, seed, ids, cached / CHECKPOINT, progress, device)
    progress("measuring", recipe.steps, recipe.steps)
    evaluations = evaluate(models, torch.tensor(concatenated_ids(tokenizer, [d.text for d in text.held_out])), recipe)
    for name, model in models.items():
        try:
            model.save_pretrained(cached / name)
        except SafetensorError as error:
            raise OSError(reason(error)) from None
        save_tokenizer(tokenizer, cached / name, BOS, EOS)
    prompts = write_prompts(text.held_out, recipe.prompts, cached / PROMPTS)
    figures = {
        "format": TRAINED_FORMAT, "key": key, "seed": seed, **_libraries(), **_on(device),
        "text": text.digest(), "tokens": len(ids), "prompts": prompts,
        "cpu_seconds": round(cpu_seconds, 1), "recipe": asdict(recipe),
        "models": {
            name: {"parameters": sum(p.numel() for p in models[name].parameters()), **evaluations[name]._asdict()}
            for name in models
        },
    }  # fmt: skip
    write_atomically(cached / FIGURES, json.dumps(figures, indent=1) + "\n")
    (cached / CHECKPOINT).unlink(missing_ok=True)
    return figures


def _libraries() -> dict[str, str]:
    return {"python": platform.python_version(), **versions("torch", "transformers", "tokenizers")}


def _on(device: str) -> dict[str, str]:
    """Return the part of the key that names the device; nothing for the CPU."""
    return {} if device == "cpu" else {"device": device}


def _cut(texts: list[str], characters: int | None) -> list[str]:
    """Return the first ``characters`` of all texts together."""
    if characters is None:
        return texts
    starts = accumulate(map(len, texts), initial=0)
    return [text[: characters - start] for text, start in zip(texts, starts) if start < characters]
