"""Whole audits, timed from outside: transformers in each precision, the zoo, the exact tests.

Limits: transformers at float64 under 60 s of processor time, the zoo under 5 minutes, pytest -m exact under 60 s.
"""

import importlib.util
import os
import platform
import subprocess
import sys
import time

from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions.zoo import audit_zoo


def main():
    print(
        f"audits on {platform.node() or 'this machine'} ({platform.processor() or platform.machine()}), "
        f"Python {platform.python_version()}"
    )
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
