"""Audits with one job, and with two, four, eight and so on as far as there are cores, in the same run.

python benchmarks/jobs.py [ROUNDS]. Limits: two jobs are at least 1.7 times as fast as one, eight at least 5 times. Jobs
that take more cores than there are are named, and not measured. Also printed: the part of an audit's processor time
that its own process takes, mostly one thread at a time: it limits what more jobs can gain.
"""

import importlib.util
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from draftproof.tests.subjects import on_lists

AUDITS = {
    "NumPy": [f"{Path(__file__).parents[1]}/examples/right.py:verify"],
    "plain lists": [f"{on_lists.__file__}:on_lists", "--array", "list"],
    "transformers float64": ["transformers", "--dtype", "float64"],
}
LIMITS = {2: 1.7, 8: 5.0}
OWN = """import resource, sys
from draftproof.reports.commands.main import main
try: main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, file=sys.stderr)
"""
"""The command, and last on its standard error the processor time of its own process."""


def timed(words, jobs):
    """Return (seconds by the clock, processor time of all processes, that of the audit's own)."""
    before, start = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-c", OWN, "audit", *words, "--jobs", str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True)
    took, after = time.perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"draftproof audit {' '.join(words)}: exit status {done.returncode}\n{done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, used, float(done.stderr.split()[-1])


def main(rounds):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    powers = [2**k for k in range(1, max(3, cores.bit_length() - 1) + 1)]
    measured, missed = [n for n in powers if n <= cores], False
    print(f"audits with one job and with several, {cores} cores, {rounds} rounds, medians")
    for name, words in AUDITS.items():
        if name.startswith("transformers") and not all(map(importlib.util.find_spec, ("torch", "transformers"))):
            print(f"{name}: skipped, torch or transformers is not installed")
            continue
        runs = [{jobs: timed(words, jobs) for jobs in (1, *measured)} for _ in range(rounds)]
        alone, used, own = (statistics.median(run[1][k] for run in runs) for k in range(3))
        print(
            f"{name}: {alone:.1f} s with one job, {used:.1f} s of processor time, {own / used:.0%} in its own process"
        )
        for jobs in measured:
            ratio = statistics.median(run[1][0] / run[jobs][0] for run in runs)
            limit = LIMITS.get(jobs)
            missed |= limit is not None and ratio < limit
            print(f"  {jobs} jobs: {ratio:.2f} times as fast" + (f" (limit {limit})" if limit else ""))
        for jobs in powers[len(measured) :]:
            print(f"  {jobs} jobs: not measured, there are {cores} cores")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
