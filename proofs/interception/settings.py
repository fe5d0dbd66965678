"""Which variables of the environment a function's own modules read when they are imported: settings that a verdict
speaks of.

What is read during a call withdraws the laws (``watch``); a setting that was read once is fixed for the process, and
the
law holds for it alone. Installed packages are passed over.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .digests import is_standard


@contextmanager
def settings_read() -> Iterator[dict[str, str]]:
    """The variables that are read meanwhile by code that is no installed package's, each with the line that reads
    it."""
    read: dict[str, str] = {}
    plain: Any = os._Environ.__getitem__

    def item(self: Any, key: Any) -> Any:
        frame = sys._getframe(1)
        while frame.f_back and (frame.f_code.co_filename.startswith("<frozen") or _is_standard(frame)):
            frame = frame.f_back
        file = Path(frame.f_code.co_filename)
        ours = frame.f_globals.get("__name__", "").startswith("draftproof.proofs.")
        if not ours and not {"site-packages", "dist-packages"} & set(file.parts):
            read.setdefault(str(key), f"{file.name}:{frame.f_lineno}")
        return plain(self, key)

    os._Environ.__getitem__ = item
    try:
        yield read
    finally:
        os._Environ.__getitem__ = plain


def _is_standard(frame: Any) -> bool:
    return frame.f_globals.get("__name__") in ("os", "_collections_abc") and is_standard(
        Path(frame.f_code.co_filename).resolve()
    )
