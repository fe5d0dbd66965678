"""Which known bug does a verifier have? Its measured laws are compared with those of the zoo's mutants."""

from collections.abc import Callable, Mapping, Sequence

from ..models.law import Prefix
from ..models.rationals import as_float
from ..verifiers.zoo.catalogue import ZooEntry
from .audit_claims import lossless, optimal, support
from .laws import total_variation
from .measurement import Measurement

MOST_BLOCKS = 9
"""Draft blocks of a problem beyond which it is not used to tell mutants apart."""

CLAIMS = {"lossless": lossless, "support": support, "optimal": optimal}
"""Those that mutants fail, and how each is judged."""

FINE = 1e-6
"""The most by which the lattice of uniforms may set two laws apart: mutants stay told apart."""

FEWEST = 3
"""Problems that mutants are told apart by, if so many can be measured."""


def compared(failing: Sequence[Measurement], passing: Sequence[Measurement]) -> list[Measurement]:
    """The problems that mutants are told apart by: small ones, the largest that fail and one of each length of both.

    failing, passing: measurements with a known law; the largest last.
    """
    small, others = ([m for m in of if len(m.blocks) <= MOST_BLOCKS] for of in (failing, passing))
    chosen = [*small[-FEWEST:], *others[-1:]] if small else [*failing[:1], *others[-1:]]
    of_length = [*{m.problem.gamma: m for m in small}.values(), *{m.problem.gamma: m for m in others}.values()]
    chosen += [m for m in of_length if m.problem.gamma not in {one.problem.gamma for one in chosen}]
    return sorted(chosen, key=lambda m: len(m.blocks))


def distance(one: Measurement, other: Measurement) -> float:
    """The largest total variation, over draft blocks, between two laws of what is emitted given the block."""
    if one.blocks.keys() != other.blocks.keys():
        return 1.0
    return max((as_float(total_variation(law, other.blocks[block])) for block, law in one.blocks.items()), default=0.0)


def impossible(measurement: Measurement) -> Mapping[Prefix, frozenset]:
    """Draft block -> what it emits, with however small a probability, that holds a token of target probability 0."""
    row, length = measurement.in_use.target.row, measurement.problem.gamma + 1

    def never(outcome: object) -> bool:
        tokens = outcome[:length] if isinstance(outcome, tuple) else ()
        return any(not 0 <= x < measurement.problem.vocabulary or row(tokens[:i])[x] == 0 for i, x in enumerate(tokens))

    return {block: frozenset(o for o, p in law.items() if p and never(o)) for block, law in measurement.blocks.items()}


def diagnose(
    chosen: Sequence[Measurement],
    entries: Sequence[ZooEntry],
    measure: Callable[[ZooEntry, Measurement], Measurement | None],
    claim: str = "lossless",
) -> list[dict]:
    """The mutants that fail the claim too and behave exactly as the verifier on every problem given, up to rounding.

    Up to the lattice of its uniforms besides, where that is coarser.

    chosen: measurements with a known law, at least one of which the verifier fails.
    measure: the law of a mutant on the problem of a measurement; None if it cannot be computed.
    claim: that the verifier fails, and the mutants too; of ``support`` they have to emit the same impossible tokens.
    """
    same = []
    for entry in (e for e in entries if chosen and claim in e.refutes):
        worst, fails = 0.0, False
        for measurement in chosen:
            mutant = measure(entry, measurement)
            if mutant is None or not mutant.known:
                break
            worst = max(worst, distance(measurement, mutant))
            if worst > measurement.tolerance + min(measurement.grain, FINE):
                break
            if claim == "support" and impossible(measurement) != impossible(mutant):
                break
            fails = fails or CLAIMS[claim](mutant).refuted
        else:
            if not fails:
                continue
            about = {"mutant": entry.name, "title": entry.title, "ancestor": entry.ancestor, "link": entry.link}
            same.append(about | {"problems": [m.problem.name for m in chosen], "distance": worst, "claim": claim})
    return same
