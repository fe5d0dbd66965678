"""What the tables are measured on: a target with its drafters, and prompts in data sets."""

import hashlib
import json
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from draftproof.models.digests import processor, versions
from draftproof.models.errors import InputError
from draftproof.models.pairs.loading import load_pair
from draftproof.models.pairs.pair import Pair
from draftproof.models.pairs.presets import PRESETS, SMOLLM2, TRAINED, named_pair
from draftproof.models.pairs.prompts import DATA_SETS, EMBEDDED, SPEC_BENCH, grouped_prompts
from draftproof_paper.tables.plan import TablesPlan

SMALL_MODEL = 100_000_000
"""Parameters of a model that is faster on one thread."""


@dataclass(frozen=True)
class PromptGroup:
    """Prompts that are decoded together.

    data: name of their data set
    prompts: token ids of each
    """

    data: str
    prompts: tuple[tuple[int, ...], ...]


def preset_models(preset: str) -> tuple[str, tuple[str, ...], str]:
    """Target, drafters and template of a preset. Raises: InputError as ``named_pair``."""
    pairs = [named_pair(preset, drafter) for drafter in range(len(PRESETS[preset].drafts))]
    return pairs[0][0], tuple(draft for _, draft, _ in pairs), pairs[0][2]


def default_data(preset: str | None, target: str) -> tuple[str, ...]:
    """Sources of prompts where none are given."""
    if preset == SMOLLM2:
        return (EMBEDDED,)
    beside = Path(target).expanduser().parent
    if preset in (None, TRAINED):
        return (str(beside),) if (beside / "prompts.jsonl").is_file() else (EMBEDDED,)
    return (SPEC_BENCH,) if preset == "vicuna" else tuple(DATA_SETS)


def load_pairs(plan: TablesPlan) -> list[Pair]:
    """Return a pair for each drafter, all with the one target in memory, and one vocabulary.

    Raises: InputError as ``load_pair``.
    """
    first = load_pair(plan.target, plan.drafts[0], plan.device, plan.dtype, plan.template)
    pairs = [first]
    for draft in plan.drafts[1:]:
        other = load_pair(plan.drafts[0], draft, plan.device, plan.dtype)
        pairs.append(replace(
            first, draft=other.draft, names=(plan.target, draft), commits=(first.commits[0], other.commits[1]),
            vocabulary=min(first.vocabulary, other.vocabulary),
            context=min((c for c in (first.context, other.context) if c), default=None),
        ))  # fmt: skip
    common = min(pair.vocabulary for pair in pairs)
    context = min((pair.context for pair in pairs if pair.context), default=None)
    return [
        replace(pair, vocabulary=common, context=context, end=tuple(i for i in pair.end if i < common))
        for pair in pairs
    ]


def prompt_groups(plan: TablesPlan, pair: Pair) -> list[PromptGroup]:
    """``plan.prompts`` prompts, drawn in turn from the data sets, in groups of ``plan.batch`` of one data set.

    Prompts that leave no room for the new tokens are skipped.
    Raises: InputError for sources without prompts, or with fewer fitting prompts than requested.
    """
    sources: dict[str, list[str]] = {}
    for source in plan.data:
        for name, texts in grouped_prompts(source).items():
            sources.setdefault(_source_name(name), []).extend(texts)
    room = plan.new_tokens + max(plan.gammas)  # of a block that passes the end of the text
    refused: list[InputError] = []

    def fitting(name: str, texts: Sequence[str]) -> Any:
        for text in random.Random(name).sample(texts, len(texts)):
            try:
                yield name, tuple(pair.encode(text, room))
            except InputError as error:
                refused.append(error)

    turns = chain.from_iterable(zip_longest(*(fitting(name, texts) for name, texts in sources.items())))
    drawn = list(islice(filter(None, turns), plan.prompts))
    if len(drawn) < plan.prompts:
        if refused:
            raise refused[0]
        raise InputError(f"{', '.join(plan.data)}: {len(drawn)} prompts, and {plan.prompts} were asked for")
    groups = []
    for name in sources:
        prompts = [ids for source, ids in drawn if source == name]
        groups += [PromptGroup(name, tuple(prompts[at : at + plan.batch])) for at in range(0, len(prompts), plan.batch)]
    random.Random(len(groups)).shuffle(groups)
    return groups


def _source_name(name: str) -> str:
    return Path(name).name if Path(name).exists() else name


def run_settings(plan: TablesPlan, pairs: Sequence[Pair], groups: Sequence[PromptGroup]) -> dict[str, Any]:
    """Return all that a run must share with another to go on with its cells: plan, texts, machine."""
    import torch

    texts = json.dumps([[group.data, group.prompts] for group in groups])
    cuda = plan.device.startswith("cuda")
    return {
        **plan.as_json(),
        "commits": [list(pair.commits) for pair in pairs],
        "vocabulary": pairs[0].vocabulary,
        "texts": hashlib.sha256(texts.encode()).hexdigest(),
        "machine": torch.cuda.get_device_name(plan.device) if cuda else f"{processor()}, {os.cpu_count()} cores",
        **versions("torch", "transformers"),
    }


def one_thread_is_faster(pair: Pair) -> bool:
    """Return whether waking a second thread takes longer than the products of these matrices."""
    return sum(p.numel() for p in pair.target.parameters()) < SMALL_MODEL
