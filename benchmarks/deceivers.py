"""Defects drawn at random, and the rate at which the default problems of an audit refute them, by size and by region.

A defect has a region (of p, q, p/q, the residual, position, token id, width, ties), a mistake, and a size: the
probability of the mistake where it acts. Not found are those too small for float64's rounding rule and those whose
region no problem reaches.
"""

import sys
import time
from collections import defaultdict

from draftproof.models.battery import audit_battery, toy
from draftproof.models.problem import Problem
from draftproof.models.wide import WideProblem, wide_battery
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.wide_claims import judge_wide
from draftproof.proofs.wide_measurement import measured_wide
from draftproof.tests.deceivers import drawn

NUMBER = 100
WIDEST = 70_000
"""Vocabulary up to which wide problems are used here; wider ones show the same regions in more time."""


def refutation(sandbox: Sandbox, number: int, problems: list[Problem | WideProblem]) -> str | None:
    """The first problem on which the verifier with that defect is refuted; None if there is none."""
    sandbox.load(f"{drawn.__file__}:d{number}", [toy(1)])
    for problem in problems:
        if isinstance(problem, WideProblem):
            refuted = judge_wide(measured_wide(problem, "float64", sandbox.law(problem)))[0].refuted
        else:
            refuted = lossless(measured(problem, "float64", sandbox.law(problem))).refuted
        if refuted:
            return problem.name
    return None


def main(number: int = NUMBER) -> None:
    problems = [*audit_battery(), *(p for p in wide_battery() if p.vocabulary <= WIDEST)]
    found, regions, missed = defaultdict(list), defaultdict(list), []
    start = time.perf_counter()
    with Sandbox("", timeout=120) as sandbox:
        for k in range(number):
            one = drawn.defect(k)
            by = refutation(sandbox, k, problems)
            found[int(f"{one.size:.0e}".partition("e")[2])].append(by is not None)
            regions[one.region].append(by is not None)
            if by is None:
                missed.append(f"  d{k}: {one.where}, {one.mistake} with {one.size:.2g}")
    print(f"defects drawn at random: {number}, on {len(problems)} problems, {time.perf_counter() - start:.0f} s")
    print("by size of the mistake, decades:  " + ", ".join(f"1e{d} {_rate(found[d])}" for d in sorted(found)[::-1]))
    print("by region:  " + ", ".join(f"{region} {_rate(hits)}" for region, hits in sorted(regions.items())))
    print("\n".join(["not refuted:", *missed]))


def _rate(hits: list[bool]) -> str:
    return f"{sum(hits)}/{len(hits)}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
