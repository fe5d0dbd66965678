"""The closed law of a race: argmax of weights over exponential noise, or of log-weights plus Gumbel noise.

With independent standard exponentials E_i, the i that minimises E_i / w_i comes out with probability
w_i / sum w. The code under test may write this in many forms (w / E, log w - log E, log w + Gumbel, E / w with
argmin), so the weights are not read off the formula: for one level s of the score, the noise e_i(s) at which
contestant i reaches s is found by bisection. If the ratios e_i(s) / e_1(s) are the same for every level, the
scores are a race and the weights are those ratios; if not, there is no closed law and the search says so.
"""

import math
from typing import Any

from ..field import rational
from .numbers import Traced
from .sources import Exponential, Lattice, _float, _point
from .tracer import active, place

LEVELS = (0.25, 0.5, 1.0, 2.0)


def race(scores: list[Any], largest: bool) -> int:
    """The index that argmax (or argmin) returns, decided by the closed law of the race."""
    tracer = active()
    if tracer is None or not any(isinstance(score, Traced) for score in scores):
        numbers = [float(s) for s in scores]
        return max(range(len(numbers)), key=lambda i: _rank(numbers[i], largest))
    runners, still = {}, {}
    for i, score in enumerate(scores):
        runner = _Runner(score) if isinstance(score, Traced) else None
        if runner is None:
            still[i] = float(score)
        elif runner.constant is not None:
            still[i] = runner.constant
        else:
            runners[i] = runner
    undefined = [i for i, value in still.items() if math.isnan(value)]
    if undefined:
        tracer.notice("nan", f"a NaN decides the argmax at {place()}")
        return undefined[0]
    if not runners:
        return max(still, key=lambda i: (_rank(still[i], largest), -i))
    if len(runners) == 1 and still:
        return _against_constants(scores, next(iter(runners)), still, largest)
    entrants = list(runners.values())
    for runner in entrants:
        runner.enter()
    worst = min(_rank(entrants[0].score(e), largest) for e in (1e-12, 700.0))
    if any(_rank(value, largest) > worst for value in still.values()):
        tracer.give_up(f"a race against a constant at {place()} has no closed law")
    weights, _ = _weights(entrants, largest)
    return list(runners)[_run(entrants, weights, f"an argmax at {place()}")]


def duel(one: Traced, other: Traced, name: str) -> bool:
    """``one < other`` (or >) between two random numbers: a race of two.

    The winner of a race is again exponential, with the weights of all that it has beaten added to its own, and
    does not depend on who won: so a scan for the best of many, two at a time, has its closed law too.
    """
    tracer = one.source.tracer
    runners = [_Runner(one), _Runner(other)]
    if any(runner.constant is not None for runner in runners):
        tracer.give_up(f"two random numbers are compared with each other at {place()}")
    for runner in runners:
        runner.enter(champion=True)
    weights, largest = _weights(runners, None)
    winner = _run(runners, weights, None)
    return (winner == 0) == (largest == (name in ("gt", "ge")))


def _run(runners: list["_Runner"], weights: list[float], spent: str | None) -> int:
    """Decide the race. ``spent``: what it decided, after which no runner can be used; None if the winner runs on."""
    tracer = runners[0].source.tracer
    tracer.resolution = max(tracer.resolution, *(64 * runner.epsilon for runner in runners))
    shares = [weight * runner.source.beaten for weight, runner in zip(weights, runners)]
    heaviest = max(shares)
    # What is far below the resolution cannot be distinguished from nothing, nor rehearsed on the generator's lattice.
    shares = [share if share > heaviest * 2.0**-50 else 0.0 for share in shares]
    total = sum(map(rational, shares))
    chosen = tracer.branch([rational(share) / total for share in shares])
    winner = runners[chosen].source
    winner.beaten = sum(shares) / weights[chosen]
    # For the rehearsal: noise at which this contestant wins, and goes on to win if it must.
    winner.level = min(runner.source.level for runner in runners) / 2
    for weight, runner in zip(weights, runners):
        runner.source.settled = runner.to_point(runner.form(weight * runner.source.level))
        if runner.source is not winner or spent:
            runner.source.spent = spent or f"a comparison of two at {place()}"
        runner.source.fresh = False
    return chosen


