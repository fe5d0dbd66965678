"""The user's cache folder, where each system has it."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """XDG_CACHE_HOME/draftproof; where that is not set ~/.cache/draftproof, or what macOS and Windows have.

    A relative XDG_CACHE_HOME counts as not set, as its specification says.
    """
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if given.is_absolute():
        return given / "draftproof"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "draftproof" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "draftproof"
    return Path.home() / ".cache" / "draftproof"
