"""Whole audits, timed from outside: verifiers in NumPy and on plain lists, transformers in each precision, the zoo, the
exact tests. Of an audit: the time in the function itself, for imports, and ours.

Limits in processor time: NumPy 30 s, plain lists 90 s, transformers in float64 60 s; the zoo 5 minutes, pytest -m exact
60 s.
"""

import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from draftproof.benchmarks.timed_child import TIMES
from draftproof.corpus.site.zoo import audit_zoo
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.time_limits import ProcessorTime
from draftproof.reports.audits.api import audit
from draftproof.tests.subjects import on_lists

STYLES = (
    (f"{Path(__file__).parents[1]}/examples/right.py:verify", None, 30),
    (f"{on_lists.__file__}:on_lists", "list", 90),
)


def main():
    print(
        f"audits on {platform.node() or 'this machine'} ({platform.processor() or platform.machine()}), "
        f"Python {platform.python_version()}"
    )
    for subject, array, limit in STYLES:
        took, where, report = _timed(subject, array=array)
        name = subject.rpartition("/")[2]
        print(f"{name:<32} {took:6.1f} s  {_against(took, limit)}  {where}  verdict {report.verdict}")
    if importlib.util.find_spec("torch") and importlib.util.find_spec("transformers"):
        for dtype, limit in (("float64", 60), ("float32", None), ("bfloat16", None)):
            took, where, report = _timed("transformers", dtypes=[dtype])
            worst = max(e.total_variation for e in report.evidence if e.claim == "lossless")
            print(
                f"transformers {dtype:<9} {took:6.1f} s  {_against(took, limit)}  {where}  "
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


def _timed(subject, **options):
    """Return an audit's processor time, where it went, and its report."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[TIMES], Sandbox.child = folder, "draftproof.benchmarks.timed_child"
        time_taken = ProcessorTime()
        report = audit(subject, **options)
        took = time_taken.spent()
        spent = [json.loads(file.read_text(encoding="utf-8")) for file in Path(folder).iterdir()]
    own, imports = (sum(one[what] for one in spent) for what in ("own", "imports"))
    return took, f"own {own:.1f}, imports {imports:.1f}, ours {took - own - imports:.1f} s", report


def _against(took, limit):
    return f"{took / limit:4.2f} of the limit of {limit} s" if limit else "(no limit stated)      "


if __name__ == "__main__":
    main()
