"""Whole audits, timed from outside: verifiers in NumPy and on plain lists, transformers in each precision, the zoo, the
exact tests.

Limits in processor time: NumPy 30 s, plain lists 90 s, transformers in float64 60 s; the zoo 5 minutes, pytest -m exact
60 s.
"""

import importlib.util
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from draftproof.corpus.site.zoo import audit_zoo
from draftproof.reports.audits.api import audit
from draftproof.tests.subjects import styles

STYLES = (
    (f"{Path(__file__).parents[1]}/examples/right.py:verify", None, 30),
    (f"{styles.__file__}:on_lists", "list", 90),
    (f"{styles.__file__}:on_lists_by_a_loop", "list", None),
)


def main():
    print(
        f"audits on {platform.node() or 'this machine'} ({platform.processor() or platform.machine()}), "
        f"Python {platform.python_version()}"
    )
    for subject, array, limit in STYLES:
        start = _processor_time()
        report = audit(subject, array=array)
        took, name = _processor_time() - start, subject.rpartition("/")[2]
        print(f"{name:<32} {took:6.1f} s  {_against(took, limit)}  verdict {report.verdict}")
    if importlib.util.find_spec("torch") and importlib.util.find_spec("transformers"):
        for dtype, limit in (("float64", 60), ("float32", None), ("bfloat16", None)):
            start = _processor_time()
            report = audit("transformers", dtypes=[dtype])
            took = _processor_time() - start
            worst = max(e.total_variation for e in report.evidence if e.claim == "lossless")
            print(
                f"transformers {dtype:<9} {took:6.1f} s  {_against(took, limit)}  "
                f"worst deviation TV {worst:.2g}, verdict {report.verdict}"
            )
    else:
        print("transformers: skipped, torch or transformers is not installed")
    start = time.perf_counter()
    rows = audit_zoo(lambda what, done, of: None)
    took = time.perf_counter() - start
    print(
        f"zoo ({len(rows)} entries)       {took:6.1f} s  {_against(took, 300)}  "
        f"as expected: {sum(r['as_expected'] for r in rows)} of {len(rows)}"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-m", "exact"], capture_output=True, text=True)
    took = time.perf_counter() - start
    print(f"pytest -m exact        {took:6.1f} s  {_against(took, 60)}  {done.stdout.strip().splitlines()[-1]}")


def _processor_time():
    """Seconds of processor time, of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def _against(took, limit):
    return f"{took / limit:4.2f} of the limit of {limit} s" if limit else "(no limit stated)      "


if __name__ == "__main__":
    main()
