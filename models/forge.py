"""Forged checkpoints: Llama models whose next-token law is a problem's, known before any engine has run them."""

import json
from fractions import Fraction
from pathlib import Path
from stat import S_IMODE
from typing import Any, NamedTuple

from .errors import InputError, of_kind
from .files import write_atomically
from .forge_gguf import save_gguf
from .forge_llama import save_checkpoint
from .law import Markov, Model, Table, prefix_key
from .libraries import must_be_dtype, quiet, reason, require
from .problem import Problem, as_json, load_problem
from .rationals import as_fraction

MIN_VOCABULARY = 2
"""Smallest vocabulary that can be forged."""

MAX_VOCABULARY = 64
"""Largest vocabulary that can be forged."""

MAX_PADDED_VOCABULARY = 151_936
"""The most ids that padding may lead to: the vocabulary of Qwen3."""

PROBLEM_FILE = "problem.json"
"""File next to the checkpoints: the problem that they were forged from."""

MAX_SHARDS = 64
"""Largest number of devices that a pair is forged for."""

MIN_PROBABILITY = 1e-37
"""A positive probability below this is 0 in a float32 softmax."""


class Forged(NamedTuple):
    """A forged pair: where the two checkpoints are, and the token that stands for the empty prefix."""

    target: Path
    draft: Path
    start: int


def forge(
    problem: Problem, folder: str | Path, vocabulary_size: int | None = None, dtype: str = "float32",
    gguf: bool = False, shards: int = 1,
) -> Forged:  # fmt: skip
    """Write a problem's target and draft as Llama checkpoints: folder/target and folder/draft, with the problem.

    softmax(logits after ..., k) = M(. | k) for k < V, and M(. | empty) after every other id.
    Tokens 0..V-1 are the problem's, <s> is V (the prompt of one <s> stands for the empty prefix), </s> is V + 1 and
    the padding.
    vocabulary_size: how many ids the models have, V + 2 or more; all from V on are impossible.
    dtype: of the weights, one of ``libraries.DTYPES``.
    gguf: whether to write folder/target.gguf and folder/draft.gguf too (``save_gguf``), from weights in float32.
    shards: number of devices that an engine divides each model over (its tensor-parallel size).
    All files may be read by every user, since engines often run as another one.
    Guarantee: in float32 the law read back (``law_of_checkpoint``) is within 1e-6 of the problem's, entry by entry,
    and probabilities of 0 are exactly 0; in other precisions up to the rounding of the logits.
    Raises: InputError in one line if the models are not of order 1, sizes do not fit, or the folder cannot be used.
    """
    pair = {name: as_markov(getattr(problem, name), problem.vocabulary, name) for name in ("target", "draft")}
    size = _checked_size(problem.vocabulary, vocabulary_size)
    must_be_dtype(dtype)
    if not 1 <= shards <= MAX_SHARDS:
        raise InputError(f"tensor parallel {shards}: expected 1 to {MAX_SHARDS} devices")
    require("torch", "transformers")
    if gguf:
        require("gguf")
        if dtype != "float32":
            raise InputError(f"dtype {dtype!r}: a GGUF file is written from weights in float32")
    folder = _empty(Path(folder))
    from safetensors import SafetensorError

    for name, law in pair.items():
        try:
            with quiet():
                save_checkpoint(law, folder / name, size, dtype, f"{name} of {problem.name}", shards)
            if gguf:
                save_gguf(folder / name, folder / f"{name}.gguf")
        except (OSError, SafetensorError) as error:
            raise InputError(f"{folder / name}: cannot be written ({reason(error)})") from None
    write_atomically(folder / PROBLEM_FILE, json.dumps(as_json(problem), indent=1) + "\n")
    for path in (folder, *folder.rglob("*")):  # safetensors writes files that their owner alone may read
        path.chmod(S_IMODE(path.stat().st_mode) | (0o555 if path.is_dir() else 0o444))
    return Forged(folder / "target", folder / "draft", problem.vocabulary)


