"""End-to-end runs, timed: each wrong decoding loop on a forged pair, and on a trained one if its folder is named.

python benchmarks/e2e.py [DIR of draftproof train-pair]. Limit: each refuted in under 2 minutes.
"""

import platform
import sys
import tempfile
import time
from pathlib import Path

from draftproof.models.battery import drawn_markov
from draftproof.models.forge import forge
from draftproof.reports.audits.loops.options import LoopOptions
from draftproof.reports.audits.loops.run import run_e2e
from draftproof.tests.subjects.wrong_loops import SHOWN_WITH, wrong_loop

LIMIT = 120
VERIFIERS = ("token", "block", "greedy-block")
"""Of the loop without a bug, which has to pass."""


def main():
    print(
        f"end-to-end runs on {platform.node() or 'this machine'} ({platform.machine()}), "
        f"Python {platform.python_version()}"
    )
    with tempfile.TemporaryDirectory() as folder:
        pair = forge(drawn_markov(3, 2), folder)
        table("forged pair, V = 3", {"target": str(pair.target), "draft": str(pair.draft), "gamma": "2"})
    for folder in sys.argv[1:]:
        pair = {name: str(Path(folder) / name) for name in ("target", "draft")}
        table(f"trained pair {folder}", {**pair, "prompts": folder})


def table(name, options):
    print(f"\n{name}\n{'loop':<14}{'verdict':<14}{'seconds':>8}{'CPU':>7}  of the limit  refuted by")
    for loop in (*SHOWN_WITH, *VERIFIERS):
        examined = wrong_loop(loop) if loop in SHOWN_WITH else {"verifier": loop}
        start, cpu = time.perf_counter(), time.process_time()
        report = run_e2e(LoopOptions(**options, **examined))
        took, cpu = time.perf_counter() - start, time.process_time() - cpu
        refuting = [f"{e.claim} ({e.method})" for e in report.evidence if e.verdict == "refuted"]
        against = f"{took / LIMIT:12.2f}" if loop in SHOWN_WITH else " " * 12
        print(
            f"{loop:<14}{report.verdict:<14}{took:8.1f}{cpu:7.1f}  {against}  {', '.join(dict.fromkeys(refuting))}",
            flush=True,
        )


if __name__ == "__main__":
    main()
