"""Block-verified toy blocks a second (V = 4, gamma = 4), draft draws included: from a table, plain Python.

Limit: 10 million a second on 2 cores; its counts are tested against the exact law. Processor seconds are
printed too: on a machine that others use they say what the wall clock cannot.
"""

import argparse
import platform
import random
import time
from typing import NamedTuple

import numpy as np
import psutil

from draftproof.models.battery import drawn
from draftproof.models.decoding import Decoded, iteration
from draftproof.models.problem import with_numbers
from draftproof.models.rationals import as_float
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.reports.audits.campaigns.table_source import TableSource
from draftproof.stattests.campaign.run import plan, run_campaign
from draftproof.stattests.campaign.tally import Outcomes, Tally
from draftproof.stattests.goodness import goodness_of_fit
from draftproof.verifiers.chance import RandomChance
from draftproof.verifiers.registry import reference

LIMIT = 10e6


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--samples", type=int, default=200_000_000)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    problem, verifier = drawn(4, 4, "generic"), reference("block")
    exact = in_field(problem)
    law = {o: as_float(p) for o, p in output_law(exact, verifier).items()}
    print(
        f"sampling of {verifier.name} verification, V = 4, gamma = 4, on {platform.processor() or platform.machine()}"
    )
    print(f"{'':<22}{'samples':>13}{'M/s':>9}{'M/s of processor':>18}  {'fit to the exact law':<24}")

    start = time.perf_counter()
    source = TableSource(verifier, exact)
    making = time.perf_counter() - start
    run_campaign(source, plan(source, 2 * given.workers * source.chunk), workers=given.workers)  # start the workers
    fast = timed(f"table, {given.workers} workers", law,
                 lambda: run_campaign(source, plan(source, given.samples), workers=given.workers).tally)  # fmt: skip
    one = timed("table, 1 process", law, lambda: source.sample(np.random.SeedSequence(1), given.samples // 8))
    plain = timed("plain Python", law, lambda: in_python(problem, verifier, given.samples // 10_000))
    print(f"\nmaking the table: {making:.2f} s")
    print(f"one process against plain Python: {one.busy / plain.busy:.0f} times")
    verdict = "reached" if fast.clock >= LIMIT else "missed"
    free = f"{given.workers * fast.busy / 1e6:.1f} M/s by processor time, had the workers a core each"
    print(f"limit {LIMIT / 1e6:.0f} M/s with {given.workers} workers: {verdict}, {fast.clock / 1e6:.1f} M/s; {free}")


class Rate(NamedTuple):
    """Samples a second of the clock, and a second of processor time."""

    clock: float
    busy: float


def timed(name: str, law: dict, draw) -> Rate:
    """The rate, and a line with it and with what the counts say."""
    start, busy = time.perf_counter(), processor()
    tally = draw()
    took, busy = time.perf_counter() - start, processor() - busy
    counts = dict(tally.items())
    fit = goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | law)
    rate = Rate(tally.n / took, tally.n / busy)
    word = "REFUTED" if fit.p_value <= 1e-6 else "not refuted"
    print(
        f"{name:<22}{tally.n:>13,}{rate.clock / 1e6:>9.2f}{rate.busy / 1e6:>18.2f}  "
        f"{word}, p = {fit.p_value:.2g}, {fit.cells} cells"
    )
    return rate


def processor() -> float:
    """Processor seconds of this process and its workers, which stay for the whole run."""
    here = psutil.Process()
    times = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return sum(t.user + t.system for t in times)


def in_python(problem, verifier, n: int) -> Tally:
    """The reference itself, on floats and Python's generator."""
    floats, chance = with_numbers(problem, float), RandomChance(random.Random(3))
    tally = Tally(Outcomes(problem.vocabulary, problem.gamma + 1))
    for _ in range(n):
        tally.count(iteration(floats, verifier, Decoded(), chance).tokens)
    return tally


if __name__ == "__main__":
    main()
