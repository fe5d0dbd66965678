"""What an adapter is: the whole of it on one page.

An adapter is an object that an audit can name: ``module:attribute``, or an entry point of the group ``draftproof.adapters``
with that value. Either a function of the plain calling convention, or an object as below, whose random numbers are inputs.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

PLACEHOLDER = -1
"""A draft token that is none, and a place of an output that holds none."""


class Row(NamedTuple):
    """One request of a batch.

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
    origin: Mapping[str, Any]

    def __call__(self, target: Any, draft: Any, tokens: Any, random: Mapping[str, Any]) -> Sequence[int]:
        """The emitted tokens of one request."""
        ...


class BatchedAdapter(DrivenAdapter, Protocol):
    """One that takes many requests in one call of the engine. Rows that it gets may differ in gamma.

    batch: how many at most. placeholders, mixes_greedy: whether its rows may hold -1, and be greedy beside sampled ones.
    seeded: whether a row may have a generator of its own (``Row.seed``).
    """

    batch: int
    placeholders: bool
    mixes_greedy: bool
    seeded: bool

    def together(self, rows: Sequence[Row]) -> Sequence[Sequence[int]]:
        """The emitted tokens of each row, from one call."""
        ...
