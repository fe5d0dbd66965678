"""The file from which a killed campaign goes on: written whole or not at all, refused unless it is right."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...models.errors import InputError
from ...models.files import write_atomically
from .tally import Outcomes, Tally, tally_from

CHECKPOINT_FORMAT, CHECKPOINT_VERSION = "draftproof campaign", 1


class FinishedChunks(NamedTuple):
    """Which chunks are done: all below a number, and a few that ran ahead, as they are handed out in order."""

    below: int = 0
    ahead: frozenset[int] = frozenset()

    def with_chunk(self, chunk: int) -> "FinishedChunks":
        below, ahead = self.below, self.ahead | {chunk}
        while below in ahead:
            ahead -= {below}
            below += 1
        return FinishedChunks(below, ahead)


class Checkpoint:
    """The state of a campaign in a file, or nowhere if no file is given.

    file: its path, or None
    parameters: all that the counts depend on; a file with others is refused
    """

    def __init__(self, file: str | None, parameters: Mapping[str, Any]):
        self.path = Path(file).resolve() if file else None
        self.parameters = dict(parameters)

    def load(self, outcomes: Outcomes) -> tuple[FinishedChunks, Tally]:
        """The chunks done and their counts; nothing done if there is no file yet, or an empty one.

        Raises: InputError if the file is something else, cut short, changed, of a newer version, or of another
        campaign. It is left as it is.
        """
        try:
            text = self.path.read_text(encoding="utf-8") if self.path else ""
        except FileNotFoundError:
            text = ""
        except (OSError, UnicodeDecodeError) as error:
            raise self._refused(f"cannot be read ({getattr(error, 'strerror', None) or 'not a text file'})") from None
        if not text:
            return FinishedChunks(), Tally(outcomes)
        try:
            data = json.loads(text)
            if data["format"] != CHECKPOINT_FORMAT:
                raise ValueError
            version = data["version"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._refused("is cut short, or not a checkpoint of a campaign") from None
        if version != CHECKPOINT_VERSION:
            raise self._refused(f"has version {version}; this draftproof reads version {CHECKPOINT_VERSION}")
        try:
            state = data["state"]
            if data["sha256"] != _digest(state):
                raise self._refused("was damaged: its contents do not match its checksum")
            theirs = state["parameters"]
            for name, value in self.parameters.items():
                if theirs.get(name) != value:
                    raise self._refused(f"belongs to another campaign: its {name} is {theirs.get(name)}, here {value}")
            done = FinishedChunks(state["below"], frozenset(state["ahead"]))
            return done, tally_from(state["tally"], outcomes)
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._refused("is not a checkpoint of a campaign") from None

    def save(self, done: FinishedChunks, tally: Tally) -> None:
        """Replace the file by one with this state; whatever happens meanwhile, the old one or the new one is there.

        Raises: InputError if it cannot be written.
        """
        if self.path is None:
            return
        state = {
            "parameters": self.parameters,
            "below": done.below,
            "ahead": sorted(done.ahead),
            "tally": tally.as_json(),
        }
        data = {"format": CHECKPOINT_FORMAT, "version": CHECKPOINT_VERSION, "sha256": _digest(state), "state": state}
        try:
            write_atomically(self.path, json.dumps(data))
        except OSError as error:
            raise InputError(f"{self.path}: the checkpoint cannot be written ({error.strerror})") from None

    def _refused(self, why: str) -> InputError:
        return InputError(f"{self.path}: the checkpoint {why}; it was left as it is")


def _digest(state: Any) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
