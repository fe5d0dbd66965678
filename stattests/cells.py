"""Counts and laws from callers: checked, and pooled into cells of enough expected counts."""

from collections.abc import Hashable, Mapping, Sequence
from math import fsum, isfinite, nan
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ..models.errors import InputError

MIN_EXPECTED = 5.0
"""Expected count below which cells are pooled."""

Law = Mapping[Any, float] | Sequence[float] | np.ndarray
"""Outcome -> probability, or a row of probabilities whose outcomes are 0, 1, ..., V - 1."""

Counts = Mapping[Any, int] | Sequence[int] | np.ndarray
"""Outcome -> times seen, or a row of counts whose outcomes are 0, 1, ..., V - 1."""


class Cells(NamedTuple):
    """A table of counts by cell. observed, expected: [k]. outcomes: [k], what was pooled into each."""

    observed: np.ndarray
    expected: np.ndarray
    outcomes: tuple[tuple[Hashable, ...], ...]

    @property
    def hidden(self) -> float:
        """Return the law's mass in cells of several outcomes: the total variation of what pooling hides is at most
        that.

        Within a cell C it is at most min(p(C), p'(C)).
        """
        several = [len(cell) > 1 for cell in self.outcomes]
        return float(self.expected[several].sum() / self.expected.sum())


def checked_law(law: Law, where: str = "the distribution") -> dict[Hashable, float]:
    """Return a law as floats that add up to 1.

    Raises: InputError for a negative, broken or missing probability and a sum that is not 1.
    """
    row: dict[Hashable, float] = {}
    for outcome, p in _by_outcome(law, where).items():
        try:
            row[outcome] = float(p)
        except (TypeError, ValueError):
            row[outcome] = nan
        if not (isfinite(row[outcome]) and row[outcome] >= 0):
            raise InputError(f"{where}: the probability of {outcome!r} is {p!r}, expected a number of 0 or more")
    total = fsum(row.values())
    if abs(total - 1) > 1e-9:
        raise InputError(f"{where} sums to {total:.9g}, expected 1")
    return {outcome: p / total for outcome, p in row.items()}


def checked_counts(
    counts: Counts, law: Mapping[Hashable, float] | None = None, where: str = "counts"
) -> dict[Hashable, int]:
    """Return counts as whole numbers of outcomes that the law can speak of.

    An outcome that the law does not list has probability 0 if it is of a kind that the law lists (a token, a
    sequence of that length); one of another kind is a mistake of the caller, not evidence.
    Raises: InputError for counts of another kind or shape, negative or broken counts, and no counts at all.
    """
    row = _by_outcome(counts, where)
    for outcome, n in row.items():
        if isinstance(n, bool) or not (isinstance(n, Integral) or (isinstance(n, Real) and float(n).is_integer())):
            raise InputError(f"{where}: {outcome!r} was seen {n!r} times, expected a whole number")
        if n < 0:
            raise InputError(f"{where}: {outcome!r} was seen {n!r} times, expected 0 or more")
    if not any(row.values()):
        raise InputError(f"{where}: no samples were counted (n = 0)")
    if law is not None:
        kinds = {_kind(outcome) for outcome in law}
        if not isinstance(counts, Mapping) and len(row) != len(law):
            raise InputError(f"{where}: {len(row)} counts, expected {len(law)} as in the distribution")
        for outcome in row:
            if _kind(outcome) not in kinds:
                known = " or ".join(sorted(kinds))
                raise InputError(f"{where}: {outcome!r} is {_kind(outcome)}, expected {known} as in the distribution")
    return {outcome: int(n) for outcome, n in row.items()}


def impossible(counts: Mapping[Hashable, int], law: Mapping[Hashable, float]) -> tuple[Hashable, int] | None:
    """Return the outcome of probability 0 that was seen most often, with its count: a certain refutation."""
    seen = ((outcome, times) for outcome, times in counts.items() if times and not law.get(outcome, 0))
    return max(seen, key=lambda each: each[1], default=None)


def pooled(counts: Mapping[Hashable, int], law: Mapping[Hashable, float], min_expected: float = MIN_EXPECTED) -> Cells:
    """Return cells of an expected count of at least ``min_expected``, outcomes rarer than that pooled, the rarest
    first.

    An outcome that expects ``min_expected`` or more is a cell of its own: what moves between it and rare ones is
    visible. Rare outcomes left over join the pool before; where there is none they are a cell below ``min_expected``.
    Which outcomes go together depends on the law and on n, never on the counts: not on the order either in which
    the law lists outcomes of one probability, which may be the order in which they were seen.
    """
    n = sum(counts.values())
    rare, single = list[list[Hashable]](), list[list[Hashable]]()
    expected = min_expected
    for outcome in sorted((o for o in law if law[o] > 0), key=lambda o: (law[o], repr(o))):
        if n * law[outcome] >= min_expected:
            single.append([outcome])
            continue
        if expected >= min_expected:
            rare.append([])
            expected = 0.0
        rare[-1].append(outcome)
        expected += n * law[outcome]
    if expected < min_expected and len(rare) > 1:
        rare[-2:] = [rare[-2] + rare[-1]]
    outcomes = rare + single
    observed = np.array([sum(counts.get(o, 0) for o in cell) for cell in outcomes])
    return Cells(observed, np.array([sum(n * law[o] for o in cell) for cell in outcomes]), tuple(map(tuple, outcomes)))


def _by_outcome(row: Any, where: str) -> dict[Hashable, Any]:
    if isinstance(row, Mapping):
        return dict(row)
    shape = np.shape(row)
    if len(shape) != 1:
        raise InputError(f"{where}: got the shape {shape}, expected one axis or a mapping of outcomes")
    return dict(enumerate(np.asarray(row).tolist()))


def _kind(outcome: Hashable) -> str:
    if isinstance(outcome, tuple):
        return f"a sequence of {len(outcome)} tokens"
    return "a token" if isinstance(outcome, Integral) else f"of type {type(outcome).__name__}"
