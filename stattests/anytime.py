"""A sequential test of a black box, which stops as soon as it can: refuted, bounded, or out of draws."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..models.errors import InputError
from .bounds import total_variation_bound
from .cells import Counts, Law, checked_counts, checked_law
from .eprocess import log_evidence, unspent

FIRST_LOOK, LOOK_GROWTH = 1000, 1.1
"""Draws before the first look, and the factor by which the draws grow from look to look."""


class SequentialResult(NamedTuple):
    """The result of a sequential test.

    refuted: whether the law is refuted; a right law is, with probability at most alpha
    draws: number of draws taken
    log_e: log of the evidence against the law, at the end
    upper: upper bound on the total variation, at confidence 1 - alpha
    impossible: the cell of probability 0 that was hit and its count, or None
    counts: [V], all draws
    """

    refuted: bool
    draws: int
    log_e: float
    upper: float
    impossible: tuple[int, int] | None
    counts: np.ndarray


def looks(max_draws: int, first: int = FIRST_LOOK, growth: float = LOOK_GROWTH) -> Iterator[int]:
    """The numbers of draws at which the test looks, ending with ``max_draws``."""
    at = min(first, max_draws)
    while at < max_draws:
        yield at
        at = max(at + 1, math.ceil(at * growth))
    yield max_draws


def sequential_test(
    draw: Callable[[int], Counts],
    law: Law,
    *,
    alpha: float = 1e-6,
    bound: float | None = None,
    max_draws: int = 1_000_000,
) -> SequentialResult:
    """Draw until the law is refuted, or the total variation is at most ``bound``, or ``max_draws`` are drawn.

    Refuted where log E >= log(1 / alpha) at any look; bounded where the upper bound, at confidence 1 - alpha_j with
    the alpha_j of all looks adding up to alpha, is at most ``bound``.
    draw: n -> counts of n fresh draws, [V]
    law: [V], sum 1
    alpha: rate of false alarms
    bound: total variation, or None to go on to ``max_draws``
    max_draws: number of draws
    Guarantee: under the law, Pr(refuted) <= alpha; whatever the law, Pr(TV > upper) <= alpha.
    Raises: InputError for a law that does not add up to 1, counts of another shape or another number of draws, and an
    alpha or bound outside of (0, 1).
    """
    if not 0 < alpha < 1 or not (bound is None or 0 < bound < 1) or max_draws < 1:
        raise InputError(f"expected 0 < alpha < 1, 0 < bound < 1, max_draws >= 1; got {alpha}, {bound}, {max_draws}")
    law = checked_law(law)
    row = np.array(list(law.values()))
    possible = row > 0
    counts = np.zeros(len(row), dtype=np.int64)
    log_e, upper, n = 0.0, 1.0, 0
    for look, n in enumerate(looks(max_draws)):
        wanted = n - int(counts.sum())
        seen = dict(checked_counts(draw(wanted), law))
        fresh = np.array([seen.pop(outcome, 0) for outcome in law])
        if seen:
            raise InputError(f"counts of {next(iter(seen))!r}, which the law does not list")
        if fresh.sum() != wanted:
            raise InputError(f"{fresh.sum()} draws were counted, expected {wanted}")
        counts += fresh
        impossible = np.where(possible, 0, counts)
        if impossible.any():
            worst = int(impossible.argmax())
            return SequentialResult(True, n, math.inf, 1.0, (worst, int(impossible[worst])), counts)
        log_e = float(log_evidence(counts[possible], row[possible]))
        share = alpha * (unspent(look) - unspent(look + 1))
        upper = min(upper, total_variation_bound(counts, row, share).upper)
        if log_e >= -math.log(alpha) or (bound is not None and upper <= bound):
            break
    return SequentialResult(log_e >= -math.log(alpha), n, log_e, upper, None, counts)
