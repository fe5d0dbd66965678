"""The laws on long blocks every position of which is decided: all together where that takes few ways, else a few."""

from collections.abc import Callable, Iterator, Sequence

from ....models.wide import WideProblem
from ....models.wide_positions import LENGTHS, LENGTHS_APART, SHORTER, apart, regions, together
from ....proofs.interception.wide_laws import TOO_MANY
from ....proofs.wide_law import WideMeasurement

MOST_WAYS = 300
"""Ways up to which a block is followed with all its positions decided: 2^8, or gamma + 2 of any gamma, and some."""

LIKELIEST = 8
"""The same where the ways were seen to double with each position. The likeliest ones can refute: that all is
accepted, or nothing is, happens too often where coins are shared or left out, wherever they are."""

EVERY_LENGTH = (*SHORTER, *LENGTHS)

Measure = Callable[[WideProblem, int | None], WideMeasurement]
"""From a problem and the paths to walk on each of its draft blocks, if not as many as on others, to a law."""


def laws_of_long_blocks(
    measure: Measure, seed: int, lengths: Sequence[int] = EVERY_LENGTH, doubles: bool = False
) -> Iterator[WideMeasurement]:
    """The laws; where there are too many ways for all positions together, what was seen of them if it refutes.

    seed: of the pairs of positions that are decided together where not all are. lengths: of blocks. doubles: whether
      the ways are known to double with each position.
    """
    for gamma in lengths:
        yield from (measure(problem, None) for problem in regions(gamma, seed))
        if gamma in SHORTER:
            continue
        most = LIKELIEST if doubles and 2**gamma > MOST_WAYS else MOST_WAYS
        law = measure(together(gamma), most)
        cut = law.reason == TOO_MANY.format(most)
        if law.tells or not cut or "state" in law.findings:
            yield law
        doubles = doubles or cut or law.paths >= 2**gamma
        if law.known or gamma in LENGTHS_APART:
            yield measure(apart(gamma, seed, pairs=not law.known), None)
