"""Regions of a space of real variables, cut out by the signs of polynomials; z3 says which are empty.

A region is a conjunction of tests, "this irreducible polynomial has one of these signs", on top of what is known
everywhere. The code under proof branches on such tests only. The points that z3 gives are saved: a region with one of them
is not empty, with no further question. Of an empty region z3 names the tests that make it so: no reason is sought twice.
"""

import operator
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, cast

import z3
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from ...models.rationals import as_fraction
from .processor_time import check

ANY = frozenset((-1, 0, 1))
POSITIVE, NEGATIVE, ZERO, NONZERO = frozenset((1,)), frozenset((-1,)), frozenset((0,)), frozenset((-1, 1))

MOST_DIGITS = 200
"""Digits of a coordinate beyond which a point is not saved."""

QUESTION_TIME_LIMIT = 5.0
"""Seconds of processor time after which z3 gives up on one region, which then counts as not empty."""


class OutOfTimeError(Exception):
    """The time set for a proof is over."""


class SignTest(NamedTuple):
    """The irreducible polynomial of this number has one of these signs."""

    polynomial: int
    signs: frozenset


class Factors(NamedTuple):
    """A polynomial as sign * product of irreducible polynomials to their powers, up to a positive constant."""

    sign: int
    powers: list[tuple[int, int]]


CONDITIONS = {
    POSITIVE: operator.gt,
    NEGATIVE: operator.lt,
    ZERO: operator.eq,
    NONZERO: operator.ne,
    frozenset((0, 1)): operator.ge,
    frozenset((-1, 0)): operator.le,
}


class Space:
    """Real variables, what is known of them, and the signs that polynomials in them can have together.

    limit: seconds of processor time until every further question raises OutOfTimeError.
    """

    def __init__(self, names: list[str], limit: float):
        self._deadline = time.process_time() + limit
        self.context = fmpq_mpoly_ctx.get(names, Ordering.lex)
        self.variables, self.unit = self.context.gens(), self.context.constant(1)
        self.reals = [z3.Real(name) for name in names]
        self.zero, self.solver = z3.RealVal(0), z3.Solver()
        self.polynomials: list[fmpq_mpoly] = []
        self.terms: list[z3.ArithRef] = []
        self._deepest: list[int] = []
        self._conditions: dict[SignTest, z3.BoolRef] = {}
        self._number: dict[str, int] = {}
        self._factors: dict[str, Factors] = {}
        self._regions: dict[frozenset, Region] = {}
        self._points: list[list[fmpq]] = []
        self._points_where: list[dict[int, int]] = []
        self._possible: dict[frozenset, bool] = {}
        self._reasons: dict[int, list[dict[int, frozenset]]] = {}
        self.everywhere = self.region({})

    def know(self, polynomial: fmpq_mpoly) -> None:
        """polynomial >= 0 at every point of the space; to be said before anything is asked."""
        self.solver.add(self.term(polynomial) >= 0)

    def term(self, polynomial: fmpq_mpoly) -> z3.ArithRef:
        """The polynomial as a term of z3."""
        products = []
        for powers, coefficient in polynomial.to_dict().items():
            factors = [x for x, power in zip(self.reals, powers) for _ in range(power)]
            products.append(z3.Product([z3.RealVal(str(coefficient)), *factors]))
        return cast(z3.ArithRef, z3.simplify(z3.Sum(products)))

    def factors(self, polynomial: fmpq_mpoly) -> Factors:
        """The irreducible factors of a polynomial that is not zero."""
        text = str(polynomial)
        if text not in self._factors:
            constant, irreducible = polynomial.factor()
            sign, powers = 1 if constant > 0 else -1, []
            for factor, power in irreducible:
                leading = factor.leading_coefficient()
                sign *= -1 if leading < 0 and power % 2 else 1
                powers.append((self._numbered(factor / leading), power))
            self._factors[text] = Factors(sign, powers)
        return self._factors[text]

    def _numbered(self, polynomial: fmpq_mpoly) -> int:
        text = str(polynomial)
        if text not in self._number:
            self._number[text] = len(self.polynomials)
            self.polynomials.append(polynomial)
            self.terms.append(self.term(polynomial))
            self._deepest.append(max(k for k, degree in enumerate(polynomial.degrees()) if degree))
            self._points_where.append({-1: 0, 0: 0, 1: 0})
            for k in range(len(self._points)):
                self._note(len(self.polynomials) - 1, k)
        return self._number[text]

    def _note(self, number: int, k: int) -> None:
        value = self.polynomials[number](*self._points[k])
        self._points_where[number][(value > 0) - (value < 0)] |= 1 << k

    def order(self, test: SignTest) -> tuple:
        """Tests on shallow rows come first: what holds whatever deeper rows are is then seen to."""
        return self._deepest[test.polynomial], test.polynomial, sorted(test.signs)

    def region(self, signs: dict[int, frozenset]) -> "Region":
        key = frozenset(signs.items())
        if key not in self._regions:
            self._regions[key] = Region(self, signs)
        return self._regions[key]

    def time_left(self) -> float:
        """Seconds of processor time before the limit. Raises: OutOfTimeError if there are none."""
        left = self._deadline - time.process_time()
        if left <= 0:
            raise OutOfTimeError
        return left

    def possible(self, signs: dict[int, frozenset]) -> bool:
        """False where z3 has shown that no point has these signs; True also where it has given up."""
        left = self.time_left()
        key = frozenset(signs.items())
        if key not in self._possible:
            self._possible[key] = self._holds_a_point(signs) or not (
                self._known_empty(signs) or self._empty(signs, min(left, QUESTION_TIME_LIMIT))
            )
        return self._possible[key]

    def _holds_a_point(self, signs: dict[int, frozenset]) -> bool:
        points = (1 << len(self._points)) - 1
        for number, allowed in signs.items():
            where = self._points_where[number]
            points &= sum(where[sign] for sign in allowed)
        return points != 0

    def _known_empty(self, signs: dict[int, frozenset]) -> bool:
        return any(
            all(signs.get(number, ANY) <= allowed for number, allowed in reason.items())
            for first in signs
            for reason in self._reasons.get(first, ())
        )

    def _empty(self, signs: dict[int, frozenset], seconds: float) -> bool:
        self.solver.push()
        named = {}
        for number, allowed in signs.items():
            label = z3.Bool(f"test {number}")
            named[str(label)] = number
            self.solver.assert_and_track(self._condition(number, allowed), label)
        answer = check(self.solver, seconds)
        if answer == z3.sat:
            self._save_point(self.solver.model())
        elif answer == z3.unsat:
            reason = {named[str(label)]: signs[named[str(label)]] for label in self.solver.unsat_core()}
            self._reasons.setdefault(min(reason, default=-1), []).append(reason)
        self.solver.pop()
        return answer == z3.unsat

    def _condition(self, number: int, signs: frozenset) -> z3.BoolRef:
        test = SignTest(number, signs)
        if test not in self._conditions:
            self._conditions[test] = CONDITIONS[signs](self.terms[number], self.zero)
        return self._conditions[test]

    def value(self, polynomial: fmpq_mpoly, point: Sequence[Fraction]) -> Fraction:
        """The polynomial at a rational point."""
        return as_fraction(polynomial(*(fmpq(x.numerator, x.denominator) for x in point)))

    def question(self, region: "Region", *nonzero: fmpq_mpoly) -> z3.Solver:
        """A solver that asks for a point of the region where none of the polynomials is zero."""
        solver = z3.Solver()
        solver.add(*self.solver.assertions(), *(self._condition(*test) for test in region.signs.items()))
        solver.add(*(self.term(polynomial) != 0 for polynomial in nonzero))
        return solver

    def _save_point(self, model: z3.ModelRef) -> None:
        point = []
        for x in self.reals:
            value = model.eval(x, model_completion=True)
            if not isinstance(value, z3.RatNumRef) or len(text := value.as_string()) > MOST_DIGITS:
                return
            numerator, _, denominator = text.partition("/")
            point.append(fmpq(int(numerator), int(denominator or 1)))
        self._points.append(point)
        for number in range(len(self.polynomials)):
            self._note(number, len(self._points) - 1)


