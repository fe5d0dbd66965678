"""How far floating point can move the law on a wide problem: the bounds of ``token_and_block`` in floats."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ...models.law import Prefix
from .token_and_block import IN_ORDER, SURE, ExactRows, RoundingStep, block_cost, growth, sum_depth, token_cost

if TYPE_CHECKING:
    from numpy import ndarray

Rows = Mapping[Prefix, "ndarray"]


def wide_bound(target: Rows, draft: Rows, epsilon: float, lattice: float, off: float, order: str = IN_ORDER) -> float:
    """Return the total variation by which rounding can move block or token verification's law, whichever is more.

    ``token_and_block.problem_bound`` and ``token_bound`` in floats; the last token is drawn by its weights.
    target, draft: prefix that can be drafted -> row, [V]. order: of sums over the vocabulary.
    Source: ProblemRounding.v, ``problem_rounding``; TreeRounding.v, ``token_rounding``.
    """
    given = WideRowsOfProblem(target, draft, order), epsilon / 2, lattice, off
    return max(block_cost(*given), token_cost(*given)) * (1 + SURE)


def running_sum_cost(masses: "ndarray", had: "ndarray", unit: float, lattice: float, anywhere: bool = False) -> float:
    """Return the total variation that a look-up in a computed running sum adds on a row, from whichever end it runs.

    A + min(sum_k u T_k + n / (2 N), sum_k min(2 w_k / (1 - A), u (T_{k-1} + T_k) + 1 / N)),
    A = sum_k min(w_k, u g S_k), T_k = min(g S_k / (1 - A), 1), S_k the sum up to entry k,
    g = (1 + u)^(n-1), by which computed sums are more.
    masses: the row, in the order of the sum, exact or as it was drawn; those left out count with every sum.
    had: w, what an entry can have had.
    anywhere: sums in any order, S_k = 1.
    Source: Rounding.v, ``running_sum_near`` and ``running_sum_tails``, with ``T_le`` and ``shares_near``.
    """
    import numpy as np

    if not (there := had > 0).all():
        masses, had = masses[there], had[there]
    if not len(had):
        return 0.0

    def from_one_end(masses: "ndarray", had: "ndarray") -> float:
        _, lost, thresholds = _of_sums(masses, had, unit, anywhere)
        dense = float(thresholds.sum()) + len(had) * lattice / 2
        before = np.concatenate([thresholds[:1], thresholds[:-1]])
        if lost >= 1:
            return lost + dense
        before += thresholds
        before += lattice
        tails = 2 * had
        tails /= 1 - lost
        return lost + min(dense, float(np.minimum(tails, before, out=tails).sum()))

    return min(max(from_one_end(masses, had), from_one_end(masses[::-1], had[::-1])) * (1 + SURE), 1.0)


SMALL_REST = 1e-9
"""Rest of a row that any entry outside of what a sum distinguishes may take: float64's, which excuses no lost id."""


def running_sum_entries(masses: "ndarray", had: "ndarray", unit: float, lattice: float) -> "ndarray":
    """Return the most by which a look-up in a computed running sum, in any order, moves each entry of a row.

    min(w, u g) + A min(2 w / (1 - A), 1) + 2 u + 1 / N, A and g as in ``running_sum_cost``. One entry takes the rest of
    a row that was divided by another sum, A more: the first or the last, or the first or the last that is not 0. If A
    is at most SMALL_REST any entry outside of those may: code knows its last entry by its own row, in which there may
    be one that is lost in the sum. A larger A at every entry would excuse ids that are lost.
    Source: Rounding.v: what ``shares_near`` adds up, ``T_step``, ``between_near``, ``looked_up_each``.
    """
    import numpy as np

    grown = 1 + growth(unit, len(had) - 1)
    positive = had.nonzero()[0]  # few, where a row has been looked up in parts
    had = had[positive]
    off = np.minimum(had, unit * grown)
    lost = float(off.sum())
    threshold = unit * min(grown / (1 - lost), 1.0) if lost < 1 else unit
    moved = np.full(len(masses), 2 * threshold + lattice + (lost if lost >= 1 else 0.0))
    moved[positive] += off + lost * (2 * had / (1 - lost)).clip(max=1.0) if lost < 1 else off
    if len(there := masses.nonzero()[0]):
        if lost <= SMALL_REST:
            moved[: there[0] + 1] += lost
            moved[there[-1] + (there[0] == there[-1]) :] += lost
        else:
            moved[[*{0, int(there[0]), int(there[-1]), len(moved) - 1}]] += lost
    return moved


def _of_sums(masses: "ndarray", had: "ndarray", unit: float, anywhere: bool) -> "tuple[ndarray, float, ndarray]":
    """Return what each addition loses, all of them, and each threshold. Source: ``sum_off``, ``threshold_off``."""
    import numpy as np

    grown = 1 + growth(unit, len(had) - 1)
    if anywhere:
        reach = np.full(len(masses), grown)
    else:
        reach = masses.cumsum()
        reach += 1 - reach[-1]
        np.minimum(reach, 1.0, out=reach)
        reach *= grown
    off = unit * reach
    np.minimum(had, off, out=off)
    lost = float(off.sum())
    if lost >= 1:
        return off, lost, unit + 0 * reach
    reach /= 1 - lost
    np.minimum(reach, 1.0, out=reach)
    reach *= unit
    return off, lost, reach


class WideRowsOfProblem(ExactRows):
    """A wide problem's rows, in floats."""

    def __init__(self, target: Rows, draft: Rows, order: str):
        self.target, self.draft, self.one = target, draft, 1.0
        self.gamma, self.depth = max(map(len, draft), default=-1) + 1, sum_depth(len(target[()]), order)

    def as_float(self, number: float) -> float:
        return number

    def drafted(self, prefix: Prefix) -> Iterable[tuple[int, float, float]]:
        b, s = self.target[prefix], self.draft[prefix]
        return ((token, float(b[token]), float(s[token])) for token in s.nonzero()[0].tolist())

    def step(self, prefix: Prefix, survival: float, growth_of_weights: float) -> RoundingStep:
        import numpy as np

        kept, s = survival * self.target[prefix], self.draft[prefix]
        weights, heavy = np.maximum(kept - s, 0.0), kept * (growth_of_weights * (1 + SURE)) > s
        excess = float(weights.sum())
        errors = float(kept[heavy].sum()), float(s[heavy].sum()), float(weights[heavy].sum())
        return RoundingStep(survival, excess, excess + 1 - survival, errors)
