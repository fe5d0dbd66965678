"""The rows that a server samples from under temperature, top-k or top-p."""

from collections.abc import Callable
from fractions import Fraction

from ....models.errors import InputError
from ....models.law import Markov

Row = tuple[Fraction, ...]

EDGE = Fraction(1, 1000)
"""How near to top_p the mass of the tokens that are kept may come: nearer, rounding decides whether one more is."""


def sampled_rows(law: Markov, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Markov:
    """The law with each row p replaced by p^(1/T), restricted to the k most probable, or the fewest that reach top_p.

    temperature: T; 0 is its limit, all mass on the most probable token. 1, top_k 0 and top_p 1 change nothing.
    Raises: InputError for a row in which equal probabilities, or rounding, would decide what is kept; and for top_p
    together with another of them, since engines differ in what comes first.
    """
    if top_p < 1 and (top_k or temperature != 1):
        raise InputError("top_p beside a temperature or top_k: engines differ in which comes first; give one of them")
    steps: list[Callable[[Row], Row]] = []
    if temperature == 0:
        steps.append(lambda row: _kept(row, 1))
    elif top_k:
        steps.append(lambda row: _kept(row, top_k))
    elif top_p < 1:
        steps.append(lambda row: _kept(row, _nucleus(row, Fraction(top_p))))
    if temperature not in (0, 1):
        steps.append(lambda row: tuple(Fraction(float(p) ** (1 / temperature)) for p in row))

    def sampled(row: Row) -> Row:
        for step in steps:
            row = step(row)
        return tuple(p / sum(row) for p in row)

    return Markov(sampled(law.start), tuple(map(sampled, law.after))) if steps else law


def _nucleus(row: Row, mass: Fraction) -> int:
    """How many of the most probable tokens reach the mass."""
    reached = Fraction(0)
    for count, p in enumerate(sorted(row, reverse=True), 1):
        reached += p
        if abs(reached - mass) < EDGE:
            raise InputError(
                f"top_p {float(mass):g}: rounding decides what a row keeps; expected one {float(EDGE):g} off"
            )
        if reached > mass:
            return count
    return len(row)


def _kept(row: Row, count: int) -> Row:
    """The row with the ``count`` most probable tokens alone."""
    order = sorted(row, reverse=True)
    if count >= len(row) or not order[count]:
        return row
    if order[count - 1] == order[count]:
        raise InputError(f"{count} most probable tokens: a row has two of probability {order[count]} at its edge")
    return tuple(p if p > order[count] else Fraction(0) for p in row)
