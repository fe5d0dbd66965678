"""The outcome of one call of a function, and its form in the JSON between the child process and its parent."""

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
    """Return the message of an exception in one line of printable text."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "(its message cannot be printed)"
    return printable(text)[:160]


Outcome = tuple[int, ...] | Raised


def kind_of(outcome: Outcome) -> Hashable:
    """Return the outcome, or the class of an exception, whose message may say anything."""
    return outcome.error if isinstance(outcome, Raised) else outcome


class Walk(NamedTuple):
    """A call with plain numbers in place of traced ones.

    points: the point of each random number in its source.
    drawn: the indices drawn by whole weights.
    outcome: its outcome.
    weights: the weights that the indices were drawn by.
    numbers: the random numbers, then the indices.
    """

    points: list[int]
    drawn: list[int]
    outcome: Outcome
    weights: list[list[str]]
    numbers: list[float]

    @property
    def shown(self) -> tuple[Hashable, list[list[str]]]:
        """Return what code without state shows whenever it is called so."""
        return kind_of(self.outcome), self.weights

    def encoded(self) -> dict[str, Any]:
        """Return it as JSON."""
        return self._asdict() | {"outcome": encoded(self.outcome)}


def encoded(outcome: Outcome) -> list[int] | dict[str, str]:
    """Return an outcome as JSON: its tokens, or what was raised."""
    return outcome._asdict() if isinstance(outcome, Raised) else list(outcome)


def decoded(data: Any) -> tuple[int, ...] | str:
    """Return the outcome that ``encoded`` gave: a tuple of tokens, or the text "Error: message"."""
    return tuple(data) if isinstance(data, list) else str(Raised(**data))


def decoded_walk(data: dict[str, Any]) -> Walk:
    """Return the call that ``Walk.encoded`` gave."""
    outcome = data["outcome"]
    came = tuple(outcome) if isinstance(outcome, list) else Raised(**outcome)
    return Walk(data["points"], data["drawn"], came, data["weights"], data["numbers"])
