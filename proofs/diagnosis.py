"""Diagnosis: a verifier's measured laws are compared with those of the zoo's mutants."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..models.law import Prefix
from ..verifiers.evidence import HOLDS
from ..verifiers.zoo.catalogue import ZooEntry
from .audit_claims import refuted
from .laws import verdict_rule
from .laws.small_law import Measurement

MOST_BLOCKS = 9
"""Largest number of draft blocks of a problem that distinguishes mutants."""

FINE = 1e-6
"""Largest total variation that is excused by the lattice of uniforms, so that mutants stay distinguished."""

FEWEST = 3
"""Number of problems that distinguish mutants, if so many can be measured."""


def compared(failing: Sequence[Measurement], passing: Sequence[Measurement]) -> list[Measurement]:
    """Return the problems that distinguish mutants: small ones, the largest that fail and one of each length of both.

    failing, passing: measurements with a known law; the largest last.
    """
    small, others = ([m for m in of if len(m.blocks) <= MOST_BLOCKS] for of in (failing, passing))
    chosen = [*small[-FEWEST:], *others[-1:]] if small else [*failing[:1], *others[-1:]]
    of_length = [*{m.problem.gamma: m for m in small}.values(), *{m.problem.gamma: m for m in others}.values()]
    chosen += [m for m in of_length if m.problem.gamma not in {one.problem.gamma for one in chosen}]
    return sorted(chosen, key=lambda m: (m.problem.gamma, len(m.blocks)))  # short drafts take the fewest calls


def _impossible(law: Measurement) -> set[tuple[Prefix, Prefix]]:
    """Return the pairs (draft block, what is emitted given it) that hold a token of target probability 0."""
    return {(found.block, found.emitted) for found in law.impossible()}


def _hidden(law: Measurement, claim: str) -> bool:
    """Return whether the lattice of the uniforms can hide by how much a law fails."""
    found = law.departure(claim)
    return not refuted(law, claim) or (
        found.what == "TV" and verdict_rule.decide(found.size, law.grain, law.grain) == HOLDS
    )


class Diagnosis(NamedTuple):
    """A list of the mutants that behave as a verifier.

    same: what is said of each. mutants: how many it was compared with. left_out: how many more fail the claim.
    """

    same: list[dict[str, Any]]
    mutants: int
    left_out: int


def diagnose(
    chosen: Sequence[Measurement],
    entries: Sequence[ZooEntry],
    measure: Callable[[ZooEntry, Measurement], Measurement | None],
    claim: str = "lossless",
) -> Diagnosis:
    """Return the mutants that fail the claim too and behave exactly as the verifier on every problem given, up to
    rounding.

    And up to the lattice of its uniforms, where that is coarser.
    chosen: measurements with a known law, at least one of which the verifier fails.
    measure: the law of a mutant on the problem of a measurement; None if it cannot be computed.
    claim: that the verifier fails, and the mutants too; of ``support`` they have to emit the same impossible tokens.
    Guarantee: a mutant that counts as compared has a law on a problem that differs from the verifier's, or one on every
    problem.
    """
    same, mutants = [], 0
    failing = [entry for entry in entries if chosen and claim in entry.refutes]
    for entry in failing:
        forms = [_compared(chosen, form, measure, claim) for form in entry.forms]
        same += [form for form in forms if form]
        mutants += None not in forms
    return Diagnosis(same, mutants, len(failing) - mutants)


def _compared(
    chosen: Sequence[Measurement],
    entry: ZooEntry,
    measure: Callable[[ZooEntry, Measurement], Measurement | None],
    claim: str,
) -> dict[str, Any] | None:
    """Return what is said of a mutant that behaves as the verifier; {} if it does not. Return None if that is not
    known: without a law, or if the uniforms' lattice or missed requests hide every difference, or all that it fails by.
    """
    worst, fails, hidden = 0.0, False, False
    if claim == "lossless" and all(_hidden(law, claim) for law in chosen):
        return None
    for law in chosen:
        mutant = measure(entry, law)
        if mutant is None or not mutant.known:
            return None
        if not law.agrees_with(mutant, min(law.grain, FINE)):
            if not law.agrees_with(mutant, law.grain + law.missed):
                return {}
            hidden = True
        if claim == "support" and _impossible(law) != _impossible(mutant):
            return {}
        worst = max(worst, law.distance(mutant))
        fails = fails or refuted(mutant, claim)
    if hidden or not fails:
        return None
    about = {"mutant": entry.name, "title": entry.title, "ancestor": entry.ancestor, "link": entry.link}
    return about | {"problems": [m.problem.name for m in chosen], "distance": worst, "claim": claim}
