"""Acceptance on recorded steps: as measured, and as every rule would have it on the same rows and drafted tokens."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from ....verifiers.conditional.form import joined
from ....verifiers.conditional.laws import StepLaw
from ....verifiers.conditional.rules import RULES, expected_accepted
from ....verifiers.conditional.steps import Steps
from ....verifiers.conditional.tree_rules import TREE_RULES
from ....verifiers.conditional.tree_steps import TreeSteps
from ....verifiers.trees.registry import TREE_REFERENCES

Array = np.ndarray

LEVEL = 0.95
"""Level of the intervals."""


class Accepted(NamedTuple):
    """What was accepted of S steps, all of them chains or all of them trees.

    request: [S]. drafted: [S], tokens of the longest path. accepted: [S]. expected: rule -> [S], E[tau]
    best: [S, G], Pr(tau >= i) under block verification, of chains
    """

    request: Array
    drafted: Array
    accepted: Array
    expected: dict[str, Array]
    best: Array

    @classmethod
    def joined(cls, parts: Sequence["Accepted"]) -> "Accepted":
        """Return several in one."""
        longest = max((part.best.shape[1] for part in parts), default=0)
        best = [np.pad(part.best, ((0, 0), (0, longest - part.best.shape[1]))) for part in parts]
        names = parts[0].expected if parts else ()
        three = [(part.request, part.drafted, part.accepted) for part in parts]
        request, drafted, accepted = (joined([one[i] for one in three], int) for i in range(3))
        expected = {name: joined([part.expected[name] for part in parts], float) for name in names}
        return cls(request, drafted, accepted, expected, np.concatenate([np.zeros((0, longest)), *best]))


def rules_on(tree: bool, siblings: str) -> dict[str, StepLaw]:
    """Return the rules whose acceptance is shown: of trees, those for siblings that are drawn so, and greedy."""
    if not tree:
        return RULES
    return {
        name: law for name, law in TREE_RULES.items()
        if name not in TREE_REFERENCES or siblings in TREE_REFERENCES[name].drafts
    }  # fmt: skip


def acceptance_of(steps: Steps, request: Array) -> Accepted:
    """Return what steps accepted, and what each rule would have."""
    every, tree = np.arange(steps.count), isinstance(steps, TreeSteps)
    expected = {}
    for name, law in rules_on(tree, steps.how if isinstance(steps, TreeSteps) else "").items():
        apart = isinstance(steps, TreeSteps) and law.longest and steps.other is not None
        expected[name] = expected_accepted(law, steps.other if apart else steps)  # pyright: ignore
    best = np.zeros((steps.count, 0)) if tree else RULES["block"].stops(steps)[:, ::-1].cumsum(1)[:, ::-1][:, 1:]
    longest = np.where(np.arange(steps.gamma + 1) <= steps.lengths[:, None], steps.depth, 0).max(1)
    return Accepted(request, longest, steps.depth[every, steps.emitted], expected, best)


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

    def add(self, more: Accepted) -> None:
        """Add steps."""
        request, drafted, accepted, expected, best = more
        if not len(request):
            return
        columns = np.stack([np.ones(len(request)), accepted, *(expected[name] for name in self.names)], axis=1)
        for number in np.unique(request):
            mine = columns[request == number].sum(0)
            self.sums[int(number)] = self.sums.get(int(number), 0.0) + mine
        longest = best.shape[1]
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
        quantile = float(stdtrit(clusters - 1, (1 + LEVEL) / 2)) if clusters > 1 else np.inf
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
