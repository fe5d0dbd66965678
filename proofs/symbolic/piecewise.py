"""Numbers of a program that runs for all models at once, and chance that follows all its branches.

A verifier branches in few places: at a minimum, a positive part, a quotient with its case of zero, and where it asks
chance. On these numbers the first kind becomes the tests of a tree, the second a sum over paths with their
probabilities. So one run of the code as it stands gives its law as a function of the model.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from flint import fmpq_mpoly

from ...verifiers import arithmetic
from ...verifiers.chance import Chance
from ..enumeration import Branching
from .decision_trees import Quotient, Tree, combined, join, leaves, sign_among
from .sign_regions import NONZERO, POSITIVE, ZERO, Region, SignTest, Space


class Models(Space):
    """A space of models, the region of it in which a program runs at the moment, and the chance it runs under."""

    def __init__(self, names: list[str], limit: float):
        super().__init__(names, limit)
        self.here = self.everywhere
        self.chance: AllModels | None = None

    def number(self, value: fmpq_mpoly | int) -> "Piecewise":
        """A polynomial as a number."""
        return Piecewise(self, Quotient(self.unit * value, self.unit))


def _on_numbers(operation: Callable) -> Callable:
    def compute(region: Region, a: Quotient | None, b: Quotient | None) -> Tree:
        return None if a is None or b is None else operation(a, b)

    return compute


def _product(region: Region, a: Quotient | None, b: Quotient | None) -> Tree:
    """Zero times what is not computed is zero: a path of probability zero is not taken."""
    for x, y in ((a, b), (b, a)):
        if x is not None and (x.numerator.is_zero() or (y is None and region.vanishes(x.numerator))):
            return Quotient(region.space.unit * 0, region.space.unit)
    return None if a is None or b is None else a * b


def _quotient(region: Region, a: Quotient | None, b: Quotient | None) -> Tree:
    if a is None or b is None:
        return None
    return combined(region, lambda _, nonzero: a / b if nonzero else None, sign_among(region, b, NONZERO))


BinaryOperator = Callable[["Piecewise", Any], "Piecewise"]


def _operators(function: Callable) -> tuple[BinaryOperator, BinaryOperator]:
    def apply(self: "Piecewise", other: Any) -> "Piecewise":
        return Piecewise(self.space, combined(self.space.here, function, self.tree, self._of(other)))

    def reflected(self: "Piecewise", other: Any) -> "Piecewise":
        return Piecewise(self.space, combined(self.space.here, function, self._of(other), self.tree))

    return apply, reflected


class Piecewise:
    """A number that depends on the model: a tree of rational functions, right on the region where it was computed."""

    __slots__ = ("space", "tree")

    def __init__(self, space: Models, tree: Tree):
        self.space, self.tree = space, tree

    def _of(self, other: Any) -> Tree:
        return other.tree if isinstance(other, Piecewise) else self.space.number(other).tree

    __add__, __radd__ = _operators(_on_numbers(operator.add))
    __sub__, __rsub__ = _operators(_on_numbers(operator.sub))
    __mul__, __rmul__ = _operators(_product)
    __truediv__, __rtruediv__ = _operators(_quotient)

    def __eq__(self, other):
        """Whether the two are equal for all models of the current region; a program that asks goes both ways."""
        difference = self - other
        if self.space.chance is not None:
            return self.space.chance.fork(difference._has_sign(ZERO))
        pieces = leaves(self.space.here, difference.tree)
        return all(leaf is not None and part.vanishes(leaf.numerator) for part, leaf in pieces)

    def where_sign(self, wanted: frozenset, chosen: Any, otherwise: Any) -> "Piecewise":
        """``chosen`` for the models for which this number has one of the signs wanted, else ``otherwise``."""

        def pick(_: Region, holds: bool | None, a, b):
            return None if holds is None else (a if holds else b)

        tests, here = self._has_sign(wanted), self.space.here
        return Piecewise(self.space, combined(here, pick, tests, self._of(chosen), self._of(otherwise)))

    def _has_sign(self, wanted: frozenset) -> Tree:
        return combined(self.space.here, lambda part, leaf: sign_among(part, leaf, wanted), self.tree)


@arithmetic.minimum.register
def _(a: Piecewise, b):
    return (a - b).where_sign(POSITIVE, b, a)


@arithmetic.positive_part.register
def _(x: Piecewise):
    return x.where_sign(POSITIVE, x, 0)


@arithmetic.quotient.register
def _(numerator: Piecewise, denominator, at_zero):
    return denominator.where_sign(ZERO, at_zero, numerator / denominator)


@arithmetic.ratio.register
def _(target: Piecewise, draft):
    return draft.where_sign(ZERO, target.where_sign(ZERO, 0, 1), target / draft)


class Asked(NamedTuple):
    """What a program asked of chance: for the models of a region, with the path's probability there."""

    region: Region
    probability: Piecewise
    weights: list[Piecewise]


