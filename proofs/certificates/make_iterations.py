"""A certificate of the most tokens that any strategy of valid verifiers decodes in several iterations, on one problem.

A strategy chooses for every iteration a valid verifier, which may depend on all that has happened and on both models in
full. What a verifier is worth in an iteration is linear in its reaches r(x) = Pr(X^i = x, tau >= i), and the reaches of
valid verifiers are exactly (mechanized/Strategies.v, ``reach_polytope``)

    r(()) = 1,   0 <= r(x y) <= min(r(x) M_b(y | x), M_s(x y)).

So for each text there is a linear program on the tree of draft prefixes, with the gain g(x) = E U(x Y) - U(x), where U
is what the iterations to come are worth. It is solved exactly: what a subtree is worth, as a function of the r(x) that
it is given, is concave and piecewise linear, and its slopes are the prices of the dual. A certificate has, for every
text, the reaches and two prices, for keeping x no more often than its parent allows and than it is drafted.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...models.errors import InputError
from ...models.law import Model, Prefix, Table, prefix_key
from ...models.problem import Problem
from ...models.rationals import as_fraction
from ..field import QQ, in_field
from .check_iterations import ITERATIONS_FORMAT, MOST_TEXTS, texts_of, texts_to_check

ZERO = QQ(0)


class Concave(NamedTuple):
    """A concave piecewise linear function of a >= 0, 0 at 0: from ``starts[k]`` on it has the slope ``slopes[k]``."""

    starts: tuple[Any, ...]
    slopes: tuple[Any, ...]

    def right(self, a: Any) -> Any:
        """Return the slope to the right of a."""
        return next(slope for start, slope in zip(self.starts[::-1], self.slopes[::-1]) if start <= a)

    def left(self, a: Any) -> Any:
        """Return the slope to the left of a > 0."""
        return next(slope for start, slope in zip(self.starts[::-1], self.slopes[::-1]) if start < a)

    def best(self, most: Any) -> Any:
        """Return the largest a <= most up to which the function does not fall."""
        return next((min(start, most) for start, slope in zip(self.starts, self.slopes) if slope < 0), most)


class IterationsPlan(NamedTuple):
    """A plan that is optimal for one iteration from a text.

    value: what the text is worth. reach: r(x). parent, drafted: the prices of x. All by prefix of 1 to gamma tokens.
    """

    value: Any
    reach: dict[Prefix, Any]
    parent: dict[Prefix, Any]
    drafted: dict[Prefix, Any]


class _Tree:
    """A linear program of one iteration on the tree of draft prefixes."""

    def __init__(self, problem: Problem, worth: Callable[[Prefix], Any]):
        self.problem, self.worth = problem, worth
        self.mass: dict[Prefix, Any] = {(): QQ(1)}
        self.curves: dict[Prefix, Concave] = {}
        self.plan = IterationsPlan(ZERO, {}, {}, {})

    def solve(self) -> IterationsPlan:
        self._curve(())
        self.plan.reach[()] = QQ(1)
        self._prices((), QQ(1), None)
        value = self._ahead(()) + self._value((), QQ(1))
        del self.plan.reach[()]
        return self.plan._replace(value=value)

    def _children(self, x: Prefix) -> list[tuple[Prefix, Any]]:
        """Return the longer prefixes, with M_b(y | x)."""
        return [((*x, y), p) for y, p in enumerate(self.problem.target.row(x))] if len(x) < self.problem.gamma else []

    def _ahead(self, x: Prefix) -> Any:
        return sum((p * self.worth((*x, y)) for y, p in enumerate(self.problem.target.row(x)) if p), ZERO)

    def _gain(self, x: Prefix) -> Any:
        return self._ahead(x) - self.worth(x) if x else ZERO

    def _curve(self, x: Prefix) -> None:
        """Record what the subtree of x is worth, by r(x): its own gain, and each child's worth of what it can get."""
        parts: list[Concave] = []
        for child, p in self._children(x):
            self.mass[child] = self.mass[x] * self.problem.draft.row(x)[child[-1]]
            self._curve(child)
            if p and (most := self.curves[child].best(self.mass[child])):
                steps = [(s, k) for s, k in zip(*self.curves[child]) if s < most]
                parts.append(Concave((*(s / p for s, _ in steps), most / p), (*(k * p for _, k in steps), ZERO)))
        starts = tuple(sorted({ZERO, *(s for part in parts for s in part.starts)}))
        gain = self._gain(x)
        self.curves[x] = Concave(starts, tuple(gain + sum((part.right(s) for part in parts), ZERO) for s in starts))

    def _prices(self, x: Prefix, a: Any, wanted: Any) -> None:
        """Return reaches and prices below x, where r(x) = a: gain + sum of M_b times the children's prices is
        ``wanted``.

        Each child's price lies between its slopes; they begin at the lower ones and are raised until the sum is right.
        """
        ranges = [self._range(child, a * p) for child, p in self._children(x)]
        lacking = ZERO
        if wanted is not None and a:
            lacking = (
                wanted - self._gain(x) - sum((p * low for (_, p), (low, _) in zip(self._children(x), ranges)), ZERO)
            )
        for (child, p), (low, high) in zip(self._children(x), ranges):
            price = low
            if lacking > 0 and p and high > low:
                price = min(high, low + lacking / p)
                lacking -= p * (price - low)
            self._settle(child, a * p, price)

    def _range(self, x: Prefix, allowed: Any) -> tuple[Any, Any]:
        """Return the smallest and the largest price for keeping x no more often than its parent allows."""
        curve, most = self.curves[x], self.curves[x].best(self.mass[x])
        if self.mass[x] == 0 or allowed > most:
            return ZERO, ZERO
        low = max(curve.right(allowed), ZERO) if allowed < most else ZERO
        return low, curve.left(allowed) if allowed else low

    def _settle(self, x: Prefix, allowed: Any, price: Any) -> None:
        """Return r(x), and what drafting costs there beside the parent's price; then the same below x."""
        curve, mass = self.curves[x], self.mass[x]
        kept = min(allowed, curve.best(mass))
        if mass == 0:
            full = max(self._gain(x), ZERO)
        elif kept == mass <= allowed:
            full = max(curve.left(mass), price)
        else:
            full = price
        self.plan.reach[x], self.plan.parent[x], self.plan.drafted[x] = kept, price, full - price
        self._prices(x, kept, full if mass else None)

    def _value(self, x: Prefix, a: Any) -> Any:
        below = (self._value(child, self.plan.reach[child]) for child, _ in self._children(x))
        return self._gain(x) * a + sum(below, ZERO)


