"""One budget of false alarms for the lifetime of a history: Holm over checks, a convergent series over versions."""

import math
from typing import NamedTuple

import numpy as np

from .arguments import checked_rates, checked_size
from .eprocess import unspent

LIFETIME_ALPHA = 1e-3
"""The chance that a history of verifiers without a bug ever shows an alarm, over all checks, versions and years."""


class HolmResult(NamedTuple):
    """The decision on each check.

    alarm: [m], whether it is refuted
    threshold: [m], the log E at which it is (or was) refuted
    """

    alarm: np.ndarray
    threshold: np.ndarray


def cohort_alpha(alpha: float, number: int) -> float:
    """The share of the lifetime budget that the n-th cohort of checks gets, n = 1, 2, ...

    alpha (unspent(n - 1) - unspent(n)); the shares add up to alpha over endlessly many cohorts. A cohort is what
    begins together: the checks of one new version of a subject.
    """
    checked_size("number of the cohort, counted from 1,", number, 1)
    return alpha * (unspent(number - 1) - unspent(number))


def holm(peaks: np.ndarray, alpha: float) -> HolmResult:
    """Holm's procedure on the anytime-valid p-values 1 / max E of the checks of one cohort.

    The k-th largest peak is refuted if it reaches (m - k + 1) / alpha and all larger ones are refuted.
    peaks: [m], the largest log E of each check so far; m is all the checks that the cohort began with
    Guarantee: with probability at least 1 - alpha no check whose law is right is ever refuted, whenever and however
    often this is asked, and whatever the dependence between checks; a refuted check stays refuted. Over cohorts with
    alpha from ``cohort_alpha`` the error rates add up to the lifetime's, even if what begins later depends on what
    was refuted before. Raises: InputError if alpha is not between 0 and 1.
    Source: Holm 1979; max E over time as a p-value: Ville's inequality.
    """
    checked_rates(alpha)
    peaks = np.asarray(peaks, dtype=float)
    alarm = np.zeros(len(peaks), dtype=bool)
    threshold = np.full(len(peaks), np.inf)
    for rank, place in enumerate(np.argsort(-peaks, kind="stable")):
        needed = math.log((len(peaks) - rank) / alpha)
        if peaks[place] < needed:
            threshold[~alarm] = needed
            break
        alarm[place], threshold[place] = True, needed
    return HolmResult(alarm, threshold)
