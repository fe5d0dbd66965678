"""Where third-party code is: the line that a finding names, and the instructions by which loops are known."""

import os
import sys
from types import FrameType

NOT_THE_SUBJECT = {"numpy", "torch", "random", "bisect"}
"""Packages whose frames are passed over in the search for the line of the audited code."""

STANDARD = os.path.dirname(os.__file__) + os.sep
INSTALLED = tuple(os.path.join(STANDARD, folder, "") for folder in ("site-packages", "dist-packages"))
"""Folders of the standard library, and in it of what was installed: that may be the audited code."""


def _ours(name: str) -> bool:
    """Whether a module is one whose numbers are followed, or follows them."""
    return name.partition(".")[0] in NOT_THE_SUBJECT or name.startswith("draftproof.proofs.interception")


def _standard(frame: FrameType) -> bool:
    """Whether a frame is in the standard library, or in no file."""
    file = frame.f_code.co_filename
    return file.startswith("<frozen") or (file.startswith(STANDARD) and not file.startswith(INSTALLED))


def site() -> tuple[str, int, int]:
    """The file, line and instruction of third-party code that is asking."""
    frame = sys._getframe(1)
    while frame is not None:
        if not _ours(frame.f_globals.get("__name__", "")) and not _standard(frame):
            return frame.f_code.co_filename.rsplit("/", 1)[-1], frame.f_lineno, frame.f_lasti
        frame = frame.f_back
    return "unknown place", 0, 0


def place_in_frames() -> tuple:
    """Where third-party code is: the instruction of each of its frames, innermost first."""
    places, frame = [], sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not _ours(name):
            if name.startswith("draftproof.proofs."):
                break
            places.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(places)


def place() -> str:
    """The file and line of third-party code that is asking, for messages."""
    return "{}:{}".format(*site())
