"""Language models on a small vocabulary, given exactly."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from .errors import InputError

Prefix = tuple[int, ...]


def prefix_key(prefix: Prefix) -> str:
    """Return the key of a prefix in a problem file: tokens joined by commas."""
    return ",".join(map(str, prefix))


def prefix_of_key(key: str) -> Prefix:
    """Return the inverse of ``prefix_key``. Raises: ValueError."""
    return tuple(map(int, key.split(","))) if key else ()


class Model(Protocol):
    """A model. row(prefix): M(. | prefix), V numbers. state(prefix): equal for prefixes with the same future."""

    def row(self, prefix: Prefix) -> Sequence[Any]: ...

    def state(self, prefix: Prefix) -> Any: ...


class ContextFree(NamedTuple):
    """A model with the same row after every prefix."""

    probabilities: tuple

    def row(self, prefix: Prefix) -> Sequence[Any]:
        return self.probabilities

    def state(self, prefix: Prefix) -> Any:
        return ()


class Markov(NamedTuple):
    """An order-1 Markov model: ``start`` first, then ``after[token]``."""

    start: tuple
    after: tuple

    def row(self, prefix: Prefix) -> Sequence[Any]:
        return self.after[prefix[-1]] if prefix else self.start

    def state(self, prefix: Prefix) -> Any:
        return prefix[-1:]


class Table(NamedTuple):
    """A model with one row for each prefix."""

    rows: Mapping[Prefix, tuple]
    name: str = "model"

    def row(self, prefix: Prefix) -> Sequence[Any]:
        try:
            return self.rows[prefix]
        except KeyError:
            has = f"the table has prefixes up to length {max(map(len, self.rows), default=0)}"
            question = f'{self.name}: no row for the prefix "{prefix_key(prefix)}"'
            raise InputError(f"{question}; {has}, and this question needs a longer one") from None

    def state(self, prefix: Prefix) -> Any:
        return prefix


class Shifted(NamedTuple):
    """A model seen from behind a context: row(prefix) = model.row(context + prefix)."""

    model: Model
    context: Prefix

    def row(self, prefix: Prefix) -> Sequence[Any]:
        return self.model.row(self.context + prefix)

    def state(self, prefix: Prefix) -> Any:
        return self.model.state(self.context + prefix)
