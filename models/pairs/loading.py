"""Pairs from folders and from the Hub."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..generating.settings import checked_device
from ..libraries import means_no_memory, must_be_dtype, quiet, reason, require
from .hub import checkpoint_folder, commit_of
from .pair import Pair


def load_pair(
    target: str | Path, draft: str | Path, device: str = "cpu", dtype: str = "float32", template: str = "{prompt}"
) -> Pair:
    """Load two causal language models with one tokenizer.

    target, draft: folders as ``save_pretrained`` writes them, or names on the Hub (downloaded once, into HF_HOME);
        of one name twice one model is loaded.
    device: cpu, cuda or cuda:N.
    dtype: one of ``libraries.DTYPES``.
    template: what prompts are put into, see ``presets``.
    The models may have rows for more ids than the tokenizer has tokens: ``Pair.vocabulary`` is what is common to both
    and to the tokenizer. Below it, every id is the same token to both.
    Raises: InputError in one line: no such checkpoint and how to get it, a file that cannot be read, tokenizers that
    differ (with the first id at which they do), no such device, memory that runs out.
    """
    require("torch", "transformers")
    must_be_dtype(dtype)
    torch_device = checked_device(device, None)
    names = str(target), str(draft)
    folders = [checkpoint_folder(name) for name in names]
    with quiet():
        configs = [_config(name, folder) for name, folder in zip(names, folders)]
        tokenizers = [_tokenizer(name, folder) for name, folder in zip(names, folders)]
        rows = [config.vocab_size for config in configs]
        must_agree(names, [tokenizer.get_vocab() for tokenizer in tokenizers], min(rows))
        distinct = {
            name: _model(name, folder, torch_device, dtype) for name, folder in dict(zip(names, folders)).items()
        }
        models = [distinct[name] for name in names]
    tokenizer = tokenizers[0]
    vocabulary = min(*rows, max(tokenizer.get_vocab().values()) + 1)
    end = _end(models[0], tokenizer, vocabulary)
    contexts = [n for n in (getattr(config, "max_position_embeddings", None) for config in configs) if n]
    return Pair(
        target=models[0], draft=models[1], tokenizer=tokenizer, vocabulary=vocabulary, end=end,
        context=min(contexts, default=None),
        names=names,
        commits=(commit_of(folders[0]), commit_of(folders[1])),
        device=str(torch_device), dtype=dtype, template=template,
    )  # fmt: skip


def must_agree(names: tuple[str, str], vocabularies: list[dict[str, int]], rows: int) -> None:
    """Check two tokenizers. Raises: InputError that names the first id below ``rows`` at which two tokenizers have
    different tokens.

    rows: the ids that both models have; tokens beyond it can come from neither.
    """
    first, second = ({(i, token) for token, i in v.items() if i < rows} for v in vocabularies)
    if first == second:
        return
    at = min(first ^ second)[0]
    tokens_at = [[token for i, token in sorted(v) if i == at] for v in (first, second)]
    said = [f"{' and '.join(map(repr, tokens)) or 'nothing'} to {name}" for tokens, name in zip(tokens_at, names)]
    raise InputError(f"the tokenizers differ: id {at} is {said[0]}, and {said[1]}; expected models with one tokenizer")


def _config(name: str, folder: Path) -> Any:
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(folder)
        return config.get_text_config()
    except Exception as error:
        raise InputError(f"{name}: its config.json cannot be used ({reason(error)})") from None


def _tokenizer(name: str, folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder)
    except Exception as error:
        needs = ""
        if not (folder / "tokenizer.json").is_file() and find_spec("sentencepiece") is None:
            needs = "; without a tokenizer.json it needs the packages sentencepiece and protobuf"
        raise InputError(f"{name}: its tokenizer cannot be loaded ({reason(error)}){needs}") from None


def _model(name: str, folder: Path, device: Any, dtype: str) -> Any:
    import torch
    import transformers

    try:
        loaded: Any = transformers.AutoModelForCausalLM.from_pretrained(
            folder, output_loading_info=True, dtype=getattr(torch, dtype)
        )
        model, report = loaded[0].to(device).eval(), loaded[1]
    except Exception as error:
        if means_no_memory(error):
            expected = "a smaller model or fewer bytes a number (dtype bfloat16)"
            raise InputError(f"{name}: out of memory in {dtype} on {device}; expected {expected}") from None
        raise InputError(f"{name}: cannot be loaded ({reason(error)})") from None
    absent = sorted(map(str, report["missing_keys"]))
    if absent:
        raise InputError(f"{name}: its weights have no {absent[0]}; expected those of its config.json")
    return model


def _end(model: Any, tokenizer: Any, vocabulary: int) -> tuple[int, ...]:
    """Return the ids at which the model's own settings end a text; the tokenizer's if they say nothing."""
    given = model.generation_config.eos_token_id if model.generation_config else None
    if given is None:
        given = tokenizer.eos_token_id
    ids = given if isinstance(given, (list, tuple)) else [given]
    return tuple(i for i in ids if i is not None and i < vocabulary)
