"""Numbers of a program that runs for all models at once, and chance that follows all its branches.

A verifier branches in few places: at a minimum, a positive part, a quotient with its case of zero, a comparison with
zero, and where it asks chance. On these numbers the first kind becomes a name with what is known of it, the others a
sum over paths. So one run of the code as it stands gives its law as z3 terms in the entries of the models.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import z3

from ...verifiers import arithmetic
from ...verifiers.chance import Chance
from ..enumeration import Branching

Term = z3.ArithRef
ZERO, ONE = z3.RealVal(0), z3.RealVal(1)


class Models:
    """What is known of the entries of all models and of the numbers made of them, and the chance a program runs under.

    facts: hold for every model, whatever a quotient with denominator 0 is taken to be
    """

    def __init__(self) -> None:
        self.facts: list[Any] = []
        self.chance: AllBranches | None = None
        self._named: dict[tuple, Term] = {}

    def number(self, value: Any) -> "Symbol":
        """A term, or a plain number, as a number of these models."""
        if isinstance(value, Symbol):
            return value
        return Symbol(self, cast(Term, z3.simplify(value, som=True)) if z3.is_expr(value) else z3.RealVal(value))

    def _name(self, key: tuple, known: Callable[[Term], list]) -> Term:
        if key not in self._named:
            self._named[key] = z3.Real(f"{key[0]}#{len(self._named)}")
            self.facts += known(self._named[key])
        return self._named[key]

    def positive_part(self, x: Term) -> Term:
        """max(x, 0); of x and -x only one has a name, since max(x, 0) = max(-x, 0) + x."""
        opposite = ("positive part", z3.simplify(-x, som=True).sexpr())
        if opposite in self._named:
            return cast(Term, self._named[opposite] + x)
        return self._name(("positive part", x.sexpr()), lambda y: [y >= 0, y >= x, z3.Or(y == 0, y == x)])

    def quotient(self, a: Term, b: Term) -> Term:
        """a / b; where b is 0 nothing is known of it, so no claim holds that depends on it."""
        if z3.is_rational_value(b):
            return cast(Term, a / b)
        return self._name(("quotient", a.sexpr(), b.sexpr()), lambda y: [z3.Implies(b != 0, y * b == a)])


def _operator(compute: Callable[["Symbol", "Symbol"], Any]) -> tuple[Callable, Callable]:
    def apply(self: "Symbol", other: Any) -> "Symbol":
        return self.models.number(compute(self, self.models.number(other)))

    def reflected(self: "Symbol", other: Any) -> "Symbol":
        return self.models.number(compute(self.models.number(other), self))

    return apply, reflected


class Symbol:
    """A number that depends on the model, as a term of z3."""

    __slots__ = ("models", "term")

    def __init__(self, models: Models, term: Term):
        self.models, self.term = models, term

    __add__, __radd__ = _operator(lambda a, b: a.term + b.term)
    __sub__, __rsub__ = _operator(lambda a, b: a.term - b.term)
    __mul__, __rmul__ = _operator(lambda a, b: a.term * b.term)
    __truediv__, __rtruediv__ = _operator(lambda a, b: a.models.quotient(a.term, b.term))

    def __eq__(self, other: object) -> bool:
        """A program that asks goes both ways; outside of one only what is equal by its form is."""
        equal = z3.simplify(self.term == self.models.number(other).term)
        if z3.is_true(equal) or z3.is_false(equal) or self.models.chance is None:
            return z3.is_true(equal)
        return self.models.chance.fork(cast(z3.BoolRef, equal))


@arithmetic.minimum.register
def _(a: Symbol, b):
    return a - arithmetic.positive_part(a - b)


@arithmetic.positive_part.register
def _(x: Symbol):
    return x.models.number(x.models.positive_part(x.term))


@arithmetic.quotient.register
def _(numerator: Symbol, denominator, at_zero):
    below, otherwise = numerator.models.number(denominator).term, numerator.models.number(at_zero).term
    return numerator.models.number(z3.If(below == 0, otherwise, (numerator / denominator).term))


@arithmetic.ratio.register
def _(target: Symbol, draft):
    return arithmetic.quotient(target, draft, z3.If(target.term == 0, ZERO, ONE))


class AllBranches:
    """Chance that takes every branch with its probability, for all models at once."""

    def __init__(self, models: Models):
        self.models, self.branching = models, Branching(models.number(1))

    def flip(self, probability: Any) -> bool:
        probability = self.models.number(probability)
        return self._choose([probability, 1 - probability]) == 0

    def draw(self, weights: Sequence[Any]) -> int:
        weights = [self.models.number(weight) for weight in weights]
        total = sum(weights)
        return self._choose([weight / total for weight in weights])

    def fork(self, holds: z3.BoolRef) -> bool:
        """Go on for the models for which it holds, and on another path for the others."""
        share = self.models.number(z3.If(holds, ONE, ZERO))
        return self._choose([share, 1 - share]) == 0

    def _choose(self, probabilities: list[Symbol]) -> int:
        self.models.chance = None
        chosen = self.branching.choose(probabilities)
        self.models.chance = self
        return chosen

    def paths(self, program: Callable[[Chance], Any]) -> Iterator[tuple[Any, Symbol]]:
        """What the program returns on each path, with the path's probability."""
        while self.branching.begin():
            self.models.chance = self
            outcome = program(self)
            self.models.chance = None
            yield outcome, self.branching.probability