def _rank(value: float, largest: bool) -> float:
    return value if largest else -value


def _against_constants(scores, only, still, largest):
    """One random number against fixed ones is a comparison with the best of them; ties go to the lower index."""
    best = max(still, key=lambda i: (_rank(still[i], largest), -i))
    number = scores[only]
    wins = {(True, True): "ge", (True, False): "gt", (False, True): "le", (False, False): "lt"}[largest, only < best]
    return only if number.compare(still[best], wins) else best


class _Runner:
    """One contestant: its score as a function of standard exponential noise."""

    def __init__(self, number: Traced):
        self.number, self.source = number, number.source
        self.forms = [lambda e: e]
        if isinstance(self.source, Lattice):
            top = self.source.high - 1
            self.forms = [lambda e: math.exp(-e), lambda e: -math.expm1(-e)]
            self.to_point = lambda x: min(max(round(x * (top + 1)), 1), top)
            self.epsilon = 2.0 ** -min(self.source.bits, 48)
        elif isinstance(self.source, Exponential):
            self.to_point = _point
            self.epsilon = self.source.epsilon
        else:
            raise TypeError(type(self.source).__name__)
        self.form = self.forms[0]
        values = {self.score(e) for e in (0.01, 0.5, 1.0, 3.0, 30.0)}
        self.constant = values.pop() if len(values) == 1 else (math.nan if any(v != v for v in values) else None)

    def enter(self, champion: bool = False) -> None:
        tracer = self.source.tracer
        if self.source.spent:
            tracer.notice("noise-used-twice", f"noise that decided {self.source.spent} decides again at {place()}")
            tracer.give_up(f"the noise of a race is used twice ({self.source.spent}, then at {place()}): no closed law")
        if not self.source.fresh and not (champion and self.source.settled is not None):
            tracer.give_up(f"noise that was compared before runs a race at {place()}: no closed law")

    def score(self, e: float) -> float:
        return float(self.number.at(self.to_point(self.form(e))))

    def noise_at(self, level: float, decreasing: bool) -> float:
        """The noise at which the score passes the level, between the last point above and the first below."""

        def edge(strict):
            low, high = _point(1e-300), _point(700.0)
            while high - low > 1:
                middle = (low + high) // 2
                score = self.score(_float(middle))
                beyond = (score < level if strict else score <= level) if decreasing else (
                    score > level if strict else score >= level
                )  # fmt: skip
                low, high = (low, middle) if beyond else (middle, high)
            return _float(high)

        return (edge(True) + edge(False)) / 2


def _weights(runners: list[_Runner], largest: bool | None) -> tuple[list[float], bool]:
    """The weights of the race, and whether the largest score wins it (None: whichever makes it a race)."""
    tracer = runners[0].source.tracer
    if len({runner.source for runner in runners}) < len(runners):
        tracer.give_up(f"one random number runs for two contestants at {place()}")
    epsilon = max(runner.epsilon for runner in runners)
    slack = max(1e-9, 1e3 * epsilon)
    for form in range(max(len(runner.forms) for runner in runners)):
        for runner in runners:
            runner.form = runner.forms[min(form, len(runner.forms) - 1)]
        decreasing = runners[0].score(0.5) > runners[0].score(2.0)  # less noise is a larger score
        if largest is not None and decreasing != largest:
            continue
        # Measured against the heaviest contestant, so that no noise has to go far.
        leader = max(runners, key=lambda runner, decreasing=decreasing: _rank(runner.score(1.0), decreasing))
        ratios = []
        for e in LEVELS:
            level = leader.score(e)
            base = leader.noise_at(level, decreasing)
            ratios.append([runner.noise_at(level, decreasing) / base for runner in runners])
        if all(
            abs(row[i] - ratios[0][i]) <= slack * ratios[0][i] + 8 * epsilon
            for row in ratios
            for i in range(len(runners))
        ):
            return [math.fsum(column) / len(column) for column in zip(*ratios)], decreasing
    return tracer.give_up(f"the argmax at {place()} is not a race of exponential or Gumbel noise: no closed law")
