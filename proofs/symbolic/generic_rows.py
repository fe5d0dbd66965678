"""Rows of symbols that stand for all rows: numbers ordered by proof, and the cells in which verifiers do not branch."""

from functools import cache
from itertools import accumulate, combinations_with_replacement
from typing import Any, NamedTuple

import sympy
from flint import fmpz_mpoly_ctx
from sympy import ZZ
from sympy.polys.fields import FracElement, FracField
from sympy.polys.rings import PolyElement, PolyRing

from ...models.law import ContextFree
from ...models.problem import Problem
from ...verifiers.draft_block import Verify
from ...verifiers.registry import Reference
from ..closed_forms import acceptance_rate
from ..laws.reference_laws import OutputLaw, enumerated_law


class UndecidedError(ArithmeticError):
    """A comparison that has not the same answer for all positive values, or not visibly so."""


class Positive(FracElement):
    """A rational function of generators that take any positive values, ordered as far as its coefficients show it.

    a < b where b - a has positive coefficients only, above and below the line: a certificate that needs no search.
    (sympy's own comparison of fractions orders them as expressions and says nothing of their values.)
    Raises: UndecidedError where neither a < b, a = b nor a > b shows.
    """

    def new(self, numer: PolyElement, denom: PolyElement) -> "Positive":
        return self.raw_new(*cancelled(numer, denom))

    def sign(self) -> int:
        if not self.numer:
            return 0
        above, below = ({c > 0 for c in part.coeffs()} for part in (self.numer, self.denom))
        if len(above) > 1 or len(below) > 1:
            raise UndecidedError(f"the sign of {self.as_expr()} does not show")
        return 1 if above == below else -1

    def __lt__(self, other):
        return (self - other).sign() < 0

    def __le__(self, other):
        return (self - other).sign() <= 0

    def __gt__(self, other):
        return (self - other).sign() > 0

    def __ge__(self, other):
        return (self - other).sign() >= 0

    def __abs__(self):
        return self if self >= 0 else -self


def cancelled(numer: PolyElement, denom: PolyElement) -> tuple[PolyElement, PolyElement]:
    """Return the fraction in lowest terms, its denominator's leading coefficient positive: ``numer.cancel(denom)``.

    FLINT's greatest common divisors take a tenth of the time of sympy's, which was nearly all of it.
    """
    ring = numer.ring
    if not numer:
        return ring.zero, ring.one
    terms = _terms(ring)
    above, below = (terms.from_dict({powers: int(c) for powers, c in part.items()}) for part in (numer, denom))
    common = above.gcd(below)
    common = -common if denom.LC < 0 else common
    above, below = (
        ring.from_dict({tuple(map(int, n)): ring.domain(int(c)) for n, c in (part // common).to_dict().items()})
        for part in (above, below)
    )
    return above, below


@cache
def _terms(ring: PolyRing) -> fmpz_mpoly_ctx:
    """Return FLINT's ring of the same generators, in the order of terms that sympy's rings have by default."""
    return fmpz_mpoly_ctx.get([str(name) for name in ring.symbols], "lex")


def positives(names: list[str]) -> list[Positive]:
    """Return the generators of a field of rational functions, each standing for any positive number."""
    field = FracField(names, ZZ)
    return [Positive(field, x) for x in field.ring.gens]


def positive(expression: sympy.Expr) -> Positive:
    """Return a rational expression of sympy's as such a number: each of its symbols stands for any positive number."""
    field = FracField(sorted(expression.free_symbols, key=str), ZZ)
    fraction = field.from_expr(expression)
    return Positive(field, fraction.numer, fraction.denom)


class GenericRows(NamedTuple):
    """A pair of rows that stands for every pair with the same places, whatever its numbers.

    leniences: 1 > l_1 > l_2 > ..., such that each token's M_s / M_b lies between two neighbours of 0, 1, 1/l_1,
    1/l_2, ..., infinity.
    """

    target: tuple
    draft: tuple
    leniences: list

    def problem(self, gamma: int) -> Problem:
        """Return the pair, the same after every prefix."""
        return Problem(len(self.target), gamma, ContextFree(self.target), ContextFree(self.draft), "all rows")

    def law(self, gamma: int, verify: Verify) -> OutputLaw:
        """Return the law of (X^tau, Y), by running the verifier's code for every way chance can fall."""
        return enumerated_law(self.problem(gamma), Reference("on symbols", verify, ""))

    @property
    def rate(self) -> Any:
        """Return alpha, the acceptance rate of the rows."""
        return acceptance_rate(self.target, self.draft)


def cell(places: tuple[int, ...], leniences: int = 0) -> GenericRows:
    """Return the cell in which token x has M_s / M_b in the interval numbered places[x].

    Between u and v: M_b = a + c, M_s = u a + v c. Above u: M_b = a, M_s = u a + c. Below 1: M_s = a, and M_b - M_s is a
    share of what the other tokens have too much of in the draft. So every such pair of rows is met, up to a factor.
    """
    size = len(places)
    numbers = positives([f"x{n}" for n in range(2 * size + leniences)])
    bounds = list(accumulate(numbers[2 * size :], initial=numbers[0] / numbers[0]))
    target, draft = [], []
    for place, a, c in zip(places, numbers, numbers[size:]):
        if place == 0:
            p, q = a, a
        elif place < len(bounds):
            p, q = a + c, bounds[place - 1] * a + bounds[place] * c
        else:
            p, q = a, bounds[-1] * a + c
        target.append(p)
        draft.append(q)
    below = [x for x in range(size) if places[x] == 0]
    missing, shares = sum(draft) - sum(target), sum(numbers[size + x] for x in below)
    for x in below:
        target[x] += missing * numbers[size + x] / shares
    total = sum(draft)
    return GenericRows(tuple(p / total for p in target), tuple(q / total for q in draft), [1 / b for b in bounds[1:]])


@cache
def cells(vocabulary: int, leniences: int = 0) -> list[GenericRows]:
    """Return every cell of V tokens, up to their order. Equal rows, with no token below 1, are on borders."""
    orders = combinations_with_replacement(range(leniences + 2), vocabulary)
    return [cell(places, leniences) for places in orders if places[0] == 0 and places[-1] > 0]
