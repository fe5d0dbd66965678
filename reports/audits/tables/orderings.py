"""The orderings that the paper states, tested by anytime-valid paired tests that share one error rate.

Where two texts must be equal no test is needed: see ``equalities``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ....stattests.paired import PairedOrder
from .estimates import Totals
from .plan import PATH_VERIFIERS, PLAIN, Column, MeasurementCell, TablesPlan

ORDERINGS_ALPHA = 0.05
"""Probability that any verdict of a run is wrong, shared equally by all orderings that are tested."""

CALLS, BLOCKS, CLOCK = "calls of two runs", "same blocks", "wall clock"

PERCENT_OF_GAMMA, TOKENS, RELATIVE = "% of gamma", "tokens a call", "% of both"
UNIT_FACTORS = {PERCENT_OF_GAMMA: 100, TOKENS: 1, RELATIVE: 100}

FASTER = (("block", "token"), ("block", PLAIN), ("token", PLAIN),
          *((better, rule) for rule in PATH_VERIFIERS for better in ("block", "token")))  # fmt: skip
"""Which the paper's tables have as faster, those of several paths in every row of Table 5."""

ACCEPTS_MORE = (("greedy-block", "token"), ("block", "greedy-block"),
                *((rule, worse) for rule in PATH_VERIFIERS for worse in ("token", "block")), PATH_VERIFIERS)  # fmt: skip
"""Which accept more in every row of Table 4, or 5."""

Values = Callable[[MeasurementCell], Sequence[float]]


class Ordering(NamedTuple):
    """A statement: the mean of a quantity is above 0.

    statement: in words
    measure: CALLS, BLOCKS or CLOCK
    where: the settings
    unit: of the quantity as shown
    bound: the values lie within -bound and bound
    values: those of one cell, in order; none in a cell that lacks a part of it
    """

    statement: str
    measure: str
    where: str
    unit: str
    bound: float
    values: Values


def relative_difference(a: float, b: float) -> float:
    """(a - b) / (a + b), in (-1, 1). Half of a / b - 1 where that is small.

    Unlike the quotient it is bounded, and its mean is 0 for any two that are exchangeable.
    """
    return (a - b) / (a + b)


def planned_orderings(plan: TablesPlan, totals: Totals) -> list[Ordering]:
    """All that the plan can test; fixed by it alone, before anything is measured."""
    if not (plan.positive_temperatures and plan.gammas_above_1):
        return []
    quantities = CellQuantities(plan, totals)
    return [
        *_of_runs(plan, quantities),
        *(_of_same_blocks(plan, quantities) if plan.token_and_block else ()),
        *(_of_growth(plan, quantities) if plan.token_and_block else ()),
        *_of_clock(plan, quantities),
    ]


def _of_runs(plan: TablesPlan, quantities: "CellQuantities") -> Iterator[Ordering]:
    """Run against run, pooled: between two runs the noise is large."""
    if plan.token_and_block:
        for t in plan.positive_temperatures:
            values = where_temperature((t,), quantities.calls("block", "token", plan.gammas_above_1))
            yield Ordering("block > token", CALLS, f"T = {t:g}, all drafters and gamma", PERCENT_OF_GAMMA, 1.0, values)
    for gamma in plan.gammas_above_1:
        for better, worse in ACCEPTS_MORE:
            if {better, worse} <= set(plan.verifiers):
                values = where_temperature(plan.positive_temperatures, quantities.calls(better, worse, [gamma]))
                where = f"gamma {gamma}, all T > 0 and drafters"
                yield Ordering(f"{better} > {worse}", CALLS, where, PERCENT_OF_GAMMA, 1.0, values)


def _of_same_blocks(plan: TablesPlan, quantities: "CellQuantities") -> Iterator[Ordering]:
    """Setting by setting."""
    for t in plan.positive_temperatures:
        for drafter in plan.drafters():
            where = f"T = {t:g}, drafter {drafter + 1}"
            for gamma in plan.gammas_above_1:
                values = where_temperature((t,), quantities.gains(drafter, gamma))
                yield Ordering("block > token", BLOCKS, f"{where}, gamma {gamma}", TOKENS, gamma, values)
            for low, high in pairwise(plan.gammas_above_1):
                values = where_temperature((t,), quantities.growth([drafter], high, low))
                # tau lies in 0..gamma, and token verification's does not fall as the block gets longer: so within
                # -high and high, and not only within the sum of both.
                setting = f"gamma {high} over {low}, {where}"
                yield Ordering("gain grows with gamma", BLOCKS, setting, TOKENS, high, values)


