"""The orderings that the paper states, tested by anytime-valid paired tests that share one error rate.

Where two texts must be equal no test is needed: see ``equalities``.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from draftproof_paper.tables.paired import GREATER, LESS, PairedOrder
from draftproof_paper.tables.plan import PATH_VERIFIERS, PLAIN, Column, MeasurementCell, TablesPlan

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
        """Return by how many percent the first of two quantities is larger, from their quotient."""
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
    """Return seconds a token of plain decoding over seconds a token, in the same cells. Source: as there."""
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
        """Return the cells at a temperature, of one data set or of all."""
        chosen = {cell: measured for cell, measured in self.cells.items() if cell.temperature == temperature}
        return Totals({cell: measured for cell, measured in chosen.items() if data in (None, measured["data"])})

    def estimate(self, powers: Powers) -> Estimate | None:
        """Return the product of the totals' powers; None if a column was not measured.

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
        """Return the observed frequency of tau >= i, for i = 0..gamma."""
        accepted = [columns[column]["accepted"] for columns in self.columns.values() if column in columns]
        taus = [tau for prompts in accepted for prompt in prompts for tau in prompt]
        times = np.bincount(taus, minlength=column.gamma + 1)
        return [float(p) for p in times[::-1].cumsum()[::-1] / len(taus)]


ORDERINGS_ALPHA = 0.05
"""Probability that any verdict of a run is wrong, shared equally by all orderings that are tested."""

CALLS, BLOCKS, CLOCK = "calls of two runs", "same blocks", "wall clock"

PERCENT_OF_GAMMA, TOKENS, RELATIVE = "% of gamma", "tokens a call", "% of both"
UNIT_FACTORS = {PERCENT_OF_GAMMA: 100, TOKENS: 1, RELATIVE: 100}

THEOREM_2 = "Theorem 2 of Sun et al. 2025, one iteration, every context"
"""The theorem that block verification expects no fewer accepted tokens of the same blocks than token verification."""

FASTER = (("block", "token"), ("block", PLAIN), ("token", PLAIN),
          *((better, rule) for rule in PATH_VERIFIERS for better in ("block", "token")))  # fmt: skip
"""Which the paper's tables have as faster, those of several paths in every row of Table 5."""

ACCEPTS_MORE = (
    ("greedy-block", "token"), ("block", "greedy-block"),
    *((rule, worse) for rule in PATH_VERIFIERS for worse in ("token", "block")), PATH_VERIFIERS,
)  # fmt: skip
"""Which accept more in every row of Table 4, or 5."""


class Ordering(NamedTuple):
    """A statement: the mean of a quantity is above 0.

    statement: in words
    measure: CALLS, BLOCKS or CLOCK
    where: the settings
    unit: of the quantity as shown
    bound: the values lie within -bound and bound
    temperatures: of the cells that have values
    values: those of one cell, in order; none in a cell that lacks a part of it
    theorem: the theorem by which no value has a negative mean, whatever came before; "" where there is none
    """

    statement: str
    measure: str
    where: str
    unit: str
    bound: float
    temperatures: Sequence[float]
    values: Callable[[MeasurementCell], Sequence[float]]
    theorem: str = ""

    def observed(self, cells: Iterable[MeasurementCell]) -> list[float]:
        """Return the values of all cells."""
        return [value for cell in cells if cell.temperature in self.temperatures for value in self.values(cell)]


def planned_orderings(plan: TablesPlan, totals: Totals) -> list[Ordering]:
    """Return all that the plan can test; fixed by it alone, before anything is measured."""
    if not (plan.positive_temperatures and plan.gammas_above_1):
        return []
    on_blocks = (_on_same_blocks, _of_growth) if plan.token_and_block else ()
    quantities = CellQuantities(plan, totals)
    return [ordering for part in (_of_runs, *on_blocks, _of_clock) for ordering in part(plan, quantities)]


def _of_runs(plan: TablesPlan, quantities: "CellQuantities") -> Iterator[Ordering]:
    """Run against run, pooled: between two runs the noise is large."""

    def ordering(better: str, worse: str, where: str, temperatures: Sequence[float], gammas: Sequence[int]) -> Ordering:
        values = partial(quantities.calls, better, worse, gammas)
        return Ordering(f"{better} > {worse}", CALLS, where, PERCENT_OF_GAMMA, 1.0, temperatures, values)

    above_0, gammas = plan.positive_temperatures, plan.gammas_above_1
    if plan.token_and_block:
        for t in above_0:
            yield ordering("block", "token", f"T = {t:g}, all drafters and gamma", (t,), gammas)
    for gamma in gammas:
        for better, worse in ACCEPTS_MORE:
            if {better, worse} <= set(plan.verifiers):
                yield ordering(better, worse, f"gamma {gamma}, all T > 0 and drafters", above_0, [gamma])


