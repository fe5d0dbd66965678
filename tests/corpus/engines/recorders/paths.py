"""A folder from which another interpreter imports this project, and nothing else of this environment."""

from pathlib import Path

import draftproof
import draftproof_engines


def importable(folder: Path) -> str:
    """Return the folder, with links to both packages."""
    for package in (draftproof, draftproof_engines):
        link = folder / package.__name__
        if not link.exists():
            link.symlink_to(Path(package.__file__).parent)
    return str(folder)