def _of_growth(plan: TablesPlan, quantities: "CellQuantities") -> Iterator[Ordering]:
    """The gain of the longest blocks, over gamma, temperatures, drafters; pooled over the rest."""
    low, high, above_0 = plan.gammas_above_1[0], plan.gammas_above_1[-1], plan.positive_temperatures
    if low < high:
        values = where_temperature(above_0, quantities.growth(plan.drafters(), high, low))
        where = f"gamma {high} over {low}, all T > 0 and drafters"
        yield Ordering("gain grows with gamma", BLOCKS, where, TOKENS, high, values)
    for cool, hot in [*pairwise(above_0), *([(above_0[0], above_0[-1])] if len(above_0) > 2 else [])]:
        where = f"T = {hot:g} over {cool:g}, gamma {high}, all drafters"
        yield Ordering("gain grows with T", BLOCKS, where, TOKENS, 2 * high, quantities.warming(high, hot, cool))
    for better, worse in pairwise(plan.drafters()):
        pair = f"drafter {better + 1} over {worse + 1}, gamma {high}"
        values = where_temperature(above_0, quantities.accepted(better, worse, high))
        yield Ordering("the better drafter has more accepted", BLOCKS, f"{pair}, all T > 0", TOKENS, high, values)
        settings: dict[str, Sequence[float]] = {f"T = {t:g}": (t,) for t in above_0}
        if len(above_0) > 1:
            settings["all T > 0"] = above_0
        for where, temperatures in settings.items():
            values = where_temperature(temperatures, quantities.quality(better, worse, high))
            statement = "gain grows with the drafter's quality"
            yield Ordering(statement, BLOCKS, f"{pair}, {where}", TOKENS, 2 * high, values)


def _of_clock(plan: TablesPlan, quantities: "CellQuantities") -> Iterator[Ordering]:
    """Seconds a token, run against run."""
    for better, worse in FASTER:
        if not {better, worse} <= {*plan.verifiers, PLAIN}:
            continue
        every = [(drafter, gamma) for drafter in plan.drafters() for gamma in plan.gammas_above_1]
        settings = {f"drafter {d + 1}, gamma {g}, all T > 0": [(d, g)] for d, g in every}
        settings["all settings with T > 0"] = every
        for where, pairs in settings.items():
            values = where_temperature(plan.positive_temperatures, quantities.faster(better, worse, pairs))
            yield Ordering(f"{better} faster than {worse}", CLOCK, where, RELATIVE, 1.0, values)


