"""The frontier of a wide problem: the first tokens that cannot be drafted, at which a law and the target are compared.

Shorter outputs are continued by the target (Lemma 2), so all that lies behind a sequence o = (live prefix, any token)
that no output passes through has the same ratio to the target, and the total variation is that of the frontier:
TV = 1/2 sum_o |F(o) - M_b(o)|, F(xy) = F(x) M_b(y | x) + Pr(xy is emitted), F of the prefixes that can be drafted
first. Rows are float64 and sums of them exact or pairwise: the error of the TV is below 1e-14.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...models.law import Prefix
from ...models.wide import WideProblem
from .reference_laws import is_output

Row = np.ndarray
Rows = Mapping[Prefix, Row]
Frontier = Iterator[tuple[Prefix, Row, Row]]


def cut(outcome: Any, problem: WideProblem, target: Rows) -> Prefix | None:
    """Return an output up to where it leaves the prefixes that can be drafted; None if it has no 1..gamma+1 tokens."""
    if not is_output(outcome, problem):
        return None
    return outcome[: next(n for n in range(len(outcome), 0, -1) if outcome[: n - 1] in target)]


def frontier(problem: WideProblem, target: Rows, emitted: Rows) -> Frontier:
    """Yield each prefix that can be drafted, with F and M_b of its continuations that cannot be drafted (0 elsewhere).

    One after the other, the shorter ones first: together they take as much memory as all rows.
    """
    reached: dict[Prefix, tuple[float, float]] = {(): (0.0, 1.0)}
    for prefix in sorted(target, key=len):
        flow, mass = reached[prefix]
        here, right = flow * target[prefix], mass * target[prefix]
        if prefix in emitted:
            here += emitted[prefix]
        for token in problem.drafted(prefix):
            reached[(*prefix, token)] = (float(here[token]), float(right[token]))
            here[token] = right[token] = 0.0
        yield prefix, here, right
