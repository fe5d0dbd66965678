"""What one call of a function came to, and its form in the JSON between the child process and its parent."""

from collections.abc import Hashable
from typing import Any, NamedTuple

from ...models.errors import printable


class Raised(NamedTuple):
    """A call that raised.

    error: name of the exception's class.
    message: its message, in one line.
    """

    error: str
    message: str

    def __str__(self) -> str:
        return f"{self.error}: {self.message}"


def readable(error: BaseException) -> str:
    """The message of an exception in one line of printable text."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "(its message cannot be printed)"
    return printable(text)[:160]


Outcome = tuple[int, ...] | Raised


def kind_of(outcome: Outcome) -> Hashable:
    """The outcome; of an exception its class alone, whose message may tell anything."""
    return outcome.error if isinstance(outcome, Raised) else outcome


class Walk(NamedTuple):
    """A call with plain numbers in place of followed ones.

    points: of each random number, in its source.
    drawn: the indices drawn by whole weights.
    outcome: what came of it.
    weights: those that the indices were drawn by.
    numbers: the random numbers, then the indices.
    """

    points: list[int]
    drawn: list[int]
    outcome: Outcome
    weights: list[list[str]]
    numbers: list[float]

    @property
    def shown(self) -> tuple[Hashable, list[list[str]]]:
        """What code that keeps no state shows whenever it is called so."""
        return kind_of(self.outcome), self.weights

    def encoded(self) -> dict[str, Any]:
        """As JSON."""
        return self._asdict() | {"outcome": encoded(self.outcome)}


def encoded(outcome: Outcome) -> list[int] | dict[str, str]:
    """An outcome as JSON: its tokens, or what was raised."""
    return outcome._asdict() if isinstance(outcome, Raised) else list(outcome)


def decoded(data: Any) -> tuple[int, ...] | str:
    """The outcome that ``encoded`` gave: a tuple of tokens, or the text "Error: message"."""
    return tuple(data) if isinstance(data, list) else str(Raised(**data))


def decoded_walk(data: dict[str, Any]) -> Walk:
    """The walk that ``Walk.encoded`` gave."""
    outcome = data["outcome"]
    came = tuple(outcome) if isinstance(outcome, list) else Raised(**outcome)
    return Walk(data["points"], data["drawn"], came, data["weights"], data["numbers"])
