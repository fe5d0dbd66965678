"""What one call of a function came to, and its form in the JSON between the child process and its parent."""

from typing import Any, NamedTuple


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
    return "".join(c if c.isprintable() else "?" for c in text.encode("utf-8", "replace").decode())[:160]


Outcome = tuple[int, ...] | Raised


def encoded(outcome: Outcome) -> list[int] | dict[str, str]:
    """An outcome as JSON: its tokens, or what was raised."""
    return outcome._asdict() if isinstance(outcome, Raised) else list(outcome)


def decoded(data: Any) -> tuple[int, ...] | str:
    """The outcome that ``encoded`` gave: a tuple of tokens, or the text "Error: message"."""
    return tuple(data) if isinstance(data, list) else str(Raised(**data))
