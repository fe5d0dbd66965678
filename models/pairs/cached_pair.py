"""The pair that ``draftproof train-pair`` has trained, where the user's cache holds it."""

import json
from pathlib import Path
from typing import Any

from ..files import cache_folder

TRAINED_FORMAT = "draftproof trained pair 1"
"""The format that a trained pair's figures name."""

FIGURES = "pair.json"
"""The file that is written last: with it a pair is whole."""


def figures_of(folder: Path) -> dict[str, Any] | None:
    """Return the contents of pair.json; None if the folder has no complete pair."""
    try:
        figures = json.loads((folder / FIGURES).read_text(encoding="utf-8"))
        return figures if figures["format"] == TRAINED_FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def trained_folder() -> Path | None:
    """Return the folder of the pair that was finished last; None if there is none."""
    folders = [file.parent for file in (cache_folder() / "pairs").glob(f"*/{FIGURES}") if figures_of(file.parent)]
    return max(folders, key=lambda folder: (folder / FIGURES).stat().st_mtime, default=None)