def _on_same_blocks(plan: TablesPlan, quantities: "CellQuantities") -> Iterator[Ordering]:
    """Setting by setting."""
    for t in plan.positive_temperatures:
        for drafter in plan.drafters():
            where = f"T = {t:g}, drafter {drafter + 1}"
            for gamma in plan.gammas_above_1:
                values = partial(quantities.gain, drafter, gamma)
                setting = f"{where}, gamma {gamma}"
                yield Ordering("block > token", BLOCKS, setting, TOKENS, gamma, (t,), values, THEOREM_2)
            for low, high in pairwise(plan.gammas_above_1):
                values = partial(quantities.growth, [drafter], high, low)
                # tau lies in 0..gamma, and token verification's does not fall as the block gets longer: so within
                # -high and high, and not only within the sum of both.
                setting = f"gamma {high} over {low}, {where}"
                yield Ordering("gain grows with gamma", BLOCKS, setting, TOKENS, high, (t,), values)


def _of_growth(plan: TablesPlan, quantities: "CellQuantities") -> Iterator[Ordering]:
    """Yield the gain of the longest blocks, over gamma, temperatures, drafters; pooled over the rest."""
    low, high, above_0 = plan.gammas_above_1[0], plan.gammas_above_1[-1], plan.positive_temperatures
    if low < high:
        values = partial(quantities.growth, plan.drafters(), high, low)
        where = f"gamma {high} over {low}, all T > 0 and drafters"
        yield Ordering("gain grows with gamma", BLOCKS, where, TOKENS, high, above_0, values)
    for cool, hot in [*pairwise(above_0), *([(above_0[0], above_0[-1])] if len(above_0) > 2 else [])]:
        where = f"T = {hot:g} over {cool:g}, gamma {high}, all drafters"
        values = partial(quantities.warming, high, cool)
        yield Ordering("gain grows with T", BLOCKS, where, TOKENS, 2 * high, (hot,), values)
    for better, worse in pairwise(plan.drafters()):
        pair = f"drafter {better + 1} over {worse + 1}, gamma {high}"
        statement, values = "the better drafter has more accepted", partial(quantities.accepted, better, worse, high)
        yield Ordering(statement, BLOCKS, f"{pair}, all T > 0", TOKENS, high, above_0, values)
        settings: dict[str, Sequence[float]] = {f"T = {t:g}": (t,) for t in above_0}
        if len(above_0) > 1:
            settings["all T > 0"] = above_0
        statement, values = "gain grows with the drafter's quality", partial(quantities.quality, better, worse, high)
        for where, temperatures in settings.items():
            yield Ordering(statement, BLOCKS, f"{pair}, {where}", TOKENS, 2 * high, temperatures, values)


def _of_clock(plan: TablesPlan, quantities: "CellQuantities") -> Iterator[Ordering]:
    """Yield seconds a token, run against run."""
    every = [(drafter, gamma) for drafter in plan.drafters() for gamma in plan.gammas_above_1]
    settings = {f"drafter {d + 1}, gamma {g}, all T > 0": [(d, g)] for d, g in every}
    settings["all settings with T > 0"] = every
    for better, worse in FASTER:
        if {better, worse} <= {*plan.verifiers, PLAIN}:
            for where, pairs in settings.items():
                values, statement = partial(quantities.faster, better, worse, pairs), f"{better} faster than {worse}"
                yield Ordering(statement, CLOCK, where, RELATIVE, 1.0, plan.positive_temperatures, values)


