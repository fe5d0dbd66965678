"""Optimality by duality, on the battery: certificates made, and checked by the checker of its own."""

import json
import re
from collections.abc import Iterator

from ...models.battery import exact_battery
from ...models.problem import as_json
from ...models.rationals import as_float
from ...verifiers.evidence import HOLDS, REFUTED
from ...verifiers.registry import reference
from ..certificates import check, check_coupling, coupling, make
from ..certificates.program import largest_acceptance
from ..field import in_field
from ..laws import expected_accepted, output_law
from .proof import Found, Proof, size_of

MOST_BLOCKS = 130
"""Draft blocks beyond which a problem is left out."""


def proofs() -> Iterator[Proof]:
    """Optimality by linear programming duality, on the battery: made, and checked by the checker of its own."""
    battery = [p for p in exact_battery() if p.vocabulary**p.gamma <= MOST_BLOCKS]

    def entry(claim, name, certify, checker) -> Proof:
        def run_all() -> Found:
            for problem in battery:
                try:
                    value = checker(json.dumps(certify(problem)), as_json(problem.tabulated()))
                except check.Rejected as reason:
                    return Found(REFUTED, f"on {problem.name}: {reason}")
                reached = expected_accepted(output_law(in_field(problem), reference(name).as_run()))
                if str(value) != str(reached):
                    return Found(REFUTED, f"on {problem.name}: the optimum is {value}, {name} accepts {reached}")
            return Found(HOLDS)

        return Proof(claim, "certificate", name, size_of(battery), run_all)

    for claim in ("theorem-2", "lemma-4"):
        yield entry(claim, "block", make.certificate, check.check)
    yield entry("lemma-10", "greedy-block", coupling.certificate, check_coupling.check)
    scaled = [p for p in battery if p.vocabulary**p.gamma <= 32 and not re.match("peaked|mixed|markov-mixed", p.name)]
    yield Proof("theorem-2", "certificate", "block, against the linear program of all valid verifiers by HiGHS, to 1e-7",
                size_of(scaled), lambda: _optimum(scaled))  # fmt: skip


def _optimum(problems) -> Found:
    """The numerical optimum, which knows nothing of block verification; peaked rows are beyond its tolerances."""
    for problem in problems:
        value = as_float(expected_accepted(output_law(in_field(problem), reference("block").as_run())))
        optimum = largest_acceptance(problem)
        if abs(optimum - value) > 1e-7:
            return Found(REFUTED, f"on {problem.name}: the optimum is {optimum}, block accepts {value}")
    return Found(HOLDS)
