"""Where a law on a wide problem and the target's are compared: at the first token that cannot be drafted.

Shorter outputs are continued by the target (Lemma 2), so all that lies behind a sequence o = (live prefix, any token)
that no output passes through has the same ratio to the target, and the total variation is that of the frontier:
TV = 1/2 sum_o |F(o) - M_b(o)|, F(xy) = F(x) M_b(y | x) + Pr(xy is emitted), F of the prefixes that can be drafted
first. Rows are float64 and sums of them exact or pairwise: the error of the TV is below 1e-14.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..models.law import Prefix
from ..models.wide import WideProblem
from .laws import is_output

Row = np.ndarray
Rows = Mapping[Prefix, Row]
Frontier = dict[Prefix, tuple[Row, Row]]


def cut(outcome: Any, problem: WideProblem, target: Rows) -> Prefix | None:
    """An output up to where it leaves the prefixes that can be drafted; None if it is no 1..gamma+1 tokens."""
    if not is_output(outcome, problem):
        return None
    return outcome[: next(n for n in range(len(outcome), 0, -1) if outcome[: n - 1] in target)]


def frontier(problem: WideProblem, target: Rows, emitted: Rows) -> Frontier:
    """Prefix that can be drafted -> (F, M_b) of its continuations by one token that cannot be drafted; else 0."""
    found: Frontier = {}
    reached: dict[Prefix, tuple[float, float]] = {(): (0.0, 1.0)}
    for prefix in sorted(target, key=len):
        flow, mass = reached[prefix]
        here, right = flow * target[prefix], mass * target[prefix]
        if prefix in emitted:
            here = here + emitted[prefix]
        for token in problem.drafted(prefix):
            reached[(*prefix, token)] = (float(here[token]), float(right[token]))
            here[token] = right[token] = 0.0
        found[prefix] = here, right
    return found


def apart(laws: Frontier, elsewhere: float = 0.0) -> float:
    """The total variation between the two laws. elsewhere: what is emitted outside the frontier."""
    return (math.fsum(float(np.abs(f - t).sum()) for f, t in laws.values()) + elsewhere) / 2


def above(laws: Frontier) -> float:
    """By how much the first law exceeds the target's: the least total variation where part of it is unknown."""
    return math.fsum(float(np.maximum(f - t, 0.0).sum()) for f, t in laws.values())
