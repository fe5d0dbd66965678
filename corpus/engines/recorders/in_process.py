"""What recorders in an engine's process share: how they are asked for, and that they never raise into the engine."""

import atexit
import logging
import os
from collections.abc import Callable
from typing import Any
from zlib import crc32

from draftproof.recording import Recorder

FOLDER, ONE_OF = "DRAFTPROOF_STEPS", "DRAFTPROOF_ONE_OF"
"""Variables of the environment: the folder of a recording, without which nothing is recorded; one step in so many."""


def install_if_asked(install: Callable[[str, int], object], steps: str) -> None:
    """Install a recorder if FOLDER names a folder. Never raises into the engine. steps: whose, for a warning."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    try:
        install(folder, int(os.environ.get(ONE_OF, "20")))
    except Exception as error:
        warn(steps, error)


def warn(steps: str, error: Exception) -> None:
    """Say once more that something is not recorded. steps: whose."""
    logging.getLogger("draftproof").warning("draftproof: %s are not recorded: %s", steps, error)


def note_failure(recorder: Recorder | None, steps: str, error: Exception) -> None:
    """Count what could not be recorded; without a recorder yet, say so. steps: whose."""
    if recorder is None:
        warn(steps, error)
    else:
        recorder.count_failure(error)


def recorder_of_process(folder: str, vocabulary: int, **about: Any) -> Recorder:
    """Return a recorder that is closed when the process ends. about: of ``Recorder``."""
    recorder = Recorder(folder, vocabulary, dtype="float32", seed=os.getpid(), **about)
    atexit.register(recorder.close)
    return recorder


def request_number(name: object) -> int:
    """Return a request's number from the name that the engine gives it."""
    return crc32(str(name).encode())
