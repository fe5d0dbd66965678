"""The smallest witness of every mutant of the zoo: what the gallery of real bugs shows."""

import json
from fractions import Fraction
from typing import NamedTuple

from draftproof.models.battery import audit_battery, toy
from draftproof.models.errors import RunFailed
from draftproof.models.problem import Problem, as_json, rows_of
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.shrink import shrink, size
from draftproof.reports.audits.functions.batch_influence import PROBLEMS
from draftproof.verifiers.evidence import REFUTED, Evidence, Method, Witness
from draftproof.verifiers.zoo.catalogue import BATCH_MUTANTS, MUTANTS, ZooEntry

ODD = 1000
"""The largest denominator of rows from which a witness is looked for first."""

PLAIN = 1e-6
"""Total variation of a witness that is looked for first: what a person sees."""


class Gallery(NamedTuple):
    """One mutant on the smallest problem that shows its bug.

    problem: the problem; of a mutant of batches None.
    refuted: the evidence against the claim that fails, None where no small problem has a law that shows it.
    """

    problem: Problem | None
    refuted: Evidence | None


def smallest_witness(sandbox: Sandbox, entry: ZooEntry) -> Gallery:
    """Return the smallest problem found on which one of the claims that the entry must fail is refuted."""
    sandbox.load(entry.measured, [toy(1)])

    seen: dict[str, Evidence | None] = {}

    def refutation(problem: Problem) -> Evidence | None:
        key = json.dumps(as_json(problem), sort_keys=True)
        if key not in seen:
            seen[key] = judged(problem)
        return seen[key]

    def judged(problem: Problem) -> Evidence | None:
        try:
            evidence = judge(measured(problem, "float64", sandbox.law(problem)))
        except RunFailed:
            return None
        return next((e for e in evidence if e.claim in entry.refutes and e.refuted and e.witness), None)

    problems = sorted([toy(1), toy(2), *audit_battery()], key=lambda problem: (_is_odd(problem), size(problem)))

    def is_shown(problem: Problem, by: float) -> bool:
        shown = refutation(problem)
        return shown is not None and (shown.total_variation is None or shown.total_variation >= by)

    least = next((by for by in (PLAIN, 0.0) if any(is_shown(p, by) for p in problems)), None)
    if least is None:
        return Gallery(problems[0], None)
    first = next(p for p in problems if is_shown(p, least))
    smallest = shrink(first, lambda smaller: is_shown(smaller, least))
    return Gallery(smallest, refutation(smallest))


def _is_odd(problem: Problem) -> bool:
    """Return whether it has numbers that nobody reads."""
    rows = [*rows_of(problem.target), *rows_of(problem.draft)]
    return any(Fraction(p).denominator > ODD for row in rows for p in row)


def gallery() -> dict[str, Gallery]:
    """Name of each mutant -> its smallest witness."""
    with Sandbox("", timeout=60) as sandbox:
        found = {name: smallest_witness(sandbox, entry) for name, entry in MUTANTS.items()}
        return found | {name: influenced_row(sandbox, entry) for name, entry in BATCH_MUTANTS.items()}


def influenced_row(sandbox: Sandbox, entry: ZooEntry) -> Gallery:
    """Return the first request of a batch that emits among others what it does not alone."""
    sandbox.load(entry.target, [toy(1)])
    shown = sandbox.batches(PROBLEMS, 0)["influenced"]
    one = min(shown, key=lambda one: (len(one["tokens"]), one["way"]))
    where = f"{','.join(map(str, one['tokens']))}: {one['way']}, place {one['place']} of {one['rows']}"
    return Gallery(None, Evidence(
        claim="batch", method=Method.BATCH, verdict=REFUTED, problem="",
        witness=Witness(sequence=where, expected=one["alone"], observed=one["among"]),
    ))  # fmt: skip
