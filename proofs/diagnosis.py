"""Which known bug does a verifier have? Its measured laws are compared with those of the zoo's mutants."""

from collections.abc import Callable, Sequence

from ..models.rationals import as_float
from ..verifiers.zoo.catalogue import ZooEntry
from .laws import total_variation
from .measurement import Measurement


def distance(one: Measurement, other: Measurement) -> float:
    """The largest total variation, over draft blocks, between two laws of what is emitted given the block."""
    if one.blocks.keys() != other.blocks.keys():
        return 1.0
    return max((as_float(total_variation(law, other.blocks[block])) for block, law in one.blocks.items()), default=0.0)


def diagnose(
    refuted: Sequence[Measurement],
    entries: Sequence[ZooEntry],
    measure: Callable[[ZooEntry, Measurement], Measurement | None],
) -> list[dict]:
    """The mutants that behave exactly as the verifier on every problem given, up to rounding.

    refuted: measurements with a known law, at least one of which the verifier fails.
    measure: the law of a mutant on the problem of a measurement; None if it cannot be computed.
    """
    same = []
    for entry in (e for e in entries if refuted and "lossless" in e.refutes):
        worst = 0.0
        for measurement in refuted:
            mutant = measure(entry, measurement)
            worst = max(worst, distance(measurement, mutant) if mutant is not None and mutant.known else 1.0)
            if worst > measurement.tolerance:
                break
        else:
            about = {"mutant": entry.name, "title": entry.title, "ancestor": entry.ancestor, "link": entry.link}
            same.append(about | {"problems": [m.problem.name for m in refuted], "distance": worst})
    return same
