"""The libraries that models need: whether they are installed, no progress bars, errors in one line, torch's threads."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .errors import InputError

DTYPES = ("float32", "bfloat16", "float16", "float64")
"""Supported dtypes of models."""

OUT_OF_MEMORY = "out of memory", "DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED"
"""Texts in errors of general classes that mean that memory has run out."""


def must_be_supported() -> None:
    """Check the operating system. Raises: InputError on Windows, which has neither fork nor limits of resources."""
    if sys.platform == "win32":
        raise InputError(
            "Windows is not supported: an audit needs fork and resource limits; "
            "use WSL 2, or Docker as docs/ci.md shows"
        )


def require(*packages: str, extra: str = "transformers") -> None:
    """Require packages. Raises: InputError that names those not installed, and the extra that installs them."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise InputError(f"{' and '.join(missing)} not found; install draftproof[{extra}]", "DP301")


def must_be_dtype(dtype: str) -> None:
    """Check a dtype's name. Raises: InputError unless it is one of DTYPES."""
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r}: expected one of {', '.join(DTYPES)}")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' progress bars and advice within the block. Errors are raised as ever."""
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def reason(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return getattr(error, "strerror", None) or next(iter(str(error).splitlines()), type(error).__name__)


def means_no_memory(error: BaseException) -> bool:
    """Return whether memory has run out: torch has a class for that on a GPU, but not for all of it, nor on the
    machine.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or any(text in str(error) for text in OUT_OF_MEMORY)


def save_tokenizer(tokenizer: Any, folder: Path, begin: str, end: str, chat_template: str | None = None) -> None:
    """Write a tokenizer of ``tokenizers`` as transformers does, so that AutoTokenizer loads it; ``end`` pads too."""
    from transformers import PreTrainedTokenizerFast

    special = {"bos_token": begin, "eos_token": end, "pad_token": end}
    options = {"clean_up_tokenization_spaces": False, "model_input_names": ["input_ids", "attention_mask"]}
    options |= {"chat_template": chat_template} if chat_template else {}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special, **options).save_pretrained(folder)


@contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """Set torch's number of threads within the block; None leaves the number unchanged."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
