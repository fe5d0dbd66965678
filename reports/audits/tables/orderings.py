"""The orderings that the paper states, held against the measurements by anytime-valid paired tests that share one error
rate. Where two texts must be equal no test is needed, see ``exactly``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ....stattests.paired import PairedOrder
from .estimates import Totals
from .plan import PLAIN, Column, MeasurementCell, TablesPlan

ORDERINGS_ALPHA = 0.05
"""Probability that any verdict of a run is wrong, shared equally by all orders that are tested."""

CALLS, BLOCKS, CLOCK = "calls of two runs", "same blocks", "wall clock"

PERCENT_OF_GAMMA, TOKENS, RELATIVE = "% of gamma", "tokens a call", "% of both"
SCALES = {PERCENT_OF_GAMMA: 100, TOKENS: 1, RELATIVE: 100}

Observed = Callable[[MeasurementCell], Sequence[float]]


class Ordering(NamedTuple):
    """A statement: the mean of a quantity is above 0. measure, where: of what, in which settings.

    of: its values in one cell, in order, within -bound and bound; none in a cell that lacks a part of it.
    """

    statement: str
    measure: str
    where: str
    unit: str
    bound: float
    of: Observed


def share(a: float, b: float) -> float:
    """(a - b) / (a + b), in (-1, 1): what one is better by, of both together. Half of a / b - 1 where that is small.

    Unlike the quotient it is bounded, and its mean is 0 for any two that are exchangeable.
    """
    return (a - b) / (a + b)


def planned_orderings(plan: TablesPlan, totals: Totals) -> list[Ordering]:
    """All that the plan can test; fixed by it alone, before anything is measured."""
    if not (plan.warm and plan.long):
        return []
    seen = CellQuantities(plan, totals)
    both = {"token", "block"} <= set(plan.verifiers)
    return [
        *_in_runs(plan, seen),
        *(_on_the_same(plan, seen) if both else ()),
        *(_growing(plan, seen) if both else ()),
        *_clock(plan, seen),
    ]


def _in_runs(plan: TablesPlan, seen: "CellQuantities") -> Iterable[Ordering]:
    """Run against run, pooled: between two runs the noise is large."""
    if {"token", "block"} <= set(plan.verifiers):
        for t in plan.warm:
            of = only(lambda cell, t=t: cell.temperature == t, seen.calls("block", "token", plan.long))
            yield Ordering("block > token", CALLS, f"T = {t:g}, all drafters and gamma", PERCENT_OF_GAMMA, 1.0, of)
    for gamma in plan.long:
        for better, worse in (("greedy-block", "token"), ("block", "greedy-block")):
            if {better, worse} <= set(plan.verifiers):
                of = only(is_warm, seen.calls(better, worse, [gamma]))
                where = f"gamma {gamma}, all T > 0 and drafters"
                yield Ordering(f"{better} > {worse}", CALLS, where, PERCENT_OF_GAMMA, 1.0, of)


def _on_the_same(plan: TablesPlan, seen: "CellQuantities") -> Iterable[Ordering]:
    """Setting by setting."""
    for t in plan.warm:
        for drafter in plan.drafters():
            hot, where = (lambda cell, t=t: cell.temperature == t), f"T = {t:g}, drafter {drafter + 1}"
            for gamma in plan.long:
                of = only(hot, lambda cell, d=drafter, g=gamma: seen.gains(cell, d, g))
                yield Ordering("block > token", BLOCKS, f"{where}, gamma {gamma}", TOKENS, gamma, of)
            for low, high in pairwise(plan.long):
                of = only(
                    hot, lambda cell, d=drafter, h=high, g=low: less(seen.gains(cell, d, h), seen.gains(cell, d, g))
                )
                # tau lies in 0..gamma, and token verification's does not fall as the block gets longer: so within
                # -high and high, and not only within the sum of both.
                yield Ordering("gain grows with gamma", BLOCKS, f"gamma {high} over {low}, {where}", TOKENS, high, of)


def _growing(plan: TablesPlan, seen: "CellQuantities") -> Iterable[Ordering]:
    """The gain of the longest blocks, over gamma, temperatures, drafters; pooled over the rest."""
    low, high = plan.long[0], plan.long[-1]
    if low < high:
        of = only(is_warm, lambda cell: [d for k in plan.drafters() for d in seen.grown(cell, k, high, low)])
        where = f"gamma {high} over {low}, all T > 0 and drafters"
        yield Ordering("gain grows with gamma", BLOCKS, where, TOKENS, high, of)
    temperatures = list(pairwise(plan.warm)) + ([(plan.warm[0], plan.warm[-1])] if len(plan.warm) > 2 else [])
    for cool, hot in temperatures:
        where = f"T = {hot:g} over {cool:g}, gamma {high}, all drafters"
        yield Ordering("gain grows with T", BLOCKS, where, TOKENS, 2 * high, seen.over_temperatures(high, hot, cool))
    for better, worse in pairwise(plan.drafters()):
        pair = f"drafter {better + 1} over {worse + 1}, gamma {high}"
        of = only(is_warm, lambda cell, b=better, w=worse: seen.accepted(cell, b, w, high))
        yield Ordering("the better drafter has more accepted", BLOCKS, f"{pair}, all T > 0", TOKENS, high, of)
        settings = {f"T = {t:g}": (t,) for t in plan.warm}
        if len(plan.warm) > 1:
            settings["all T > 0"] = plan.warm
        for where, temperatures in settings.items():
            of = only(
                lambda cell, t=temperatures: cell.temperature in t,
                lambda cell, b=better, w=worse: less(seen.gains(cell, b, high), seen.gains(cell, w, high)),
            )
            yield Ordering("gain grows with the drafter's quality", BLOCKS, f"{pair}, {where}", TOKENS, 2 * high, of)


def _clock(plan: TablesPlan, seen: "CellQuantities") -> Iterable[Ordering]:
    """Seconds a token, run against run."""
    for better, worse in (("block", "token"), ("block", PLAIN), ("token", PLAIN)):
        if not {better, worse} <= {*plan.verifiers, PLAIN}:
            continue
        every = [(drafter, gamma) for drafter in plan.drafters() for gamma in plan.long]
        settings = {f"drafter {d + 1}, gamma {g}, all T > 0": [(d, g)] for d, g in every}
        settings["all settings with T > 0"] = every
        for where, of in settings.items():
            yield Ordering(f"{better} faster than {worse}", CLOCK, where, RELATIVE, 1.0,
                        only(is_warm, seen.faster(better, worse, of)))  # fmt: skip


class CellQuantities:
    """The quantities of one cell."""

    def __init__(self, plan: TablesPlan, totals: Totals):
        self.plan, self.totals = plan, totals

    def calls(self, better: str, worse: str, gammas: Iterable[int]) -> Observed:
        """(tau_a - tau_b) / gamma of the first call of both runs, of the second, and so on."""
        pairs = [
            (gamma, Column(drafter, better, gamma), Column(drafter, worse, gamma))
            for drafter in self.plan.drafters()
            for gamma in gammas
        ]

        def of(cell: MeasurementCell) -> list[float]:
            columns = self.totals.columns[cell]
            return [
                (a - b) / gamma
                for gamma, one, other in pairs
                for prompt in zip(columns[one]["accepted"], columns[other]["accepted"], strict=True)
                for a, b in zip(*prompt)
            ]

        return of

    def faster(self, better: str, worse: str, settings: Iterable[tuple[int, int]]) -> Observed:
        """The share of the seconds a token of two runs."""
        pairs = [
            [Column(drafter, verifier, 0 if verifier == PLAIN else gamma) for verifier in (worse, better)]
            for drafter, gamma in settings
        ]

        def of(cell: MeasurementCell) -> list[float]:
            columns = self.totals.columns[cell]
            return [share(*(columns[c]["seconds"] / columns[c]["tokens"] for c in pair)) for pair in pairs]

        return of

    def expected(self, cell: MeasurementCell, drafter: int, gamma: int) -> Mapping[str, list[float]]:
        found = self.totals.cells[cell]["on_the_same"]
        return next(one for one in found if (one["drafter"], one["gamma"]) == (drafter, gamma))

    def gains(self, cell: MeasurementCell, drafter: int, gamma: int) -> list[float]:
        """E[tau | block] under block verification less that under token verification, of each block."""
        one = self.expected(cell, drafter, gamma)
        return less(one["block"], one["token"])

    def grown(self, cell: MeasurementCell, drafter: int, high: int, low: int) -> list[float]:
        """The gain of each block less the gain of its first ``low`` tokens."""
        return less(self.gains(cell, drafter, high), self.gains(cell, drafter, low))

    def accepted(self, cell: MeasurementCell, better: int, worse: int, gamma: int) -> list[float]:
        """E[tau | block] under token verification with two drafters, of the first block of each, the second, ..."""
        return less(*(self.expected(cell, drafter, gamma)["token"] for drafter in (better, worse)))

    def over_temperatures(self, gamma: int, hot: float, cool: float) -> Observed:
        """The gain at one temperature less that at another, same prompt and seed, first block, second, ..."""

        def of(cell: MeasurementCell) -> list[float]:
            other = cell._replace(temperature=cool)
            if cell.temperature != hot or other not in self.totals.cells:
                return []
            both = [[self.gains(one, drafter, gamma) for one in (cell, other)] for drafter in self.plan.drafters()]
            return [value for pair in both for value in less(*pair)]

        return of


def less(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """As far as both go."""
    return [x - y for x, y in zip(a, b)]


def is_warm(cell: MeasurementCell) -> bool:
    return cell.temperature > 0


def only(where: Callable[[MeasurementCell], bool], of: Observed) -> Observed:
    return lambda cell: of(cell) if where(cell) else ()


def orderings(plan: TablesPlan, totals: Totals, alpha: float = ORDERINGS_ALPHA) -> list[dict[str, Any]]:
    """Every order with its verdict: confirmed, refuted, undecided, or not measured.

    The observations come in the order in which they were made. Confirmed: the interval of the mean lies above 0; refuted:
    below. The share of alpha of each order is fixed by the plan. log_e: of the bet against "never above 0", or against
    "never below", whichever made more (a narrower hypothesis than that of the verdict); detectable: a mean further from 0
    would have been decided, at the variance seen.
    Guarantee: with probability at least 1 - alpha every interval holds the mean, over what was observed, of what could be
    expected each time given all before, whenever one looks, or stops; so no verdict is wrong.
    Source: ``stattests.paired``.
    """
    listed = planned_orderings(plan, totals)
    return [_judged(order, totals, alpha / len(listed)) for order in listed]


def _judged(order: Ordering, totals: Totals, alpha: float) -> dict[str, Any]:
    told = {**{name: getattr(order, name) for name in ("statement", "measure", "where", "unit")}, "alpha": alpha}
    seen = [value for cell in totals.cells for value in order.of(cell)]
    if not seen:
        return {**told, "verdict": "not measured", "n": 0}
    found = PairedOrder(order.bound, alpha).observe(seen)
    return {
        **told,
        "verdict": "confirmed" if found.lower > 0 else "refuted" if found.upper < 0 else "undecided",
        "n": found.n,
        "mean": found.mean,
        "lower": found.lower,
        "upper": found.upper,
        "log_e": max(found.log_e_greater, found.log_e_less),
        "detectable": max(found.mean - found.lower, found.upper - found.mean),
    }
