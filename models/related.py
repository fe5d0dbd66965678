"""Problems made from another one, among them twins, which show whether earlier calls are remembered.

A twin has the draft blocks of its original, so that whatever is remembered by draft tokens, by the shapes of the rows
or by their rounded values is remembered wrongly for one of the two.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from .battery import normalised
from .law import Table
from .problem import Problem
from .rationals import as_fraction

Row = tuple[Fraction, ...]


def twins(problem: Problem, *names: str) -> list[Problem]:
    """Return problems with the same draft blocks whose rows differ little, in one model, or in their entries' order.

    names: of those that are made; all if there are none.

    near, nearer: by 1e-7 and 1e-9 of each probability; next: by one spacing of float64; swapped: the last two entries,
    where both are possible for the draft or neither.
    """
    ways: dict[str, Callable[[Row, bool], Row]] = {
        "near": lambda row, drafted: _shifted(row, drafted, Fraction(1, 10**7)),
        "nearer": lambda row, drafted: _shifted(row, drafted, Fraction(1, 10**9)),
        "next": _next,
        "other-draft": lambda row, drafted: _other(row, drafted) if drafted else row,
        "other-target": lambda row, drafted: row if drafted else _other(row, drafted),
        "swapped": lambda row, drafted: (*row[:-2], row[-1], row[-2]),
    }
    return [
        with_rows(problem, way, f"{problem.name}-{name}") for name, way in ways.items() if name in names or not names
    ]


def with_rows(problem: Problem, change: Callable[[Row, bool], Row], name: str) -> Problem:
    """Return the problem with every row changed, by ``change(row, drafted)``; drafted: whether it is the draft
    model's.
    """
    exact = problem.changed(lambda row, drafted: change(tuple(map(as_fraction, row)), drafted))
    return replace(exact, name=name)


def _shifted(row: Row, drafted: bool, by: Fraction) -> Row:
    """Return p(i) (1 + by s(i)), normalised, s = 0, 1, 2, .. from one end, of the draft from the other."""
    steps = range(len(row))[:: -1 if drafted else 1]
    return normalised([p * (1 + by * step) for p, step in zip(row, steps)])


def _next(row: Row, drafted: bool) -> Row:
    """Move one spacing of float64 between two probabilities."""
    positive = [i for i, p in enumerate(row) if p > 0]
    if len(positive) < 2:
        return row
    first, second = (positive[0], positive[-1])[:: -1 if drafted else 1]
    moved = Fraction(math.ulp(float(row[first])))
    moved = Fraction(math.nextafter(float(row[first]), 1.0)) - row[first] if moved < row[second] else Fraction(0)
    return tuple(p + moved * ((i == first) - (i == second)) for i, p in enumerate(row))


def _other(row: Row, drafted: bool) -> Row:
    """Mix a third of the row with two thirds of one that rises; for the draft, one that falls."""
    rising = normalised([Fraction(i + 1) for i in range(len(row))])[:: -1 if drafted else 1]
    return tuple((p + 2 * r) / 3 for p, r in zip(row, rising))


class Relative(NamedTuple):
    """A problem on which a verifier has to do what it does on the original, restated.

    problem: as restated.
    how: in words.
    ids: the id there of each token of the original; None where the laws are not comparable.
    """

    problem: Problem
    how: str
    ids: tuple[int, ...] | None = None


def relatives(problem: Problem) -> list[Relative]:
    """Return four kinds of relatives of a problem, on all of which a verifier has to be lossless.

    They have ids permuted, a wider vocabulary with zeros, one more position where both models agree, or a tail of 1e-8.
    The law of the first two is the original's with its ids renamed.
    """
    v, name = problem.vocabulary, problem.name
    placed = [(v, tuple(reversed(range(v))), "ids in the opposite order", "permuted")]
    for width, first in ((v + 1, 0), (v + 3, 1), *([(64, 31)] if problem.gamma == 1 else [])):
        placed.append((width, tuple(range(first, first + v)), f"{width} ids, the others impossible", f"of-{width}"))
    restated = [Relative(_placed(problem, width, ids, f"{name}-{way}"), how, ids) for width, ids, how, way in placed]
    wide = _placed(problem, v + 2, tuple(range(v)), f"{name}-tail")
    share = Fraction(1, 10**8)
    tailed = with_rows(
        wide,
        lambda row, drafted: tuple(p * (1 - share) + share * (i == v + drafted) for i, p in enumerate(row)),
        wide.name,
    )
    return [
        *restated,
        Relative(_longer(problem), "one position more, where both models agree"),
        Relative(tailed, "one token of probability 1e-8 more in each model"),
    ]


def _placed(problem: Problem, width: int, ids: tuple[int, ...], name: str) -> Problem:
    """Place the problem among ``width`` ids. After an impossible prefix the rows are those of the start."""
    back = {there: here for here, there in enumerate(ids)}

    def table(model: str, longest: int) -> Table:
        def row(prefix: tuple[int, ...]) -> Row:
            known = tuple(back[t] for t in prefix) if all(t in back for t in prefix) else ()
            restated = dict(zip(ids, map(as_fraction, getattr(problem, model).row(known))))
            return tuple(restated.get(i, Fraction(0)) for i in range(width))

        return Table({x: row(x) for n in range(longest + 1) for x in product(range(width), repeat=n)}, model)

    gamma = problem.gamma
    return Problem(width, gamma, table("target", gamma), table("draft", gamma - 1), name)


def _longer(problem: Problem) -> Problem:
    """Return the problem with one position more, at which both models have the row that the target had after the whole
    block.
    """
    gamma, target = problem.gamma, problem.target.row

    def model(name: str, longest: int) -> Table:
        row = getattr(problem, name).row
        prefixes = (x for n in range(longest + 1) for x in problem.prefixes(n))
        rows = {x: row(x) if len(x) < longest else target(x[:gamma]) for x in prefixes}
        return Table({x: tuple(map(as_fraction, known)) for x, known in rows.items()}, name)

    tables = model("target", gamma + 1), model("draft", gamma)
    return Problem(problem.vocabulary, gamma + 1, *tables, f"{problem.name}-longer")
