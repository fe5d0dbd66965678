"""Subjects, nights and batches for the tests of the nightly regression."""

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import date, timedelta

import numpy as np

from draftproof.models.battery import drawn
from draftproof.reports.audits.nightly.checks import CheckCounts, check_of
from draftproof.reports.audits.nightly.run import Night, run_night
from draftproof.reports.audits.subject import subject_from

# A shell's background jobs inherit an interrupt that is ignored; a user's command does not.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from draftproof.reports.commands.main import main; main()"
)

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
STUCK = RIGHT.replace(
    "    for i, x",
    "    import time; from pathlib import Path\n"
    "    CALLS.append(1)\n"
    "    while len(CALLS) > 3500 and Path(__file__).with_name('stuck').exists(): time.sleep(0.1)\n    for i, x",
).replace("def verify", "CALLS = []\ndef verify")
"""Where a file of that name is beside it, it stands still after the batches that are waited for."""
WRONG = RIGHT.replace("np.maximum(p - q, 0)", "p")
SLIPS = """
from pathlib import Path
from draftproof.verifiers.zoo.accept_rule import accept_everything as wrong
from right import verify as right
def verify(target_probs, draft_probs, draft_tokens, rng):
    chosen = wrong if Path(__file__).with_name("driver-was-updated").exists() else right
    return chosen(target_probs, draft_probs, draft_tokens, rng)
"""


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


def batches(path):
    """How many are recorded in a file, which may not be there yet."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("select count(*) from draftproof_batches").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def cut_short(path, sent, *arguments):
    """A run of the command that gets a signal once it has recorded two batches, and its output."""
    run = subprocess.Popen(
        [sys.executable, "-c", START, "nightly", *arguments, "--db", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while batches(path) < 2 and run.poll() is None:
        time.sleep(0.02)
    run.send_signal(sent)
    _, output = run.communicate(timeout=3600)
    return run, output
