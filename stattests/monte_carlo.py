"""Monte Carlo p-values that are valid at any rate and stop early where the draws show nothing."""

from collections.abc import Callable
from math import ceil

import numpy as np


def draws_for(alpha: float) -> int:
    """Draws under the law that a decision at rate alpha needs: 2 / alpha, so one chance draw does not undo it."""
    return ceil(2 / alpha)


def monte_carlo_p(
    observed: float, statistics: Callable[[int], np.ndarray], most: int, stop_after: int = 20, batch: int = 4096
) -> tuple[float, int]:
    """How often a draw under the law is at least as extreme as the observation: p and the number of draws.

    p = (1 + b) / (1 + B) after B draws with b as extreme; s / l if the last of s such came with draw l.
    observed: the statistic of the data
    statistics: m -> [m], of fresh draws under the law (or of random permutations)
    most, stop_after, batch: B, s, draws made together at most
    Guarantee: Pr(p <= alpha) <= alpha under the law, over the data and the draws together, at any alpha; the
    smallest p that can come out is 1 / (1 + B). The seed of the draws must not depend on the data.
    Source: Besag and Clifford 1991 (Sequential Monte Carlo p-values); Phipson and Smyth 2010 for the 1 + b.
    """
    seen = done = 0
    size = min(batch, 64)
    # A statistic that is equal in exact arithmetic may differ in its last digits: equal counts as extreme.
    least = observed - 1e-9 * max(1.0, abs(observed))
    while done < most:
        size = min(size, most - done)
        extreme = statistics(size) >= least
        if seen + np.count_nonzero(extreme) >= stop_after:
            last = int(np.flatnonzero(extreme)[stop_after - seen - 1])
            return stop_after / (done + last + 1), done + last + 1
        seen, done = seen + int(np.count_nonzero(extreme)), done + size
        size = min(batch, 2 * size)
    return (1 + seen) / (1 + most), done
