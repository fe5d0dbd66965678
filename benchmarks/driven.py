"""Requests a second to a compiled program that draftproof drives, against the same bytes through ``cat``.

V=8, gamma=2, batches of 256: at least 100,000 requests a second. By the clock this needs idle cores; on a busy machine
see what both sides take of processor time. Most of ours goes into texts of random numbers, and the pipe.
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import draftproof
from draftproof.models.battery import drawn
from draftproof.proofs.driven.answers import random_requests
from draftproof.proofs.driven.programs import DrivenProgram, Pipes
from draftproof.proofs.interception.rows_in_use import RowsInUse
from draftproof.proofs.time_limits import TimeLimits

SOURCE = Path(draftproof.__file__).parent / "examples" / "driven.cpp"
LIMIT, REQUESTS, BATCH, GAMMA, LIMITS = 100_000, 51_200, 256, 2, TimeLimits(600.0)


def best(work, program, times=5):
    """The least of several runs: seconds by the clock, of processor time here, and of the program's."""
    runs = []
    for _ in range(times):
        before = time.perf_counter(), time.process_time(), program.used()
        work()
        runs.append([b - a for a, b in zip(before, (time.perf_counter(), time.process_time(), program.used()))])
    return [min(column) for column in zip(*runs)]


def main():
    if not shutil.which("g++"):
        print("driven: skipped, no g++")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "driven"
        subprocess.run(["g++", "-O2", "-std=c++17", "-o", program, SOURCE], check=True)
        subject = DrivenProgram(str(program), LIMITS, 8.0)
        problem = drawn(8, GAMMA, "generic")
        rows, requests = random_requests(subject, problem, REQUESTS, [0])
        assert isinstance(rows, RowsInUse)
        parts = [requests[k : k + BATCH] for k in range(0, REQUESTS, BATCH)]
        texts = [subject.text(rows, part, 0) for part in parts]
        driven = best(lambda: subject.outcomes(rows, requests), subject.pipes)
        cat = Pipes(["cat"], LIMITS, 8.0)
        copied = best(lambda: [cat.exchange(text, BATCH, 60.0, "cat") for text in texts], cat)
    size = np.mean([len(text) / BATCH for text in texts])
    print(f"V=8, gamma={GAMMA}, batches of {BATCH}, requests of {size:.0f} bytes; requests a second")
    print(f"{'':<24}{'by the clock':>14}{'here':>12}{'program':>12}   (here, program: a second of processor time)")
    for name, seconds in (("the compiled example", driven), ("cat, the same bytes", copied)):
        print(f"{name:<24}" + "".join(f"{REQUESTS / s:>{w},.0f}" for s, w in zip(seconds, (14, 12, 12))))
    rate, (here, there) = REQUESTS / driven[0], driven[1:]
    print(
        f"limit {LIMIT:,}: {'held' if rate >= LIMIT else 'missed'} by the clock; by processor time "
        f"{REQUESTS / max(here, there):,.0f} with a core for each side, {REQUESTS / (here + there):,.0f} on one; "
        f"cat is {driven[0] / copied[0]:.1f} times as fast"
    )


if __name__ == "__main__":
    main()