@of_kind("DP211")
def forged_problem(target: str | Path) -> Problem:
    """Return the problem that a target was forged from. target: folder of the pair or of the target, or a GGUF file.

    Raises: InputError if ``forge`` has not written it.
    """
    places = [folder / PROBLEM_FILE for folder in (Path(target), Path(target).resolve().parent)]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise InputError(f"{target}: no {PROBLEM_FILE} in it or next to it; expected what draftproof forge has written")
    return load_problem(str(file))


def as_markov(model: Model, vocabulary: int, where: str) -> Markov:
    """Return the same model as start row and a row after each token.

    Raises: InputError that names the first prefix whose row depends on more than its last token.
    """
    if not MIN_VOCABULARY <= vocabulary <= MAX_VOCABULARY:
        sizes = f"{MIN_VOCABULARY} to {MAX_VOCABULARY} tokens"
        raise InputError(f"vocabulary {vocabulary}: a checkpoint can be forged for {sizes}")
    tokens = range(vocabulary)
    markov = Markov(_exact(model.row(())), tuple(_exact(model.row((t,))) for t in tokens))
    if isinstance(model, Table):
        longer = [prefix for prefix, row in model.rows.items() if prefix and _exact(row) != markov.after[prefix[-1]]]
    else:
        longer = [(s, t) for s in tokens for t in tokens if model.state((s, t)) != model.state((t,))]
    if longer:
        prefix = min(longer, key=lambda p: (len(p), p))
        raise InputError(
            f'{where}: the row after "{prefix_key(prefix)}" is not the row after "{prefix[-1]}"; a checkpoint '
            "can be forged for context-free lists and order-1 Markov models"
        )
    for after, row in (("", markov.start), *((str(t), row) for t, row in enumerate(markov.after))):
        for token, p in enumerate(row):
            if 0 < p < MIN_PROBABILITY:
                below = f"a probability below {MIN_PROBABILITY:g}, which is 0 in float32"
                raise InputError(f'{where}: token {token} after "{after}" has {below}; expected 0 or at least that')
    return markov


def law_of_checkpoint(folder: str | Path) -> Markov:
    """Return the law of a forged checkpoint as transformers computes it: softmax, in float32, of the logits after each
    token.

    Rows of floats over the problem's V tokens, from one forward pass over <s>, 0, ..., V-1.
    Raises: InputError if the folder is not a forged checkpoint, or an id beyond the problem's tokens is possible.
    """
    require("torch", "transformers")
    import torch
    from transformers import AutoModelForCausalLM

    folder = Path(folder)
    config = _config(folder)
    try:
        with quiet():
            model = AutoModelForCausalLM.from_pretrained(folder).eval()
    except Exception as error:
        raise InputError(f"{folder}: cannot be loaded ({reason(error)})") from None
    model.to(getattr(torch, config.get("dtype") or config["torch_dtype"]))
    start = config["bos_token_id"]
    with torch.no_grad():
        logits = model(torch.tensor([[start, *range(start)]])).logits[0]
    rows = logits.float().softmax(-1)
    beyond = rows[:, start:].sum().item()
    if beyond != 0:
        raise InputError(f"{folder}: ids from {start} on have the probability {beyond:.3g}, expected 0")
    first, *after = (tuple(row) for row in rows[:, :start].tolist())
    return Markov(first, tuple(after))


def _config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        config = {}
    if "forged_from" not in config:
        raise InputError(f"{folder}: not a forged checkpoint; expected a folder that draftproof forge has written")
    return config


def _checked_size(vocabulary: int, size: int | None) -> int:
    least = vocabulary + 2
    if size is not None and not least <= size <= MAX_PADDED_VOCABULARY:
        expected = f"{least} (the problem's {vocabulary} tokens, <s> and </s>) to {MAX_PADDED_VOCABULARY}"
        raise InputError(f"vocabulary size {size}: expected {expected}")
    return least if size is None else size


def _empty(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty; expected a folder that is new or empty")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({reason(error)})") from None
    return folder


def _exact(row) -> tuple[Fraction, ...]:
    return tuple(map(as_fraction, row))
