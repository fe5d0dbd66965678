"""Optimality by duality, on the battery: certificates made, and checked by the checker of its own."""

import json
import re
from collections.abc import Iterator

from ...models.battery import exact_battery
from ...models.problem import as_json
from ...models.rationals import as_float
from ...verifiers.evidence import HOLDS, REFUTED
from ...verifiers.registry import reference
from ..certificates import check, check_coupling, make, make_coupling
from ..certificates.linear_program import largest_acceptance
from ..field import in_field
from ..laws import expected_accepted, output_law
from ..proving import Proof, ProofResult, size_of

MOST_BLOCKS_IN_BATTERY = 130
"""Draft blocks beyond which a problem is left out."""


def proofs() -> Iterator[Proof]:
    """Optimality by linear programming duality, on the battery: made, and checked by the checker of its own."""
    battery = [p for p in exact_battery() if p.vocabulary**p.gamma <= MOST_BLOCKS_IN_BATTERY]

    def entry(claim, name, certify, checker) -> Proof:
        def run_all() -> ProofResult:
            for problem in battery:
                try:
                    value = checker(json.dumps(certify(problem)), as_json(problem.tabulated()))
                except check.Rejected as reason:
                    return ProofResult(REFUTED, f"on {problem.name}: {reason}")
                reached = expected_accepted(output_law(in_field(problem), reference(name).as_run()))
                if str(value) != str(reached):
                    return ProofResult(REFUTED, f"on {problem.name}: the optimum is {value}, {name} accepts {reached}")
            return ProofResult(HOLDS)

        return Proof(claim, "certificate", name, size_of(battery), run_all)

    for claim in ("theorem-2", "lemma-4"):
        yield entry(claim, "block", make.certificate, check.check)
    yield entry("lemma-10", "greedy-block", make_coupling.certificate, check_coupling.check)
    scaled = [p for p in battery if p.vocabulary**p.gamma <= 32 and not re.match("peaked|mixed|markov-mixed", p.name)]
    yield Proof("theorem-2", "certificate", "block, against the linear program of all valid verifiers by HiGHS, to 1e-7",
                size_of(scaled), lambda: _optimum(scaled))  # fmt: skip


def _optimum(problems) -> ProofResult:
    """The numerical optimum, which knows nothing of block verification; peaked rows are beyond its tolerances."""
    for problem in problems:
        value = as_float(expected_accepted(output_law(in_field(problem), reference("block").as_run())))
        optimum = largest_acceptance(problem)
        if abs(optimum - value) > 1e-7:
            return ProofResult(REFUTED, f"on {problem.name}: the optimum is {optimum}, block accepts {value}")
    return ProofResult(HOLDS)
