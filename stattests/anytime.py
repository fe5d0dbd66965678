"""An audit of a black box that stops as soon as it can: refuted, or the bound reached, or out of draws."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..models.errors import InputError
from .bounds import total_variation_bound
from .cells import checked_counts, checked_law
from .eprocess import log_evidence, unspent

FIRST, GROWTH = 1000, 1.1
"""Draws before the first look, and by how much the draws grow from look to look."""


class Audited(NamedTuple):
    """refuted: at most alpha of right laws ever are. upper: the total variation is at most that, at 1 - alpha.

    draws: taken; log_e: at the end; impossible: the cell of probability 0 that was hit, with its count;
    counts: [V], all draws.
    """

    refuted: bool
    draws: int
    log_e: float
    upper: float
    impossible: tuple[int, int] | None
    counts: np.ndarray


def looks(most: int, first: int = FIRST, growth: float = GROWTH) -> Iterator[int]:
    """The numbers of draws at which an audit looks, ending with ``most``."""
    at = min(first, most)
    while at < most:
        yield at
        at = max(at + 1, math.ceil(at * growth))
    yield most


def audit(
    draw: Callable[[int], Any],
    law: Any,
    *,
    alpha: float = 1e-6,
    bound: float | None = None,
    most: int = 1_000_000,
) -> Audited:
    """Draw until the law is refuted, or the total variation is known to be at most ``bound``, or ``most`` draws.

    Refuted where log E >= log(1 / alpha) at any look; bounded where the upper bound, at confidence 1 - alpha_j with
    the alpha_j of all looks adding up to alpha, is at most ``bound``.
    draw: n -> counts of n fresh draws, [V]; law: [V], sum 1.
    Guarantee: under the law, Pr(refuted) <= alpha; whatever the law, Pr(TV > upper) <= alpha.
    Raises: InputError for a law that does not add up to 1, counts of another shape or another number of draws, and an
    alpha or bound outside of (0, 1).
    """
    if not 0 < alpha < 1 or not (bound is None or 0 < bound < 1) or most < 1:
        raise InputError(f"expected 0 < alpha < 1, 0 < bound < 1, most >= 1; got {alpha}, {bound}, {most}")
    law = checked_law(law)
    row = np.array(list(law.values()))
    kept = row > 0
    counts = np.zeros(len(row), dtype=np.int64)
    log_e, upper = 0.0, 1.0
    for look, n in enumerate(looks(most)):
        wanted = n - int(counts.sum())
        seen = dict(checked_counts(draw(wanted), law))
        fresh = np.array([seen.pop(outcome, 0) for outcome in law])
        if seen:
            raise InputError(f"counts of {next(iter(seen))!r}, which the law does not list")
        if fresh.sum() != wanted:
            raise InputError(f"{fresh.sum()} draws were counted, expected {wanted}")
        counts += fresh
        strange = np.where(kept, 0, counts)
        if strange.any():
            worst = int(strange.argmax())
            return Audited(True, n, math.inf, 1.0, (worst, int(strange[worst])), counts)
        log_e = float(log_evidence(counts[kept], row[kept]))
        share = alpha * (unspent(look) - unspent(look + 1))
        upper = min(upper, total_variation_bound(counts, row, share).upper)
        if log_e >= -math.log(alpha) or (bound is not None and upper <= bound):
            break
    return Audited(log_e >= -math.log(alpha), n, log_e, upper, None, counts)
