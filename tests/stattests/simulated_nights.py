"""Simulated nights and audits, clean and broken: for the tests, and at full size for the benchmark."""

import copy

import numpy as np

from draftproof.stattests.anytime import looks
from draftproof.stattests.eprocess import EProcess, log_evidence

DRAWS = 20_000
"""A night and check."""


def uniform(cells):
    return np.full(cells, 1 / cells)


def moved(law, direction, size):
    """The law moved along a direction until the total variation is ``size``."""
    return law + direction * (2 * size / np.abs(direction).sum())


def spread(law, size):
    """The deviation of that size that is hardest to see: every cell moved in proportion to its probability.

    sum_k (p'_k - p_k)^2 / p_k is then 4 size^2, the least there is (exactly so for an even number of equal cells).
    """
    return moved(law, law * np.where(np.arange(len(law)) % 2, 1.0, -1.0), size)


def clean_process(law, threshold, *, runs, rng, nights, restarts=True):
    """An e-process for each run after so many clean nights, none of which raised an alarm."""
    process = EProcess(law, (runs,))
    for night in range(1, nights + 1):
        if restarts or night == 1:
            process.open_night()
        process.add(rng.multinomial(DRAWS, law, size=runs))
        assert (process.log_e < threshold).all()
    return process


def nights_to_alarm(law, broken, threshold, *, runs, rng, begins=181, most=40, restarts=True, clean=None):
    """For each run the nights from the first broken one to the alarm, inclusive; infinite if more than ``most``.

    clean: the process after ``begins - 1`` clean nights, to use them for several laws.
    """
    process = copy.deepcopy(clean) or clean_process(
        law, threshold, runs=runs, rng=rng, nights=begins - 1, restarts=restarts
    )
    found = np.full(runs, np.inf)
    for night in range(1, most + 1):
        if restarts or begins + night == 2:
            process.open_night()
        process.add(rng.multinomial(DRAWS, broken, size=runs))
        found[(process.log_e >= threshold) & np.isinf(found)] = night
        if np.isfinite(found).all():
            break
    return found


def clean_peaks(law, *, checks, nights, rng):
    """The largest log E that each of the checks reaches in so many clean nights."""
    process = EProcess(law, (checks,))
    peaks = np.zeros(checks)
    for _ in range(nights):
        process.open_night()
        process.add(rng.multinomial(DRAWS, law, size=checks))
        peaks = np.maximum(peaks, process.log_e)
    return peaks


def clean_sequential_tests(law, *, audits, most, rng):
    """The largest log E at any look of each of the audits of a source that follows the law."""
    counts = np.zeros((audits, len(law)), dtype=np.int64)
    peaks, before = np.full(audits, -np.inf), 0
    for at in looks(most):
        counts += rng.multinomial(at - before, law, size=audits)
        peaks, before = np.maximum(peaks, log_evidence(counts, law)), at
    return peaks
