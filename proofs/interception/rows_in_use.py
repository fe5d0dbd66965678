"""A problem's rows as a third-party function gets them: for a block of draft tokens, or for a draft tree."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Protocol

from ...models.drafting import draft_tree, replayed
from ...models.law import Prefix, Table, prefix_key
from ...models.problem import Problem
from ...verifiers.adapters.calling_convention import arguments, copied
from ...verifiers.chance import RandomChance
from ...verifiers.trees.draft_tree import Drafting, DraftTree
from ..enumeration import law_of
from ..field import rational
from .exploration import Exploration
from .explore import explore
from .outcomes import Outcome, Walk, encoded
from .surroundings import with_gaps
from .watched_arrays import watched, watching

MOST_KEPT = 4096
"""Blocks whose arguments are kept: a block is called with many times."""


Steps = tuple[Callable[..., Any], Callable[..., Any]]


class Called(Protocol):
    """What rows are made for: a function, what it takes them as, whether it takes draft trees, and arrays with gaps."""

    function: Any
    array: str | None
    dtype: str
    trees: bool
    gaps: bool


class Rows(Protocol):
    """A problem's rows as the subject gets them. called: whether it has been called with them. steps: of the subject,
    where what it gets is what the first of them gives (``calling_convention.declare``)."""

    called: bool
    steps: Steps | None

    def arguments(self, tokens: tuple[int, ...]) -> list:
        """The arguments for a draft block or tree, fresh."""
        ...

    def given(self, tokens: tuple[int, ...]) -> tuple[list, list]:
        """The same for a call, and once more to compare with after it."""
        ...


class RowsInUse:
    """A problem's rows as the subject gets them, in its precision, multiplied by ``scales`` (target, draft).

    off: what the sum of each row in use is more than 1, of target and draft, known once ``in_use`` was asked.
    """

    steps: Steps | None = None

    def __init__(self, problem: Problem, subject: Called, scales: Sequence[float] = (1.0, 1.0)):
        self.problem, self.subject, self.called = problem, subject, False
        self.off: tuple[dict[Prefix, float], ...] = ()
        self._kept: dict[tuple[int, ...], list] = {}
        *earlier, last = ([*problem.prefixes(length)] for length in range(problem.gamma + 1))
        prefixes = [prefix for group in earlier for prefix in group]
        target, draft = scales
        self._draft = {prefix: [draft * float(p) for p in problem.draft.row(prefix)] for prefix in prefixes}
        self._target = {
            prefix: [target * float(p) for p in problem.target.row(prefix)] for prefix in [*prefixes, *last]
        }

    def blocks(self) -> Iterator[tuple[int, ...]]:
        """The draft blocks that can be drafted."""
        for tokens in self.problem.prefixes(self.problem.gamma):
            if all(self._draft[tokens[:i]][t] > 0 for i, t in enumerate(tokens)):
                yield tokens

    def arguments(self, tokens: tuple[int, ...]) -> list:
        steps = range(len(tokens) + 1)
        target = [self._target[tokens[:i]] for i in steps]
        draft = [self._draft[tokens[:i]] for i in steps[:-1]]
        given = arguments(target, draft, tokens, self.subject.array or "numpy", self.subject.dtype)
        return with_gaps(given) if self.subject.gaps else given

    def given(self, tokens: tuple[int, ...]) -> tuple[list, list]:
        if tokens not in self._kept:
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            self._kept[tokens] = self.arguments(tokens)
        kept = self._kept[tokens]
        given = self.arguments(tokens) if self.subject.gaps else copied(kept)  # a copy of an array with gaps has none
        return (watched(given), watched(kept)) if watching() else (given, kept)

    def in_use(self) -> tuple[dict, dict]:
        """The rows that the subject verifies with, as the exact rationals that they are, normalised."""
        use = getattr(self.subject.function, "rows_in_use", None)

        def exact(row: list[float], x: Prefix, off: dict[Prefix, float]) -> list[Fraction]:
            array = arguments([row], [row], (), self.subject.array or "numpy", self.subject.dtype)[0]
            fractions = [Fraction(float(x)) for x in (use(array) if use else array)[0]]
            total = sum(fractions)
            off[x] = float(total - 1)
            return [p / total for p in fractions]

        self.off = {}, {}
        tables = zip((self._target, self._draft), self.off)
        target, draft = ({x: exact(row, x, off) for x, row in table.items()} for table, off in tables)
        return target, draft

    def answers(self) -> Iterator[dict[str, Any]]:
        """The rows in use and ``off``, for the parent."""
        tables = {
            name: {prefix_key(x): list(map(str, row)) for x, row in table.items()}
            for name, table in zip(("target", "draft"), self.in_use())
        }
        yield {**tables, "off": [{prefix_key(x): off for x, off in one.items()} for one in self.off]}

    def law(self, call: Callable[[], Outcome], exploration: Exploration, block: tuple[int, ...], number: int,
            walks: list[Walk] | None) -> list[dict[str, Any]]:  # fmt: skip
        """The exact law of a call, over all ways its random numbers can fall: probabilities as texts."""
        explored = explore(call, exploration, walks)
        return [{**vars(explored), "law": explored.law and [[encoded(o), str(p)] for o, p in explored.law.items()]}]

    def begins_again(self, law: dict[str, Any]) -> bool:
        return False

    def drafted(self, tokens: tuple[int, ...], draft: dict) -> float:
        """The probability of a draft block. draft: rows in use by prefix."""
        probability = 1.0
        for i, token in enumerate(tokens):
            probability *= float(draft[tokens[:i]][token])
        return probability

    def drawing(self) -> Callable[[random.Random], tuple[int, ...]]:
        """A function that draws a draft block."""
        _, draft = self.in_use()
        cumulative = {prefix: list(itertools.accumulate(map(float, row))) for prefix, row in draft.items()}

        def drawn(draw: random.Random) -> tuple[int, ...]:
            tokens: tuple[int, ...] = ()
            for _ in range(self.problem.gamma):
                tokens = (*tokens, draw.choices(range(self.problem.vocabulary), cum_weights=cumulative[tokens])[0])
            return tokens

        return drawn


class TreeRows(RowsInUse):
    """The same for draft trees, drawn from the rows in use; a tree stands for by its tokens in drawing order."""

    def __init__(self, problem: Problem, subject: Called, scales: Sequence[float] = (1.0, 1.0)):
        super().__init__(problem, subject, scales)
        self.drafting: Drafting = problem.tree
        target, draft = ({x: tuple(map(rational, row)) for x, row in rows.items()} for rows in self.in_use())
        self._models = Table(target, "target"), Table(draft, "draft")
        self._trees: dict[tuple[int, ...], tuple[DraftTree, Any]] = {}

    def blocks(self) -> Iterator[tuple[int, ...]]:
        """The tokens of every tree that can be drawn."""
        yield from sorted(law_of(lambda chance: draft_tree(*self._models, self.drafting, chance).tokens))

    def _tree(self, tokens: tuple[int, ...]) -> tuple[DraftTree, Any]:
        if tokens not in self._trees:
            self._trees[tokens] = replayed(*self._models, self.drafting, tokens)
        return self._trees[tokens]

    def arguments(self, tokens: tuple[int, ...]) -> list:
        tree = self._tree(tokens)[0]
        target = [self._target[tree.path(n)] for n in range(-1, len(tokens))]
        draft = [self._drawn_from(tree.path(parent), tree.draft[n]) for n, parent in enumerate(tree.parents)]
        array, dtype = self.subject.array or "numpy", self.subject.dtype
        return arguments(target, draft, tokens, array, dtype, tree.parents)

    def _drawn_from(self, text: Prefix, row: Sequence[Any]) -> list[float]:
        """The row of a node as it is given: of an eldest sibling the row itself, not one that was normalised again."""
        if row == self._models[1].rows[text]:
            return self._draft[text]
        return [int(p.numerator) / int(p.denominator) for p in row]

    def drafted(self, tokens: tuple[int, ...], draft: dict) -> float:
        """The probability of a draft tree."""
        probability = self._tree(tokens)[1]
        return int(probability.numerator) / int(probability.denominator)

    def drawing(self) -> Callable[[random.Random], tuple[int, ...]]:
        """A function that draws the tokens of a draft tree."""
        target, draft = (
            Table({x: tuple(map(float, map(Fraction, map(str, row)))) for x, row in model.rows.items()}, model.name)
            for model in self._models
        )
        return lambda draw: draft_tree(target, draft, self.drafting, RandomChance(draw)).tokens


def rows_for(problem: Problem, subject: Called, scales: Sequence[float] = (1.0, 1.0)) -> RowsInUse:
    """A problem's rows for a subject: of trees, if it verifies trees; then a single path is one, too."""
    return (TreeRows if subject.trees else RowsInUse)(problem, subject, scales)