class CellQuantities:
    """The quantities of one cell that the orderings are about."""

    def __init__(self, plan: TablesPlan, totals: Totals):
        self.plan, self.totals = plan, totals

    def calls(self, better: str, worse: str, gammas: Iterable[int]) -> Values:
        """(tau_a - tau_b) / gamma of the first call of both runs, of the second, and so on."""
        pairs = [(g, Column(d, better, g), Column(d, worse, g)) for d in self.plan.drafters() for g in gammas]

        def values(cell: MeasurementCell) -> list[float]:
            columns = self.totals.columns[cell]
            return [
                (a - b) / gamma
                for gamma, one, other in pairs
                for prompt in zip(columns[one]["accepted"], columns[other]["accepted"], strict=True)
                for a, b in zip(*prompt)
            ]

        return values

    def faster(self, better: str, worse: str, settings: Iterable[tuple[int, int]]) -> Values:
        """The relative difference of the seconds a token of two runs."""
        pairs = [[Column(d, v, 0 if v == PLAIN else gamma) for v in (worse, better)] for d, gamma in settings]

        def values(cell: MeasurementCell) -> list[float]:
            columns = self.totals.columns[cell]
            return [
                relative_difference(*(columns[c]["seconds"] / columns[c]["tokens"] for c in pair)) for pair in pairs
            ]

        return values

    def expected(self, cell: MeasurementCell, drafter: int, gamma: int) -> Mapping[str, list[float]]:
        rows = self.totals.cells[cell]["same_blocks"]
        return next(row for row in rows if (row["drafter"], row["gamma"]) == (drafter, gamma))

    def gain(self, cell: MeasurementCell, drafter: int, gamma: int) -> list[float]:
        """E[tau | block] under block verification less that under token verification, of each block."""
        expected = self.expected(cell, drafter, gamma)
        return differences(expected["block"], expected["token"])

    def gains(self, drafter: int, gamma: int) -> Values:
        return lambda cell: self.gain(cell, drafter, gamma)

    def growth(self, drafters: Iterable[int], high: int, low: int) -> Values:
        """The gain of each block less the gain of its first ``low`` tokens."""
        return lambda cell: [
            d for k in drafters for d in differences(self.gain(cell, k, high), self.gain(cell, k, low))
        ]

    def accepted(self, better: int, worse: int, gamma: int) -> Values:
        """E[tau | block] under token verification with two drafters, of the first block of each, the second, ..."""
        return lambda cell: differences(*(self.expected(cell, drafter, gamma)["token"] for drafter in (better, worse)))

    def quality(self, better: int, worse: int, gamma: int) -> Values:
        """The gain with one drafter less that with another."""
        return lambda cell: differences(self.gain(cell, better, gamma), self.gain(cell, worse, gamma))

    def warming(self, gamma: int, hot: float, cool: float) -> Values:
        """The gain at one temperature less that at another, same prompt and seed, first block, second, ..."""

        def values(cell: MeasurementCell) -> list[float]:
            other = cell._replace(temperature=cool)
            if cell.temperature != hot or other not in self.totals.cells:
                return []
            both = [[self.gain(one, drafter, gamma) for one in (cell, other)] for drafter in self.plan.drafters()]
            return [value for pair in both for value in differences(*pair)]

        return values


def differences(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """a - b, as far as both go."""
    return [x - y for x, y in zip(a, b)]


def where_temperature(temperatures: Sequence[float], values: Values) -> Values:
    """The values of cells at these temperatures, none of other cells."""
    return lambda cell: values(cell) if cell.temperature in temperatures else ()


def orderings(plan: TablesPlan, totals: Totals, alpha: float = ORDERINGS_ALPHA) -> list[dict[str, Any]]:
    """Every ordering with its verdict, from observations in the order in which they were made.

    verdict: confirmed if the interval of the mean lies above 0, refuted if below, else undecided or not measured
    alpha: the ordering's share of the error rate, fixed by the plan
    n, mean, lower, upper: of the observations
    log_e: of the bet against "never above 0" or against "never below", the larger one (a narrower hypothesis than that
        of the verdict)
    detectable: a mean further from 0 would have been decided, at the variance observed
    needed: of what is undecided, about how many observations would decide it, at the mean and variance observed; None for a
        mean of 0
    Guarantee: with probability at least 1 - alpha every interval holds the mean, over what was observed, of what could be
    expected each time given all before, whenever one looks, or stops; so no verdict is wrong.
    Source: ``stattests.paired``.
    """
    planned = planned_orderings(plan, totals)
    return [_verdict_row(ordering, totals, alpha / len(planned)) for ordering in planned]


def _verdict_row(ordering: Ordering, totals: Totals, alpha: float) -> dict[str, Any]:
    row = {**{name: getattr(ordering, name) for name in ("statement", "measure", "where", "unit")}, "alpha": alpha}
    observed = [value for cell in totals.cells for value in ordering.values(cell)]
    if not observed:
        return {**row, "verdict": "not measured", "n": 0}
    order = PairedOrder(ordering.bound, alpha)
    standing = order.observe(observed)
    verdict = "confirmed" if standing.lower > 0 else "refuted" if standing.upper < 0 else "undecided"
    return {
        **row,
        "verdict": verdict,
        "n": standing.n, "mean": standing.mean, "lower": standing.lower, "upper": standing.upper,
        "log_e": max(standing.log_e_greater, standing.log_e_less),
        "detectable": max(standing.mean - standing.lower, standing.upper - standing.mean),
        **({"needed": order.pairs_needed()} if verdict == "undecided" else {}),
    }  # fmt: skip
