"""What an adapter is: the whole of it on one page.

An adapter is an object that an audit can name: ``module:attribute``, or an entry point of the group
``draftproof.adapters`` with that value. Either a function of the plain calling convention, or an object as below, whose
random numbers are inputs.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

PLACEHOLDER = -1
"""A draft token that is none, and a place of an output that holds none."""


class Row(NamedTuple):
    """A request of a batch.

    target, draft, tokens: [gamma + 1, V], [gamma, V], [gamma]; a token -1 is a placeholder, never accepted.
    random: its random numbers by name, as declared. greedy: whether temperature is 0: argmax and nothing random.
    parents: of a draft tree's nodes, of a subject with ``parents = True``; None else.
    seed: of a generator of its own, whose numbers take the place of ``random``; None if it has none.
    """

    target: Any
    draft: Any
    tokens: Any
    random: Mapping[str, Any]
    greedy: bool = False
    parents: Any = None
    seed: int | None = None


class DrivenAdapter(Protocol):
    """An engine's verifier whose random numbers are inputs.

    random: the numbers that a request takes: name, kind, shape, bits (as in the first line of a program, see README).
    array: what its rows are: numpy, list or torch.
    origin: what of the engine is behind it and how it was edited, for the report.
    """

    random: Sequence[Mapping[str, Any]]
    array: str
    origin: Mapping[str, Any] = {}

    def __call__(self, target: Any, draft: Any, tokens: Any, random: Mapping[str, Any]) -> Sequence[int]:
        """Return the emitted tokens of one request."""
        ...


class DecoderProcesses(Protocol):
    """An engine that writes texts in processes of its own, from random numbers that it is handed.

    A driver is a module with ``processes()``, which returns one; ``engines.json`` of a catalogue names it.
    about: what the engine said of itself.
    """

    about: Mapping[str, Any]

    def sources(self) -> Sequence[str]:
        """Return the files of the engine that its verdict depends on."""
        ...

    def answer(
        self, target: Path, draft: Path | None, start: int, tokens: int, gamma: int, settings: Mapping[str, Any],
        seconds: float,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the law of the texts after the prompt [start], in JSON form, or the error."""
        ...

    def end(self) -> None:
        """End the processes."""
        ...


class BatchedAdapter:
    """A ``DrivenAdapter`` that takes many requests in one call of the engine; rows that it gets may differ in gamma.

    An adapter derives from it, or has what it has.
    batch: how many at most. placeholders, mixes_greedy: whether rows may hold -1, and be greedy next to sampled ones.
    seeded: whether a row may have a generator of its own (``Row.seed``).
    """

    random: Sequence[Mapping[str, Any]]
    array: str
    origin: Mapping[str, Any] = {}
    batch: int
    placeholders: bool = False
    mixes_greedy: bool = False
    seeded: bool = False

    def together(self, rows: Sequence[Row]) -> Sequence[Sequence[int]]:
        """Return the emitted tokens of each row, from one call."""
        raise NotImplementedError

    def __call__(self, target: Any, draft: Any, tokens: Any, random: Mapping[str, Any]) -> Sequence[int]:
        """Return the emitted tokens of a batch of one."""
        return self.together([Row(target, draft, tokens, random)])[0]


def by_length(rows: Sequence[Row], run: Callable[[Sequence[Row]], Sequence[Sequence[int]]]) -> list[Sequence[int]]:
    """Return what ``run`` answers to the rows of each length together, in the order of the rows."""
    emitted: list[Sequence[int]] = [()] * len(rows)
    for length in dict.fromkeys(len(row.tokens) for row in rows):
        places = [k for k, row in enumerate(rows) if len(row.tokens) == length]
        for k, tokens in zip(places, run([rows[k] for k in places]), strict=True):
            emitted[k] = tokens
    return emitted
