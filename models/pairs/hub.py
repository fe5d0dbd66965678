"""Folders with a whole checkpoint, found by a folder or a name on the Hub."""

from pathlib import Path

import msgspec

from ..errors import InputError
from ..json_files import read_file
from ..libraries import reason
from .packaged_pair import packaged_folder

CONFIGURATION_FILES = ("*.json", "*.model", "*.txt", "*.jinja")
"""Files that are downloaded with the weights: configuration and tokenizer."""

HUB_TIMEOUT = 20
"""How long the Hub may take to say what a model consists of."""


class WeightsIndex(msgspec.Struct):
    """A file that says which part of a checkpoint has which weight."""

    weight_map: dict[str, str]


def checkpoint_folder(name: str) -> Path:
    """Return the folder of that name, or of a packaged pair, or the Hub's snapshot of the model of that name.

    The snapshot is downloaded unless the cache has it whole. ``packaged_pair`` makes the folder of a packaged pair.

    Raises: InputError that says what is missing, and what to download and where to put it.
    """
    folder = packaged_folder(name) or Path(name).expanduser()
    if folder.is_dir():
        if missing := missing_from(folder):
            raise InputError(f"{name}: not a checkpoint, it has no {missing}; expected what save_pretrained writes")
        return folder
    if folder.exists() or name.count("/") > 1 or name.startswith((".", "/", "~")) or "\\" in name:
        raise InputError(f"{name}: no such folder; expected one with a checkpoint, or a name of the Hub")
    return _cached(name) or _downloaded(name)


def missing_from(folder: Path) -> str | None:
    """Return the first file that a checkpoint needs and that is not there."""
    from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME, WEIGHTS_INDEX_NAME, WEIGHTS_NAME

    if not (folder / "config.json").is_file():
        return "config.json"
    for whole, index in ((SAFE_WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME), (WEIGHTS_NAME, WEIGHTS_INDEX_NAME)):
        if (folder / whole).is_file():
            return None
        if (folder / index).is_file():
            parts = sorted({*read_file(WeightsIndex, folder / index).weight_map.values()})
            return next((part for part in parts if not (folder / part).is_file()), None)
    return SAFE_WEIGHTS_NAME


def commit_of(folder: Path) -> str | None:
    """Return the commit of a snapshot in the Hub's cache."""
    return folder.name if folder.parent.name == "snapshots" else None


def _cached(name: str) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, local_files_only=True))
    except HFValidationError:
        raise InputError(f"{name!r}: neither a folder nor a name of the Hub; expected OWNER/MODEL") from None
    except LocalEntryNotFoundError:
        return None
    return None if missing_from(folder) else folder


def _downloaded(name: str) -> Path:
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.utils import GatedRepoError, RepositoryNotFoundError

    where = f"put its files into a folder and name that, or into the cache {constants.HF_HUB_CACHE} (HF_HOME)"
    if constants.HF_HUB_OFFLINE:
        raise InputError(f"{name}: not downloaded yet, and HF_HUB_OFFLINE is set; hf download {name}, or {where}")
    try:
        files = [file.rfilename for file in HfApi().model_info(name, timeout=HUB_TIMEOUT).siblings or ()]
        weights = "*.safetensors" if any(file.endswith(".safetensors") for file in files) else "*.bin"
        return Path(snapshot_download(name, allow_patterns=[*CONFIGURATION_FILES, weights]))
    except GatedRepoError:
        raise InputError(f"{name}: its owner grants access; ask for it on the model's page and set HF_TOKEN") from None
    except RepositoryNotFoundError:
        raise InputError(f"{name}: no such folder, and no such model on the Hub (or it is private: HF_TOKEN)") from None
    except Exception as error:  # whatever the network does, of several libraries
        why = f"not downloaded yet, and the Hub cannot be reached ({reason(error)})"
        raise InputError(f"{name}: {why}; where there is a network: hf download {name}; then {where}") from None
