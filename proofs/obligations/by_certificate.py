"""Optimality by duality, on the battery: certificates made, and checked by the checker of its own."""

import json
from collections.abc import Iterator

from ...models.battery import exact_battery
from ...models.problem import as_json
from ...verifiers.evidence import HOLDS, REFUTED
from ...verifiers.registry import reference
from ..certificates import check, check_coupling, coupling, make
from ..laws import expected_accepted, in_field, output_law
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
                reached = expected_accepted(output_law(in_field(problem), reference(name)))
                if str(value) != str(reached):
                    return Found(REFUTED, f"on {problem.name}: the optimum is {value}, {name} accepts {reached}")
            return Found(HOLDS)

        return Proof(claim, "certificate", name, size_of(battery), run_all)

    for claim in ("theorem-2", "lemma-4"):
        yield entry(claim, "block", make.certificate, check.check)
    yield entry("lemma-10", "greedy-block", coupling.certificate, check_coupling.check)
