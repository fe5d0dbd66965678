"""The checker of coupling certificates. It needs nothing but the file, and shares no code with what makes them."""

from fractions import Fraction
from itertools import product

from .check import ProblemPair, Rejected, fields, given, mass_of, rational_of, shown, table_of, tokens

COUPLING_FORMAT = "draftproof-coupling/1"
FIELDS = {"format", "problem", "expected_accepted", "coupling", "draft_potential", "target_potential"}
MOST_COUPLED_BLOCKS = 4096
"""Largest number of blocks of a problem whose coupling is checked: every pair of them is looked at."""


def check(text: str, problem: dict | None = None) -> Fraction:
    """Return the value that a certificate proves: the largest expected common prefix of all couplings of its two
    models.

    problem: if given, the certificate must be one of this problem (in the JSON form of a table).
    Raises: Rejected, with the first thing that is wrong.
    """
    data = fields(text, COUPLING_FORMAT, FIELDS)
    pair = given(data, problem, ProblemPair)
    if pair.vocabulary**pair.gamma > MOST_COUPLED_BLOCKS:
        raise Rejected(f"{pair.vocabulary}^{pair.gamma} blocks are too many, expected at most {MOST_COUPLED_BLOCKS:,}")
    claimed = rational_of(data["expected_accepted"], "expected_accepted")
    if not isinstance(data["coupling"], dict):
        raise Rejected("coupling is not a table")
    coupling = {(x, y): mass for key, law in data["coupling"].items() for x in table_of({key: "0"}, "coupling")
                for y, mass in table_of(law, f"coupling[{key}]").items()}  # fmt: skip
    reached = _value_of_coupling(pair, coupling)
    if reached != claimed:
        raise Rejected(f"its coupling agrees on {tokens(reached)}, not on the {shown(claimed)} claimed")
    potentials = [table_of(data[name], name) for name in ("draft_potential", "target_potential")]
    bound = _value_of_potentials(pair, *potentials)
    if bound != claimed:
        raise Rejected(f"its bound is {shown(bound)}, not the {shown(claimed)} claimed")
    return claimed


def common(x: tuple, y: tuple) -> int:
    """Return the length of the longest common prefix."""
    return next((i for i, (a, b) in enumerate(zip(x, y)) if a != b), len(x))


def _value_of_coupling(pair: ProblemPair, coupling: dict) -> Fraction:
    """Return the expected common prefix of the file's coupling, after seeing that its margins are the two models."""
    blocks = list(product(range(pair.vocabulary), repeat=pair.gamma))
    margins = [dict.fromkeys(blocks, Fraction(0)), dict.fromkeys(blocks, Fraction(0))]
    for sides, mass in coupling.items():
        if mass < 0:
            raise Rejected(f"its coupling has the negative probability {shown(mass)} at {sides}")
        for margin, block in zip(margins, sides):
            if block not in margin:
                raise Rejected(f"its coupling has {block}, which is not a block of {pair.gamma} tokens")
            margin[block] += mass
    for margin, rows, name in zip(margins, (pair.draft, pair.target), ("draft", "target")):
        for block, mass in margin.items():
            if mass != mass_of(rows, block):
                given = f"its coupling gives the {name} block {block} probability {shown(mass)}"
                raise Rejected(f"{given}, not the model's")
    return sum((common(x, y) * mass for (x, y), mass in coupling.items()), Fraction(0))


def _value_of_potentials(pair: ProblemPair, draft_potential: dict, target_potential: dict) -> Fraction:
    """Return the bound, after seeing that it holds for every pair of blocks."""
    blocks = list(product(range(pair.vocabulary), repeat=pair.gamma))
    if set(draft_potential) != set(blocks) or set(target_potential) != set(blocks):
        raise Rejected("its potentials are not given for exactly the blocks of gamma tokens")
    for x in blocks:
        for y in blocks:
            if common(x, y) > draft_potential[x] + target_potential[y]:
                raise Rejected(f"its bound fails on the draft block {x} with the target block {y}")
    value = Fraction(0)
    for x in blocks:
        value += mass_of(pair.draft, x) * draft_potential[x] + mass_of(pair.target, x) * target_potential[x]
    return value
