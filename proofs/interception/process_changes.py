"""What calls change in the process that they run in, and leave changed."""

import os
import sys
import threading

FEWEST_THREADS = 5
"""More threads than before from which on they are said: libraries keep a few."""

FILES = {1: "its standard output", 2: "its standard error"}


class ProcessBefore:
    """The process as it was when this was made."""

    def __init__(self) -> None:
        self._depth, self._threads = sys.getrecursionlimit(), threading.active_count()
        self._output = {name: getattr(sys, name, None) for name in ("stdout", "stderr")}
        self._files = {file: _identity(file) for file in FILES}
        self._modules = [*sys.modules]

    def changes(self) -> list[str]:
        """What is another by now, in words."""
        changed = []
        if (depth := sys.getrecursionlimit()) != self._depth:
            changed.append(f"the recursion limit is {depth}, it was {self._depth}")
        changed += [f"sys.{n} is another" for n, o in self._output.items() if getattr(sys, n, None) is not o]
        changed += [f"{FILES[f]} is another file, or closed" for f, i in self._files.items() if _identity(f) != i]
        changed += [f"the module {name} is forgotten" for name in self._modules if name not in sys.modules]
        if (more := threading.active_count() - self._threads) >= FEWEST_THREADS:
            changed.append(f"{more:,} more threads run")
        return changed


def _identity(file: int) -> tuple[int, int] | None:
    """Which file a descriptor stands for; None for a closed one."""
    try:
        about = os.fstat(file)
    except OSError:
        return None
    return about.st_dev, about.st_ino
