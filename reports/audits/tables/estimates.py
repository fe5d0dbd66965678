"""Ratios of totals over prompts, with their uncertainty over prompts and seeds."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from .plan import PLAIN, Column, MeasurementCell

CONFIDENCE_LEVEL = 0.95


class Estimate(NamedTuple):
    """value: the ratio of totals
    deviation: standard deviation over seeds, None for one seed
    lower, upper: an interval at CONFIDENCE_LEVEL over prompts, None for one prompt or group
    """

    value: float
    deviation: float | None
    lower: float | None
    upper: float | None

    def improvement_percent(self) -> "Estimate":
        """Of the quotient of two quantities: by how many percent the first is larger."""
        lower, upper = (None if bound is None else 100 * (bound - 1) for bound in (self.lower, self.upper))
        return Estimate(100 * (self.value - 1), None if self.deviation is None else 100 * self.deviation, lower, upper)


Powers = Counter[tuple[Column, str]]
"""A product of totals to whole powers: (column, field) -> power. The powers add up to 0."""


SAME_TOKEN, SAME_BLOCK = "token, same blocks", "block, same blocks"
"""In place of a verifier's name: its expectations for the blocks of one run, one token a call included."""


def _same_block_columns(measured: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for row in measured["same_blocks"]:
        for name, taus in ((SAME_TOKEN, row["token"]), (SAME_BLOCK, row["block"])):
            column = {"drafter": row["drafter"], "verifier": name, "gamma": row["gamma"]}
            yield {**column, "tokens": sum(taus) + len(taus), "calls": len(taus)}


def block_efficiency(column: Column) -> Powers:
    """Decoded tokens per serial call of the target. Source: Sun et al. 2025, Section 5."""
    return Counter({(column, "tokens"): 1, (column, "calls"): -1})


def speedup(column: Column, clock: str = "seconds") -> Powers:
    """Seconds a token of plain decoding over seconds a token, in the same cells. Source: as there."""
    plain = Column(column.drafter, PLAIN, 0)
    return Counter({(plain, clock): 1, (plain, "tokens"): -1, (column, clock): -1, (column, "tokens"): 1})


def quotient(a: Powers, b: Powers) -> Powers:
    difference = Counter(a)
    difference.subtract(b)
    return Counter({total: power for total, power in difference.items() if power})


def improvement(drafter: int, gamma: int, quantity: Callable[[Column], Powers]) -> Powers:
    """Block verification's quantity over token verification's."""
    return quotient(quantity(Column(drafter, "block", gamma)), quantity(Column(drafter, "token", gamma)))


class Totals:
    """The measurements of some cells, summed up column by column."""

    def __init__(self, cells: Mapping[MeasurementCell, Mapping[str, Any]]):
        self.cells = cells
        self.columns = {
            cell: {
                Column(c["drafter"], c["verifier"], c["gamma"]): c
                for c in [*measured["columns"], *_same_block_columns(measured)]
            }
            for cell, measured in cells.items()
        }

    def select(self, temperature: float, data: str | None = None) -> "Totals":
        """The cells at a temperature, of one data set or of all."""
        chosen = {cell: measured for cell, measured in self.cells.items() if cell.temperature == temperature}
        return Totals({cell: measured for cell, measured in chosen.items() if data in (None, measured["data"])})

    def estimate(self, powers: Powers) -> Estimate | None:
        """The product of the totals' powers; None if a column was not measured.

        value: by the totals over all prompts and seeds
        deviation: of the values of single seeds
        lower, upper: exp(log value -+ t se), se^2 = sum_i z_i^2 / (n (n - 1)), z_i = sum_k power_k x_ik / mean_k, over
            n prompts (all seeds of one together) or groups of a batch, t with n - 1 degrees of freedom
        Guarantee: none for finite n: the delta method; exact as the number of prompts grows.
        """
        wanted = [column for column, _ in powers]
        cells = [cell for cell, columns in self.columns.items() if all(column in columns for column in wanted)]
        if not cells:
            return None
        value = self._value(cells, powers)
        seed_values = [self._value([c for c in cells if c.seed == seed], powers) for seed in {c.seed for c in cells}]
        deviation = float(np.std(seed_values, ddof=1)) if len(seed_values) > 1 else None
        groups = sorted({cell.group for cell in cells})
        if len(groups) < 2:
            return Estimate(value, deviation, None, None)
        sums = np.array([self._sums([c for c in cells if c.group == group], powers) for group in groups])
        z = (sums / sums.mean(0)) @ np.array(list(powers.values()))
        radius = float(stdtrit(len(groups) - 1, (1 + CONFIDENCE_LEVEL) / 2) * z.std(ddof=1) / np.sqrt(len(groups)))
        return Estimate(value, deviation, value * exp(-radius), value * exp(radius))

    def _sums(self, cells: Sequence[MeasurementCell], powers: Powers) -> list[float]:
        return [sum(self.columns[cell][column][field] for cell in cells) for column, field in powers]

    def _value(self, cells: Sequence[MeasurementCell], powers: Powers) -> float:
        return exp(sum(n * log(total) for n, total in zip(powers.values(), self._sums(cells, powers), strict=True)))

    def acceptance(self, column: Column) -> list[float]:
        """The observed frequency of tau >= i, for i = 0..gamma."""
        accepted = [columns[column]["accepted"] for columns in self.columns.values() if column in columns]
        taus = [tau for prompts in accepted for prompt in prompts for tau in prompt]
        times = np.bincount(taus, minlength=column.gamma + 1)
        return [float(p) for p in times[::-1].cumsum()[::-1] / len(taus)]
