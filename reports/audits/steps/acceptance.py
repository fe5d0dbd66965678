"""Acceptance on recorded steps: as measured, and as every rule would have it on the same rows and drafted tokens."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

Array = np.ndarray

LEVEL = 0.95
"""Level of the intervals."""


class Interval(NamedTuple):
    """A mean with its interval of 95 %, steps of one request taken together.

    Source: cluster-robust standard error (Liang and Zeger 1986), with Student's t of one degree less than requests.
    """

    mean: float
    low: float
    high: float


class Acceptance:
    """Sums over requests from which means and intervals are made. A request is a cluster of steps."""

    def __init__(self, names: tuple[str, ...]):
        self.names = names
        self.sums: dict[int, Array] = {}
        self.by_place = np.zeros((0, 3))
        """Drafted and accepted tokens at each place, and the accepted ones that block verification would have."""

    def add(
        self, request: Array, drafted: Array, accepted: Array, expected: Mapping[str, Array], best: Array
    ) -> None:  # fmt: skip
        """Add steps: of each its request, its drafted and accepted tokens, and E[tau] under each rule.

        best: [S, G], Pr(tau >= i) under block verification, i = 1..G.
        """
        if not len(request):
            return
        columns = np.stack([np.ones(len(request)), accepted, *(expected[name] for name in self.names)], axis=1)
        for number in np.unique(request):
            mine = columns[request == number].sum(0)
            self.sums[int(number)] = self.sums.get(int(number), 0.0) + mine
        longest = int(drafted.max(initial=0))
        if longest > len(self.by_place):
            self.by_place = np.pad(self.by_place, ((0, longest - len(self.by_place)), (0, 0)))
        for place in range(longest):
            self.by_place[place] += ((drafted > place).sum(), (accepted > place).sum(), best[:, place].sum())

    def as_json(self) -> dict[str, Any]:
        sums = [[number, row.tolist()] for number, row in self.sums.items()]
        return {"sums": sums, "by_place": self.by_place.tolist()}

    def resume(self, kept: Mapping[str, Any]) -> None:
        self.sums = {number: np.array(row) for number, row in kept["sums"]}
        self.by_place = np.array(kept["by_place"], dtype=float).reshape(-1, 3)

    @property
    def steps(self) -> int:
        return int(sum(row[0] for row in self.sums.values()))

    def _of(self, weights: Array) -> Interval:
        """Return the mean a step of a weighted sum of the columns."""
        rows = np.array(list(self.sums.values()))
        count, values = rows[:, 0], rows @ weights
        mean = values.sum() / count.sum()
        clusters = len(rows)
        errors = ((values - mean * count) ** 2).sum() * clusters / max(clusters - 1, 1)
        quantile = float(t.ppf((1 + LEVEL) / 2, clusters - 1)) if clusters > 1 else np.inf
        half = quantile * errors**0.5 / count.sum() if clusters > 1 else np.inf
        return Interval(float(mean), float(mean - half), float(mean + half))

    def measured(self) -> Interval:
        """Return the accepted tokens a step."""
        return self._of(np.eye(2 + len(self.names))[1])

    def expected(self, name: str) -> Interval:
        """Return E[tau] a step of a rule on the recorded rows."""
        return self._of(np.eye(2 + len(self.names))[2 + self.names.index(name)])

    def gain(self, name: str, over: str | None) -> Interval:
        """Return how many more tokens a step a rule is expected to accept than another, or than were measured."""
        unit = np.eye(2 + len(self.names))
        base = unit[1] if over is None else unit[2 + self.names.index(over)]
        return self._of(unit[2 + self.names.index(name)] - base)