class AllModels:
    """Chance that takes every branch with its probability, for all models at once, and notes what it was asked.

    After a token is drawn with a weight that is a plain polynomial, the program goes on for the models only that give
    it a positive probability.
    """

    def __init__(self, space: Models):
        self.space, self.branching = space, Branching(space.number(1))
        self.flips: list[Asked] = []
        self.draws: list[Asked] = []
        self._assumed: list[tuple[Region, SignTest]] = []

    def flip(self, probability: Any) -> bool:
        probability = self._number(probability)
        return self._choose(self.flips, [probability], [probability, 1 - probability]) == 0

    def draw(self, weights: Sequence[Any]) -> int:
        weights = [self._number(weight) for weight in weights]
        total = sum(weights)
        chosen = self._choose(self.draws, weights, [weight / total for weight in weights])
        self._assume(weights[chosen].tree)
        return chosen

    def fork(self, holds: Tree) -> bool:
        """Go on for the models for which it holds, and on another path for those for which it does not."""
        answers = {leaf for _, leaf in leaves(self.space.here, holds)}
        if len(answers) == 1:
            return answers == {True}
        share = combined(self.space.here, lambda _, leaf: self.space.number(int(bool(leaf))).tree, holds)
        taken = Piecewise(self.space, share)
        return self._choose([], [], [taken, 1 - taken]) == 0

    def _number(self, value) -> Piecewise:
        return value if isinstance(value, Piecewise) else self.space.number(value)

    def _choose(self, notes: list[Asked], asked: list[Piecewise], probabilities: list[Piecewise]) -> int:
        if len(self.branching.path) >= len(self.branching.script):
            notes.append(Asked(self.space.here, self.branching.probability, asked))
        self.space.chance = None
        chosen = self.branching.choose(probabilities)
        self.space.chance = self
        return chosen

    def _assume(self, weight: Tree) -> None:
        if not isinstance(weight, Quotient) or weight.numerator.is_constant():
            return
        sign, powers = self.space.factors(weight.numerator)
        if len(powers) > 1 or powers[0][1] > 1 or not weight.denominator.is_constant():
            return
        before, test = self.space.here, SignTest(powers[0][0], frozenset((sign,)))
        within = before.part(test)
        if within is not None and within is not before:
            self._assumed.append((before, test))
            self.space.here = within

    def paths(self, program: Callable[[Chance], Any]) -> Iterator[tuple[Any, Piecewise]]:
        """What the program returns on each path, with the path's probability."""
        space = self.space
        nothing = space.number(0).tree
        while self.branching.begin():
            space.here, space.chance, self._assumed = space.everywhere, self, []
            outcome = program(self)
            tree = self.branching.probability.tree
            for before, test in reversed(self._assumed):
                tree = join(before, test, tree, nothing)
            space.here, space.chance = space.everywhere, None
            yield outcome, Piecewise(space, tree)
