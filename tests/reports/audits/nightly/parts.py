"""Subjects, nights and batches for the tests of the nightly regression."""

from datetime import date, timedelta

import numpy as np

from draftproof.models.battery import drawn
from draftproof.reports.audits.nightly.checks import CheckCounts, check_of
from draftproof.reports.audits.nightly.run import Night, run_night
from draftproof.reports.audits.subject import subject_from

RIGHT = """
import numpy as np
def verify(target_probs, draft_probs, draft_tokens, rng):
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if rng.random() * q[x] >= p[x]:
            rest = np.maximum(p - q, 0)
            return [*draft_tokens[:i], rng.choice(len(p), p=rest / rest.sum())]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]
"""
WRONG = RIGHT.replace("np.maximum(p - q, 0)", "p")


def night_of(day):
    return (date(2025, 1, 1) + timedelta(day - 1)).isoformat()


def drawn_by(history, file, day, samples=3000, problems=(), **options):
    night = Night(night_of(day), samples=samples, problems=problems or [drawn(3, 2, "generic")], **options)
    return run_night(history, [subject_from(f"{file}:verify")], night)


def a_check():
    return check_of(drawn(2, 3, "generic"), False)


def recorded(history, nights, draws=2000, seed=0):
    """A history of clean nights of one check, without a subject."""
    rng, check = np.random.default_rng(seed), a_check()
    (number,) = history.enrol("someone.py:f", "sha256:0123456789abcdef", [check])
    for day in range(1, nights + 1):
        counted = CheckCounts(rng.multinomial(draws, check.law), None)
        history.record(number, check, night_of(day), 1000 * seed + day, counted)
    return number, check
