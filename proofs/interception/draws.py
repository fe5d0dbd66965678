"""The kinds of draws that the hooks ask a tracer for: on small problems each number and weight for itself, on wide
ones rows."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

LookUp = tuple[float, str] | None
"""Bits of a uniform that is looked up in a running sum, and the type of that sum, "" where it is not known."""


class Draws(Protocol):
    """What a tracer answers to hooks, which do not know on which kind of problem they are.

    whole_from: entries of a row from which on a comparison of one random number with all of them is one look-up.
    """

    whole_from: float

    def hand_out(self, source: Any, traced: Any) -> Any:
        """One uniform, whole number or noise: ``traced``, or in a rehearsal the plain number of its source."""
        ...

    def choose(self, probabilities: Sequence[Any]) -> int:
        """An index by exact probabilities, few of them: coins, whole numbers of few values."""
        ...

    def draw_row(self, weights: Any, look_up: LookUp = None) -> int:
        """An index by whole weights, one for each of many entries; or a function that makes them."""
        ...

    def noise(self, shape: tuple[int, ...], kind: str, dtype: Any, step: float = 0.0) -> Any:
        """Exponential or uniform noise that is raced as a whole row; None where each number is followed for itself.

        step: of the generator, where it is coarser than in double precision.
        """
        ...

    def look_up(self, number: Any, passed: Callable[[Any], Any], cuts: Callable[[], Any]) -> int | None:
        """How many cuts of a row a uniform has passed, decided at once; None where it is compared cut by cut.

        passed(x): for numbers [n] at points of the uniform, whether cut k is passed by number k. cuts: the row [n].
        """
        ...

    def scanned(self, number: Any, cut: Any, name: str) -> bool | None:
        """What a comparison in a loop over cuts comes to; None where it is decided for itself."""
        ...
