"""Samples on wide problems, counted in cells of tokens, far fewer than there are tokens."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from ....models.law import Prefix, prefix_key
from ....proofs.laws.wide_frontier import cut
from ....proofs.laws.wide_law import WideMeasurement
from ....proofs.rounding.rounding_allowed import MOST, look_up_at_most, wide_rounding_allowed
from ....stattests.arguments import BETA
from ....stattests.rounding import deviation
from ....verifiers.details import SamplesDetail
from ....verifiers.evidence import REFUTED, Evidence, Method, Witness
from ..completed_law import Counts, verdict_of_counts

EQUAL = 16
"""Cells of equal mass under the target into which the tokens after a prefix fall, in the order of their ids."""

Cell = Hashable


class WideCells:
    """A partition of what is emitted on a wide problem into cells, far fewer than there are tokens.

    A cell is a prefix that can be drafted and a set of tokens after it. The sets are each live token, 16 of equal mass
    under the target, and the tokens that the target excludes.

    law: its rows are those of the problem where it has none.
    """

    def __init__(self, law: WideMeasurement):
        self.law_on, self.problem = law.with_given_rows(), law.problem
        self.sets = {x: self._sets(x, row) for x, row in self.law_on.target.items()}

    def _sets(self, prefix: Prefix, row: np.ndarray) -> np.ndarray:
        """Return the number of each token's set: live tokens have their own, below 0."""
        sets = np.minimum((np.cumsum(row) * EQUAL).astype(int), EQUAL - 1)
        sets[row == 0] = EQUAL
        for k, token in enumerate(self.problem.drafted(prefix)):
            sets[token] = -1 - k
        return sets

    def _cell(self, sequence: Prefix) -> Cell:
        return (*sequence[:-1], "in", int(self.sets[sequence[:-1]][sequence[-1]]))

    def _summed(self, prefix: Prefix, masses: np.ndarray, law: dict[Cell, float]) -> None:
        sets = self.sets[prefix]
        for k in np.unique(sets):
            cell, mass = (*prefix, "in", int(k)), float(masses[sets == k].sum())
            law[cell] = law.get(cell, 0.0) + mass

    def law(self) -> dict[Cell, float]:
        """Return the measured law of what is emitted."""
        law: dict[Cell, float] = {}
        for prefix, masses in self.law_on.emitted.items():
            self._summed(prefix, masses, law)
        for outcome, mass in self.law_on.malformed.items():
            law[self._of(outcome)] = law.get(self._of(outcome), 0.0) + mass
        return {cell: mass for cell, mass in law.items() if mass > 0}

    def target(self) -> dict[Cell, float]:
        """Return the target's law, up to the first token that cannot be drafted."""
        law: dict[Cell, float] = {}
        for prefix, _, right in self.law_on.frontier():
            self._summed(prefix, right, law)
        return {cell: mass for cell, mass in law.items() if mass > 0}

    def _of(self, outcome: Any) -> Cell:
        """Return the cell of an outcome, which is cut where it leaves the prefixes that can be drafted."""
        sequence = cut(outcome, self.problem, self.law_on.target)
        return "malformed" if sequence is None else self._cell(sequence)

    def counted(self, counts: Counts) -> dict[Cell, int]:
        """Count what was emitted, in cells."""
        cells: Counter[Cell] = Counter()
        for outcome, n in counts.items():
            cells[self._of(outcome)] += n
        return dict(cells)

    def completed(self, counts: Counts, seed: int) -> dict[Cell, int]:
        """Count what was emitted, in cells, continued by the target to a token that cannot be drafted (Lemma 2)."""
        draw, cells = np.random.default_rng([seed, 1]), Counter()
        for outcome, n in counts.items():
            if not isinstance(outcome, tuple) or outcome not in self.sets:
                cells[self._of(outcome)] += n
                continue
            for _ in range(n):
                sequence = outcome
                while sequence in self.sets:
                    row = self.law_on.target[sequence]
                    sequence = (*sequence, int(np.searchsorted(np.cumsum(row), draw.random() * row.sum(), "right")))
                cells[self._cell(sequence)] += 1
        return dict(cells)

    def text(self, cell: Any) -> str:
        """Name a cell for a person."""
        if isinstance(cell, str):
            return cell
        *prefix, _, k = cell
        if k < 0:
            return prefix_key((*prefix, self.problem.drafted(tuple(prefix))[-1 - k]))
        tokens = np.flatnonzero(self.sets[tuple(prefix)] == k)
        return prefix_key((*prefix,)) + f" and one of {len(tokens)} tokens from {tokens[0]} to {tokens[-1]}"


def goodness(law: WideMeasurement, counts: Counts, alpha: float, seed: int) -> Evidence:
    """Compare one wide problem's counts, in cells, with the target's law. alpha, seed: as of ``samples.goodness``."""
    problem, dtype, cells = law.problem, law.dtype, WideCells(law)
    allowed = max(wide_rounding_allowed(problem.gamma, dtype, problem.vocabulary), law.rounding.get("theorem", 0.0))
    allowed += look_up_at_most(dtype, problem.vocabulary)
    slack = 0.0 if dtype == "float64" else min(allowed, MOST)
    completed = cells.completed(counts, seed)
    target, strange = cells.target(), {o for o in completed if isinstance(o, str)}
    expected = dict.fromkeys(completed, 0.0) | target
    found = deviation(completed, expected, slack, alpha, BETA, strange)
    verdict, witness = verdict_of_counts(found, slack), None
    if verdict == REFUTED:
        n = sum(completed.values())
        worst = max(
            expected, key=lambda o: abs(completed.get(o, 0) - n * expected[o]) / max(n * expected[o], 1.0) ** 0.5
        )
        witness = Witness(
            sequence=cells.text(worst), expected=f"{expected[worst]:.6g}", observed=f"{completed.get(worst, 0)}/{n}",
            problem=problem.as_json(),
        )  # fmt: skip
    detail = SamplesDetail(
        samples=sum(counts.values()), cells=len(target), p_value=found.p_value, dtype=dtype, false_alarm_rate=alpha,
        miss_rate=BETA, why_not_exact=law.reason, rounding_allowed=slack, **cells.law_on.size,
        out_of_scope=law.out_of_scope or None,
        limit_speaks_of="deviations between cells of tokens; those inside a cell remain unseen",
    )  # fmt: skip
    return Evidence(
        claim="lossless", method=Method.CHI_SQUARE, verdict=verdict, problem=problem.name, bound=found.limit,
        witness=witness, detail=detail,
    )  # fmt: skip
