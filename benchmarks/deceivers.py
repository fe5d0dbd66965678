"""Defects drawn at random, and the rate at which the default problems of an audit refute them, by size and by region.

A defect has a region (of p, q, p/q, the surviving probability, the residual, position, gamma, token id, width, ties),
or two, a mistake, and a size: how often the mistake is made there (``tests/models/defects.py``). Not refuted are those
too small for float64's rounding rule, those whose region no problem reaches, and those that are no mistake there.
"""

import sys
import time
from collections import defaultdict

from draftproof.models.battery import audit_battery, toy
from draftproof.models.problem import Problem
from draftproof.models.wide import WideProblem, wide_battery
from draftproof.proofs.audit_claims import judge, lossless
from draftproof.proofs.measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.wide_measurement import measured_wide
from draftproof.tests.deceivers import drawn
from draftproof.tests.models.defects import drawn_defect

NUMBER = 100
WIDEST = 70_000
"""Vocabulary up to which wide problems are used here; wider ones show the same regions in more time."""


def refutation(sandbox: Sandbox, number: int, problems: list[Problem | WideProblem]) -> str | None:
    """The first problem on which the verifier with that defect is refuted; None if there is none."""
    sandbox.load(f"{drawn.__file__}:d{number}", [toy(1)])
    for problem in problems:
        if isinstance(problem, WideProblem):
            refuted = judge(measured_wide(problem, "float64", sandbox.law(problem)))[0].refuted
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
            one = drawn_defect(k, wide=True)
            by = refutation(sandbox, k, problems)
            found[one.one_in].append(by is not None)
            regions[one.region.partition(" and ")[0]].append(by is not None)
            if by is None:
                missed.append(f"  d{k}: {one.words}")
    print(f"defects drawn at random: {number}, on {len(problems)} problems, {time.perf_counter() - start:.0f} s")
    print("by size of the mistake:  " + ", ".join(f"one in {n:,} {_rate(found[n])}" for n in sorted(found)))
    print("by region:  " + ", ".join(f"{region} {_rate(hits)}" for region, hits in sorted(regions.items())))
    print("\n".join(["not refuted:", *missed]))


def _rate(hits: list[bool]) -> str:
    return f"{sum(hits)}/{len(hits)}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
