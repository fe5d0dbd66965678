"""What the wrappers of packages share: files of an unpacked package, models in place of real ones, one block alone."""

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from draftproof.verifiers.adapters.calling_convention import declare, float32_softmax

FOLDER = Path(os.environ.get("DRAFTPROOF_INDEX") or ".venv-index").absolute()


def loaded(package: str, path: str, **given: Any) -> Any:
    """A file of an unpacked package, run as a module without the package around it. given: modules that it asks for.

    Lines of it are changed as $DRAFTPROOF_MEND says: [[before, after], ..] in JSON.
    """
    sys.path.append(str(FOLDER / package))
    name = path.removesuffix(".py").replace("/", ".")
    parts = name.split(".")[:-1]
    for k in range(len(parts)):  # packages without their own __init__, which may need what is not here
        package_of = ModuleType(".".join(parts[: k + 1]))
        package_of.__path__ = [str(FOLDER.joinpath(package, *parts[: k + 1]))]
        sys.modules[package_of.__name__] = package_of
    sys.modules.update({asked.replace("__", "."): module for asked, module in given.items()})
    spec = importlib.util.spec_from_file_location(name, FOLDER / package / path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{FOLDER / package / path} is no Python file")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    mends = json.loads(os.environ.get("DRAFTPROOF_MEND") or "[]")
    text = (FOLDER / package / path).read_text(encoding="utf-8") if mends else ""
    if not any(old in text for old, _ in mends):
        spec.loader.exec_module(module)
        return module
    for old, new in mends:
        text = text.replace(old, new)
    exec(compile(text, str(FOLDER / package / path), "exec"), module.__dict__)
    return module


def plain(function: Any) -> Any:
    """Return a verifier of probabilities, in tensors."""
    return declare(function, array="torch")


def of_logits(function: Any) -> Any:
    """Return a verifier that makes its probabilities by a softmax in float32."""
    return declare(function, array="torch", rows_in_use=float32_softmax)


def model(rows: torch.Tensor, prompt: int = 1) -> Any:
    """In place of a language model: the logits at position i of a text are those of rows[i + 1 - prompt]."""

    def called(ids: torch.Tensor, *_: Any, **__: Any) -> Any:
        after = torch.arange(ids.shape[1]) + 1 - prompt
        return SimpleNamespace(logits=rows.log()[after.clamp(0, len(rows) - 1)][None], past_key_values=None)

    return called


class Drafted:
    """torch, whose first draws are the drafted tokens; every other one is torch's own."""

    def __init__(self, tokens: torch.Tensor):
        self.left = [*tokens]

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def multinomial(self, *asked: Any, **named: Any) -> torch.Tensor:
        return self.left.pop(0).view(1, 1) if self.left else torch.multinomial(*asked, **named)


class OneBlock(Exception):
    """Raised where a decoding loop would begin its second block."""


def local_after_one_block(name: str, function: Any, *arguments: Any, **named: Any) -> Any:
    """Return a local variable of a decoding loop that a model or a cache in our hands ends by raising OneBlock."""
    try:
        function(*arguments, **named)
    except OneBlock as end:
        at = end.__traceback__
        while at is not None:
            if name in at.tb_frame.f_locals and at.tb_frame.f_code is getattr(function, "__code__", None):
                return at.tb_frame.f_locals[name]
            at = at.tb_next
    raise RuntimeError(f"no second block was begun, or {name} is no variable of {function}")
