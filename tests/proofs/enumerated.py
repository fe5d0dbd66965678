"""Measured laws without a child process: of reference verifiers, exact, and moved by so much."""

from draftproof.models.battery import drawn, exact_battery
from draftproof.models.wide import wide
from draftproof.proofs.field import in_field, rational
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.proofs.laws.small_law import Measurement
from draftproof.proofs.laws.wide_law import WideMeasurement
from draftproof.verifiers.evidence import HOLDS, REFUTED
from draftproof.verifiers.registry import reference

PROBLEM = drawn(3, 1, "generic")
ZEROS = drawn(3, 2, "zeros")
WIDE = wide(1_003, 0)
EXACT = [*exact_battery()]
"""Problems whose laws are enumerated over fractions, made once for all tests that choose among them."""


def law_of(problem=PROBLEM, verifier="block", moved=0.0, **fields):
    """A reference verifier's law, with so much of the likeliest outcome on the next; within 2e-9 nothing is decided."""
    law = output_law(in_field(problem), reference(verifier))
    next_best, best = sorted(law, key=lambda o: (law[o], o))[-2:]
    law |= {best: law[best] - rational(moved), next_best: law[next_best] + rational(moved)}
    allowed = {"tolerance": 1e-9, "explained": 2e-9, "rounding": {"rule": 1e-9, "theorem": 2e-9}}
    return Measurement(problem, in_field(problem), {(): law}, **{"dtype": "float64"} | allowed | fields)


def impossible_law(problem=ZEROS):
    """A law that emits, now and then, a token that the target excludes."""
    row = problem.target.row(())
    never = next(token for token, p in enumerate(row) if p == 0)
    law = law_of(problem)
    blocks = {(): {**law.blocks[()], (never,): rational("1/1048576")}}
    return Measurement(problem, law.in_use, blocks, dtype="float64", tolerance=1e-9, explained=2e-9)


def wide_law(moved=0.0, **fields):
    """The target's own law on a problem of many tokens, none of them drafted."""
    law = WideMeasurement(WIDE, dtype="float64").with_given_rows()
    row = law.target[()].copy()
    row[[0, 1]] += (moved, -moved)
    return WideMeasurement(WIDE, law.target, law.draft, {(): row}, dtype="float64", **fields).allowing(0.0, 0.0)


def planted(deviation, tolerance, explained):
    """Another rule: what is near is refuted, what is far holds."""
    return REFUTED if deviation <= tolerance else HOLDS