class Region:
    """The points where each of some irreducible polynomials has one of the signs allowed to it."""

    def __init__(self, space: Space, signs: dict[int, frozenset]):
        self.space, self.signs = space, signs
        self._parts: dict[SignTest, Region | None] = {}
        self._eliminate: list[Callable[[fmpq_mpoly], fmpq_mpoly]] = []
        for number, allowed in signs.items():
            if allowed == ZERO:
                self._solve(self.eliminated(space.polynomials[number]))

    def _solve(self, polynomial: fmpq_mpoly) -> None:
        """Where polynomial = 0 gives a variable in terms of the others, put that in its place from here on."""
        for k, degree in reversed([*enumerate(polynomial.degrees())]):
            if degree == 1 and polynomial.derivative(k).is_constant():
                instead = list(self.space.variables)
                instead[k] -= polynomial / polynomial.derivative(k).leading_coefficient()
                self._eliminate.append(lambda p, k=k, to=tuple(instead): p.compose(*to) if p.degrees()[k] else p)
                return

    @property
    def on_a_boundary(self) -> bool:
        """Whether some polynomial is zero all over the region."""
        return ZERO in self.signs.values()

    def eliminated(self, polynomial: fmpq_mpoly) -> fmpq_mpoly:
        """The polynomial with the variables taken out that the region gives in terms of others; equal to it here."""
        for step in self._eliminate:
            polynomial = step(polynomial)
        return polynomial

    def part(self, test: SignTest) -> "Region | None":
        """The points where the test holds too; None if there are none."""
        if test not in self._parts:
            self._parts[test] = self._part(test)
        return self._parts[test]

    def _part(self, test: SignTest) -> "Region | None":
        number, now = test.polynomial, self.signs.get(test.polynomial, ANY)
        allowed = now & test.signs
        if allowed == now:
            return self
        # A boundary is hard to find and seldom matters: it is asked for only where nothing else is possible.
        for few in (allowed & NONZERO, allowed & ZERO):
            if few and self.space.possible({**self.signs, number: few}):
                return self.space.region({**self.signs, number: allowed if few != ZERO else ZERO})
        return None

    def signs_of(self, number: int) -> frozenset:
        """The signs that an irreducible polynomial takes in the region."""
        return frozenset(sign for sign in ANY if self.part(SignTest(number, frozenset((sign,)))) is not None)

    def vanishes(self, polynomial: fmpq_mpoly) -> bool:
        """Whether z3 has shown the polynomial to be zero at every point of the region."""
        polynomial = self.eliminated(polynomial)
        if polynomial.is_zero():
            return True
        signs = dict(self.signs)
        for number, _ in self.space.factors(polynomial).powers:
            signs[number] = signs.get(number, ANY) & NONZERO
        return not all(signs.values()) or not self.space.possible(signs)

    def never_vanishes(self, polynomial: fmpq_mpoly) -> bool:
        """Whether z3 has shown the polynomial to be zero at no point of the region."""
        polynomial = self.eliminated(polynomial)
        if polynomial.is_zero():
            return False
        return all(self.part(SignTest(number, ZERO)) is None for number, _ in self.space.factors(polynomial).powers)
