"""Functions that are one rational function on each of finitely many regions, as trees of tests.

Functions are kept in lowest terms, so that two branches with the same function fall together: the cases of the rows
below a prefix are gone as soon as a sum over them does not depend on the case (Lemma 3 is such a place, and it is the
machine that finds it). That is what lets whole algorithms through.

Soundness. At each point of a leaf's region where the program computes the number, the leaf has no pole and the program's
value. A quotient is split until its denominator is zero nowhere in a region, or everywhere (then it is not computed:
None). Two leaves fall together only if they are the same function, or if z3 shows for every point of one's region that
the other has no pole there and the same value.
"""

from collections.abc import Callable, Iterator
from typing import Any

from flint import fmpq_mpoly

from .sign_regions import ANY, NONZERO, POSITIVE, ZERO, Region, SignTest


class Quotient:
    """A rational function in lowest terms, its denominator's leading coefficient one."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: fmpq_mpoly, denominator: fmpq_mpoly):
        if not denominator.is_constant():
            common = numerator.gcd(denominator)
            if not common.is_one():
                numerator, denominator = numerator / common, denominator / common
        leading = denominator.leading_coefficient()
        if leading != 1:
            numerator, denominator = numerator / leading, denominator / leading
        self.numerator, self.denominator = numerator, denominator

    def __add__(self, other: "Quotient") -> "Quotient":
        a, b, c, d = self.numerator, self.denominator, other.numerator, other.denominator
        return Quotient(a + c, b) if b == d else Quotient(a * d + c * b, b * d)

    def __sub__(self, other: "Quotient") -> "Quotient":
        a, b, c, d = self.numerator, self.denominator, other.numerator, other.denominator
        return Quotient(a - c, b) if b == d else Quotient(a * d - c * b, b * d)

    def __mul__(self, other: "Quotient") -> "Quotient":
        return Quotient(self.numerator * other.numerator, self.denominator * other.denominator)

    def __truediv__(self, other: "Quotient") -> "Quotient":
        return Quotient(self.numerator * other.denominator, self.denominator * other.numerator)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Quotient) and self.numerator == other.numerator and self.denominator == other.denominator
        )


class Branch:
    """One tree where the test holds, another where it does not."""

    __slots__ = ("no", "test", "yes")

    def __init__(self, test: SignTest, yes: "Tree", no: "Tree"):
        self.test, self.yes, self.no = test, yes, no


Tree = Any
"""A Branch or a leaf: a Quotient, a truth value, or None where the program computes no number."""


def _side(tree: Tree, test: SignTest, holds: bool) -> Tree:
    if isinstance(tree, Branch) and tree.test == test:
        return tree.yes if holds else tree.no
    return tree


def _failed(test: SignTest) -> SignTest:
    return SignTest(test.polynomial, ANY - test.signs)


def same(a: Tree, b: Tree) -> bool:
    """The same tree with the same leaves."""
    if a is b:
        return True
    if isinstance(a, Branch) and isinstance(b, Branch):
        return a.test == b.test and same(a.yes, b.yes) and same(a.no, b.no)
    return not isinstance(a, Branch) and not isinstance(b, Branch) and a == b


def split(region: Region, test: SignTest, then: Callable[[Region, bool], Tree]) -> Tree:
    """then(part, whether the test holds there) for the parts of the region that there are."""
    if 0 in test.signs:  # one name for a test and its opposite, so that trees can meet
        return split(region, _failed(test), lambda part, holds: then(part, not holds))
    yes, no = region.part(test), region.part(_failed(test))
    if yes is None or no is None:
        part = yes or no
        return None if part is None else then(part, no is None)
    return join(region, test, then(yes, True), then(no, False))


def join(region: Region, test: SignTest, yes: Tree, no: Tree) -> Tree:
    """The tree with the test on top, or without it where one side's functions are right on the other too."""
    if same(yes, no):
        return yes
    here, there = region.part(test), region.part(_failed(test))
    if there is None or here is None:
        return yes if there is None else no
    if there.on_a_boundary and agree(there, yes, no):
        return yes
    if here.on_a_boundary and agree(here, no, yes):
        return no
    above = [t.test for t in (yes, no) if isinstance(t, Branch)]
    first = min((test, *above), key=region.space.order)
    if first == test:
        return Branch(test, yes, no)
    sides = []
    for part, holds in ((region.part(first), True), (region.part(_failed(first)), False)):
        if part is not None:
            sides.append(join(part, test, _side(yes, first, holds), _side(no, first, holds)))
    return Branch(first, *sides) if len(sides) == 2 else sides[0]


def agree(region: Region, function: Tree, value: Tree) -> bool:
    """Whether at every point of the region the function has no pole and the value's value."""

    def equal(part: Region, f, v) -> bool:
        if not (isinstance(f, Quotient) and isinstance(v, Quotient)):
            return f is v
        return f == v or (part.vanishes((f - v).numerator) and part.never_vanishes(f.denominator))

    return all(leaf for _, leaf in leaves(region, combined(region, equal, function, value)))


def combined(region: Region, function: Callable, *trees: Tree) -> Tree:
    """function(region, leaf, leaf, ...), which may itself be a tree, on the common pieces of the trees."""
    tests = [tree.test for tree in trees if isinstance(tree, Branch)]
    if not tests:
        return function(region, *trees)
    test = min(tests, key=region.space.order)
    return split(
        region, test, lambda part, holds: combined(part, function, *(_side(tree, test, holds) for tree in trees))
    )


def leaves(region: Region, tree: Tree) -> Iterator[tuple[Region, Any]]:
    """The pieces of the region and the leaf that belongs to each."""
    if not isinstance(tree, Branch):
        yield region, tree
        return
    for test, side in ((tree.test, tree.yes), (_failed(tree.test), tree.no)):
        part = region.part(test)
        if part is not None:
            yield from leaves(part, side)


def sign_among(region: Region, value: Quotient | None, wanted: frozenset) -> Tree:
    """Whether the value's sign is one of those wanted: a tree of truth values, None where the value has a pole."""
    if value is None:
        return None
    space = region.space
    above, below = region.eliminated(value.numerator), region.eliminated(value.denominator)
    if below.is_zero() or above.is_zero():
        return None if below.is_zero() else 0 in wanted
    above, below = space.factors(above), space.factors(below)
    for number, _ in below.powers:
        if 0 in region.signs_of(number):
            test = SignTest(number, NONZERO)
            return split(region, test, lambda part, holds: sign_among(part, value, wanted) if holds else None)
    signs, undecided = frozenset((above.sign * below.sign,)), []
    for number, power in (*above.powers, *below.powers):
        own = region.signs_of(number)
        signs = frozenset(sign * x**power for sign in signs for x in own)
        if len(own) > 1:
            undecided.append((number, power))
    if signs <= wanted or not signs & wanted:
        return signs <= wanted
    number, power = undecided[0]
    if len(undecided) > 1:
        test = SignTest(number, POSITIVE if 1 in region.signs_of(number) else ZERO)
        return split(region, test, lambda part, _: sign_among(part, value, wanted))
    fixed = above.sign * below.sign
    for other, times in (*above.powers, *below.powers):
        if other != number:
            (own,) = region.signs_of(other)
            fixed *= own**times
    test = SignTest(number, frozenset(x for x in ANY if fixed * x**power in wanted))
    return split(region, test, lambda _, holds: holds)