def optimal_plans(problem: Problem) -> Callable[[int, Prefix], IterationsPlan]:
    """Return plan(n, text): the optimum of the first of n iterations from a text on. Its value counts the tokens to
    come.

    Texts with the same future are solved once.
    """
    known: dict[Any, IterationsPlan] = {}

    def plan(n: int, text: Prefix) -> IterationsPlan:
        future = (n, problem.target.state(text), problem.draft.state(text))
        if future not in known:
            known[future] = _Tree(
                problem.after(text), lambda s: len(s) + (plan(n - 1, text + s).value if n > 1 else 0)
            ).solve()
        return known[future]

    return plan


def certificate(problem: Problem, iterations: int) -> dict[str, Any]:
    """Return the certificate of a problem and a number of iterations in its JSON form; rationals as strings.

    Its value is the largest E[N(iterations)] of all strategies of valid verifiers.
    Raises: InputError for more than 4,096 texts, or where a table stops short of what the iterations may reach.
    Source: mechanized/Strategies.v, ``certified_optimum``.
    """
    number = texts_to_check(problem.vocabulary, problem.gamma, iterations)
    if number > MOST_TEXTS:
        many = f"{problem.name}: {iterations} iteration{'s' * (iterations > 1)} can begin with {number:,} texts"
        raise InputError(f"{many}, expected at most {MOST_TEXTS:,}")
    written = problem.tabulated((iterations - 1) * (problem.gamma + 1))
    plan = optimal_plans(in_field(written))
    texts = {}
    for n in range(1, iterations + 1):
        made = {text: plan(n, text) for text in texts_of(problem.vocabulary, problem.gamma, iterations - n)}
        texts[str(n)] = {prefix_key(t): _as_json(p, len(t)) for t, p in made.items()}
    return {
        "format": ITERATIONS_FORMAT,
        "problem": tables(problem, iterations),
        "iterations": iterations,
        "expected_tokens": str(plan(iterations, ()).value),
        "texts": texts,
    }


def tables(problem: Problem, iterations: int) -> dict[str, Any]:
    """Return the rows that so many iterations may need, in JSON form.

    Raises: InputError where a table stops short.
    """

    def rows(model: Model) -> dict[str, list[str]]:
        assert isinstance(model, Table)
        return {prefix_key(x): [str(as_fraction(p)) for p in row] for x, row in model.rows.items()}

    written = problem.tabulated((iterations - 1) * (problem.gamma + 1))
    return {"vocabulary": problem.vocabulary, "gamma": problem.gamma, "target": rows(written.target),
            "draft": rows(written.draft)}  # fmt: skip


def _as_json(plan: IterationsPlan, length: int) -> dict[str, Any]:
    return {"value": str(plan.value + length)} | {
        name: {prefix_key(x): str(v) for x, v in getattr(plan, name).items()} for name in ("reach", "parent", "drafted")
    }
