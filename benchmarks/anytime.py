"""The anytime-valid tests: false alarms, nights to an alarm, draws to a refutation beside the optimum.

python benchmarks/anytime.py [--quick]: every figure is a simulation with fixed seeds; the deviations are the one that
is hardest to detect and those of the zoo's mutants, scaled to the total variation stated.
"""

import math
import sys
import time

import numpy as np
from scipy.special import chdtri

from draftproof.models.battery import drawn
from draftproof.models.errors import RunFailed
from draftproof.models.rationals import as_float
from draftproof.proofs.laws.reference_laws import completed, joint_law
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.stattests.anytime import sequential_test
from draftproof.stattests.eprocess import cohort_alpha, holm
from draftproof.stattests.power import needed_noncentrality
from draftproof.tests.stattests.simulated_nights import (
    DRAWS,
    clean_peaks,
    clean_sequential_tests,
    moved,
    nights_to_alarm,
    spread,
    uniform,
)
from draftproof.verifiers.zoo.catalogue import MUTANTS

CHECKS, BEGINS = 400, 181


def draws_to_refute(law, broken, *, runs, rng, alpha=1e-6, most=10_000_000):
    """The draws after which each audit ended; every one must end with a refutation."""
    ends = []
    for _ in range(runs):
        found = sequential_test(lambda n: rng.multinomial(n, broken), law, alpha=alpha, max_draws=most)
        assert found.refuted
        ends.append(found.draws)
    return np.array(ends)


def fixed_sample_optimum(size, cells, alpha=1e-6, beta=1e-3):
    """The draws that a chi-square test of fixed size needs for the deviation that is hardest to see.

    n such that noncentrality 4 n size^2 is missed with probability beta at rate alpha.
    """
    return needed_noncentrality(float(chdtri(cells - 1, alpha)), cells - 1, beta) / (4 * size**2)


def directions(problem):
    """For each mutant that deviates on the problem: the target's law of completed tokens, and the mutant's."""
    by_mutant = {}
    with Sandbox("", timeout=120) as sandbox:
        for entry in (e for e in MUTANTS.values() if "lossless" in e.refutes):
            try:
                sandbox.load(entry.target, [drawn(3, 2, "generic")])
                measurement = measured(problem, "float64", sandbox.law(problem))
            except RunFailed:
                continue
            if not measurement.known:
                continue
            target = measurement.in_use.target
            law = joint_law(target, problem.gamma + 1)
            mutant = completed(measurement.outputs(), target, problem.gamma + 1)
            p = np.array([as_float(law[x]) for x in sorted(law)])
            q = np.array([as_float(mutant.get(x, law[x] * 0)) for x in sorted(law)])
            if np.abs(p - q).sum() / 2 > 1e-6:
                by_mutant[entry.name] = (p, q - p)
    return by_mutant


def visibility(law, direction):
    """sum_k (p'_k - p_k)^2 / p_k over the least that it can be at that total variation."""
    return float((direction**2 / law).sum() / np.abs(direction).sum() ** 2)


def row(name, law, direction, size, threshold, runs, seed, most):
    broken = moved(law, direction, size)
    if (broken < 0).any():
        return None
    rng = np.random.default_rng(seed)
    nights = nights_to_alarm(law, broken, threshold, runs=runs, rng=rng, begins=BEGINS, most=most)
    quantiles = " / ".join(f"{q:.0f}" for q in np.percentile(nights, [50, 90, 100], method="higher"))
    print(f"  {name:<24}{size:<8}{visibility(law, direction):<12.2f}{quantiles}")
    return np.median(nights)


def main():
    quick = "--quick" in sys.argv
    began = time.process_time()
    law = uniform(16)

    audits, most = (1000, 100_000) if quick else (10_000, 1_000_000)
    peaks = clean_sequential_tests(law, audits=audits, most=most, rng=np.random.default_rng(1))
    print(
        f"{audits:,} clean audits of up to {most:,} draws, a look every 10 %: "
        f"{(peaks >= math.log(1e6)).sum()} false alarms"
        f" at 1e-6 (largest E {math.exp(peaks.max()):,.0f}); E ever above 20: {np.mean(peaks >= math.log(20)):.4f},"
        " at most 0.05 by Ville"
    )

    nights = 90 if quick else 3 * 365
    peaks = clean_peaks(law, checks=CHECKS, nights=nights, rng=np.random.default_rng(2))
    for alpha in (1e-3, 1e-6):
        alarms = holm(peaks, cohort_alpha(alpha, 1)).alarm.sum()
        print(
            f"{nights} clean nights, {CHECKS} checks, {DRAWS:,} draws: {alarms} alarms at a lifetime rate of {alpha:g}"
        )

    optimum = fixed_sample_optimum(0.01, 16)
    ends = draws_to_refute(law, spread(law, 0.01), runs=20 if quick else 100, rng=np.random.default_rng(3))
    print(
        f"draws to refute TV 0.01 at V = 16 (hardest direction, 1e-6): median {np.median(ends):,.0f}, "
        f"fixed-sample chi-square (miss 1e-3) {optimum:,.0f}, ratio {np.median(ends) / optimum:.2f} (allowed 3)"
    )

    runs = 20 if quick else 100
    few = law * 0
    few[:2] = 1, -1
    hardest = spread(law, 0.02) - law
    zoo = directions(drawn(2, 3, "generic"))
    ranked = sorted(zoo, key=lambda name: visibility(*zoo[name]))
    wide = directions(drawn(4, 3, "generic")) if not quick else {}
    for alpha in (1e-3, 1e-6):
        threshold = math.log(CHECKS / cohort_alpha(alpha, 1))
        print(
            f"\nnights from night {BEGINS} to the alarm, one of {CHECKS} checks, lifetime rate {alpha:g}: "
            f"median / 90 % / worst of {runs}\n  {'direction':<24}{'TV':<8}{'visibility':<12}nights"
        )
        for size, most in ((0.02, 15), (0.01, 40)):
            needed = " and ".join(
                f"{fixed_sample_optimum(size, cells, math.exp(-threshold)) / DRAWS:.1f} at {cells} cells"
                for cells in (16, 256)
            )
            print(
                f"  TV {size}: a chi-square test that knows the night, at the same rate, missing 1e-3, needs {needed}"
            )
            row("16 cells, hardest", law, hardest, size, threshold, runs, 4, most)
            row("16 cells, two of them", law, few, size, threshold, runs, 5, most)
            chosen = ranked if not quick else ranked[::8]
            medians = [row(f"16 cells, {n}", *zoo[n], size, threshold, runs, 6, most) for n in chosen]
            known = [m for m in medians if m is not None]
            wanted = 3 if size == 0.02 else 7
            print(
                f"  all {len(known)} mutants: median of medians {np.median(known):.0f}, within {wanted} nights "
                f"in the median run: {sum(m <= wanted for m in known)}"
            )
            if wide:
                broad = uniform(256)
                row("256 cells, hardest", broad, spread(broad, size) - broad, size, threshold, runs, 7, 2 * most)
                order = sorted(wide, key=lambda name: visibility(*wide[name]))
                for name in (order[0], order[len(order) // 2], order[-1]):
                    row(f"256 cells, {name}", *wide[name], size, threshold, runs, 8, 2 * most)
    print(f"\nCPU time {time.process_time() - began:.0f} s (this process)")


if __name__ == "__main__":
    main()
