"""The file from which a killed campaign goes on, refused unless it is of the same campaign."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...models.errors import InputError
from ...models.store import Store
from .tally import Outcomes, Tally, tally_from


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

    parameters: all that the counts depend on; a file with others is refused.
    Raises: InputError for a file that cannot be used, which is left as it is.
    """

    def __init__(self, file: str | None, parameters: Mapping[str, Any]):
        self._store = Store(file, "a sampling campaign", parameters, older=('{"format": "draftproof campaign"',))

    def load(self, outcomes: Outcomes) -> tuple[FinishedChunks, Tally]:
        """The chunks done and their counts; nothing done if the file is new. Raises: InputError for other counts."""
        if () not in self._store.rows:
            return FinishedChunks(), Tally(outcomes)
        state = self._store.rows[()]
        try:
            return FinishedChunks(state["below"], frozenset(state["ahead"])), tally_from(state["tally"], outcomes)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{self._store.path}: has no counts of this campaign; it was left as it is") from None

    def save(self, done: FinishedChunks, tally: Tally) -> None:
        """Replace the state; whatever happens meanwhile, the old one or the new one is there.

        Raises: InputError if it cannot be written.
        """
        self._store.put((), {"below": done.below, "ahead": sorted(done.ahead), "tally": tally.as_json()})

    def close(self) -> None:
        self._store.close()