class CellQuantities:
    """The quantities of one cell that the orderings are about."""

    def __init__(self, plan: TablesPlan, totals: Totals):
        self.plan, self.totals = plan, totals

    def calls(self, better: str, worse: str, gammas: Iterable[int], cell: MeasurementCell) -> list[float]:
        """(tau_a - tau_b) / gamma of the first call of both runs, of the second, and so on."""
        columns = self.totals.columns[cell]
        return [
            (a - b) / gamma
            for drafter in self.plan.drafters()
            for gamma in gammas
            for prompt in zip(*(columns[Column(drafter, v, gamma)]["accepted"] for v in (better, worse)), strict=True)
            for a, b in zip(*prompt)
        ]

    def faster(
        self, better: str, worse: str, settings: Iterable[tuple[int, int]], cell: MeasurementCell
    ) -> list[float]:
        """(a - b) / (a + b) of the seconds a token of two runs: half of a / b - 1 where that is small.

        Unlike the quotient it is bounded, and its mean is 0 for any two that are exchangeable.
        """
        columns = self.totals.columns[cell]
        pairs = [[columns[Column(d, v, 0 if v == PLAIN else g)] for v in (worse, better)] for d, g in settings]
        seconds = [[column["seconds"] / column["tokens"] for column in pair] for pair in pairs]
        return [(a - b) / (a + b) for a, b in seconds]

    def expected(self, cell: MeasurementCell, drafter: int, gamma: int) -> Mapping[str, list[float]]:
        rows = self.totals.cells[cell]["same_blocks"]
        return next(row for row in rows if (row["drafter"], row["gamma"]) == (drafter, gamma))

    def gain(self, drafter: int, gamma: int, cell: MeasurementCell) -> list[float]:
        """E[tau | block] under block verification less that under token verification, of each block."""
        expected = self.expected(cell, drafter, gamma)
        return differences(expected["block"], expected["token"], strict=True)

    def growth(self, drafters: Iterable[int], high: int, low: int, cell: MeasurementCell) -> list[float]:
        """Return the gain of each block less the gain of its first ``low`` tokens."""
        gains = [(self.gain(drafter, high, cell), self.gain(drafter, low, cell)) for drafter in drafters]
        return [d for longer, shorter in gains for d in differences(longer, shorter, strict=True)]

    def accepted(self, better: int, worse: int, gamma: int, cell: MeasurementCell) -> list[float]:
        """E[tau | block] under token verification with two drafters, of the first block of each, the second, ..."""
        return differences(*(self.expected(cell, drafter, gamma)["token"] for drafter in (better, worse)))

    def quality(self, better: int, worse: int, gamma: int, cell: MeasurementCell) -> list[float]:
        """Return the gain with one drafter less that with another."""
        return differences(self.gain(better, gamma, cell), self.gain(worse, gamma, cell))

    def warming(self, gamma: int, cool: float, cell: MeasurementCell) -> list[float]:
        """Return the gain less that at a lower temperature, same prompt and seed, first block, second, ..."""
        other = cell._replace(temperature=cool)
        if other not in self.totals.cells:
            return []
        both = [[self.gain(drafter, gamma, one) for one in (cell, other)] for drafter in self.plan.drafters()]
        return [value for pair in both for value in differences(*pair)]


def differences(a: Sequence[float], b: Sequence[float], *, strict: bool = False) -> list[float]:
    """a - b, as far as both go; strict: of the same blocks, which are as many."""
    return [x - y for x, y in zip(a, b, strict=strict)]


def orderings(plan: TablesPlan, totals: Totals, alpha: float = ORDERINGS_ALPHA) -> list[dict[str, Any]]:
    """Return every ordering with its verdict, from observations in the order in which they were made.

    verdict: confirmed, refuted, undecided or not measured. Where the sign is a theorem, by the bet against "no mean is
        above 0"; else confirmed if the interval of the mean lies above 0, refuted if below
    theorem: what says that no mean is below 0: a verdict confirms the code, and what is new is the size
    alpha: the ordering's share of the error rate, fixed by the plan
    n, mean, lower, upper: of the observations
    log_e: of the bet against "never above 0" or against "never below", the larger one
    detectable: a mean further from 0 would have been decided, at the variance observed
    needed: of what is undecided, about how many observations would decide it, at the mean and variance observed; None
        for a mean of 0
    Guarantee: with probability at least 1 - alpha every interval holds the mean, over what was observed, of what could
    be expected each time given all before, whenever one looks, or stops. With probability at least 1 - alpha no verdict
    is wrong. Source: ``paired``.
    """
    planned = planned_orderings(plan, totals)
    return [_verdict_row(ordering, totals, alpha / len(planned)) for ordering in planned]


def _verdict_row(ordering: Ordering, totals: Totals, alpha: float) -> dict[str, Any]:
    names = ("statement", "measure", "where", "unit", *(("theorem",) if ordering.theorem else ()))
    row = {**{name: getattr(ordering, name) for name in names}, "alpha": alpha}
    observed = ordering.observed(totals.cells)
    if not observed:
        return {**row, "verdict": "not measured", "n": 0}
    order = PairedOrder(ordering.bound, alpha)
    standing = order.observe(observed)
    above, below = standing.lower > 0, standing.upper < 0
    if ordering.theorem:
        above, below = standing.verdict == GREATER, standing.verdict == LESS
    verdict = "confirmed" if above else "refuted" if below else "undecided"
    return {
        **row,
        "verdict": verdict,
        "n": standing.n, "mean": standing.mean, "lower": standing.lower, "upper": standing.upper,
        "log_e": max(standing.log_e_greater, standing.log_e_less),
        "detectable": max(standing.mean - standing.lower, standing.upper - standing.mean),
        **({"needed": order.pairs_needed()} if verdict == "undecided" else {}),
    }  # fmt: skip
