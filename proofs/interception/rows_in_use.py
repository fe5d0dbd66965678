"""A problem's rows as a third-party function gets them: for a block of draft tokens, or for a draft tree."""

import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from ...models.drafting import draft_tree, replayed
from ...models.law import Prefix, Table, prefix_key
from ...models.problem import Problem
from ...models.wide import WideProblem
from ...verifiers.adapters.calling_convention import OnLogits, arguments, copied, logits_of
from ...verifiers.chance import RandomChance
from ...verifiers.trees.draft_tree import Drafting, DraftTree
from ..enumeration import law_of
from ..field import rational
from .arrays import RowArray
from .called_ids import CalledIds
from .exploration import Exploration
from .explore import explore
from .given_again import held, untouched
from .outcomes import Outcome, Walk, encoded
from .row_draws import MOST_PATHS
from .surroundings import with_gaps
from .tracer import active
from .wide_laws import BUDGET, WideCall

MOST_KEPT = 4096
"""Blocks whose arguments are kept: a block is called with many times."""


class Called(Protocol):
    """A function that rows are made for: how it takes them, whether it takes draft trees, and arrays with gaps."""

    function: Any
    array: str | None
    dtype: str
    trees: bool
    gaps: bool


class RowsInUse:
    """A problem's rows as the subject gets them, in its precision, multiplied by ``scales`` (target, draft).

    off: what the sum of each row in use is more than 1, of target and draft, known once ``in_use`` was asked.
    called: whether the subject has been called with them.
    """

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
        """Yield the draft blocks that can be drafted."""
        for tokens in self.problem.prefixes(self.problem.gamma):
            if all(self._draft[tokens[:i]][t] > 0 for i, t in enumerate(tokens)):
                yield tokens

    def arguments(self, tokens: tuple[int, ...]) -> list:
        """Return the arguments for a draft block, fresh."""
        steps = range(len(tokens) + 1)
        target = [self._target[tokens[:i]] for i in steps]
        draft = [self._draft[tokens[:i]] for i in steps[:-1]]
        return _taken(self.subject, target, draft, tokens, gaps=self.subject.gaps)

    def given(self, tokens: tuple[int, ...]) -> tuple[list, list]:
        """Return the arguments for a call, and once more to compare with after it."""
        if tokens not in self._kept:
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            self._kept[tokens] = self.arguments(tokens)
        kept = self._kept[tokens]
        given = self.arguments(tokens) if self.subject.gaps else copied(kept)  # a copy of an array with gaps has none
        return given, kept

    def take_back(self, given: list) -> bool:
        """Take the arguments of a call back after it; return whether they are known to be as they were."""
        return False

    def in_use(self) -> tuple[dict, dict]:
        """Return the rows that the subject verifies with, as the exact rationals that they are, normalised."""

        def exact(row: list[float], x: Prefix, off: dict[Prefix, float]) -> list[Fraction]:
            ratios = [float(p).as_integer_ratio() for p in _verified_with(self.subject, [row])]
            common = max(denominator for _, denominator in ratios)  # all are powers of 2
            parts = [numerator * (common // denominator) for numerator, denominator in ratios]
            whole = sum(parts)
            off[x] = float(Fraction(whole - common, common))
            return [Fraction(part, whole) for part in parts]

        self.off = {}, {}
        tables = zip((self._target, self._draft), self.off)
        target, draft = ({x: exact(row, x, off) for x, row in table.items()} for table, off in tables)
        return target, draft

    def answers(self) -> Iterator[dict[str, Any]]:
        """Yield the rows in use and ``off``, for the parent."""
        tables = {
            name: {prefix_key(x): list(map(str, row)) for x, row in table.items()}
            for name, table in zip(("target", "draft"), self.in_use())
        }
        yield {**tables, "off": [{prefix_key(x): off for x, off in one.items()} for one in self.off]}

    def law(self, call: Callable[[], Outcome], exploration: Exploration, block: tuple[int, ...], number: int,
            walks: list[Walk] | None) -> list[dict[str, Any]]:  # fmt: skip
        """Return the exact law of a call, over all ways its random numbers can fall: probabilities as texts."""
        explored = explore(call, exploration, walks)
        return [{**vars(explored), "law": explored.law and [[encoded(o), str(p)] for o, p in explored.law.items()]}]

    def drafted(self, tokens: tuple[int, ...], draft: dict) -> float:
        """Return the probability of a draft block. draft: rows in use by prefix."""
        probability = 1.0
        for i, token in enumerate(tokens):
            probability *= float(draft[tokens[:i]][token])
        return probability

    def drawing(self) -> Callable[[random.Random], tuple[int, ...]]:
        """Return a function that draws a draft block."""
        _, draft = self.in_use()
        cumulative = {prefix: list(itertools.accumulate(map(float, row))) for prefix, row in draft.items()}

        def drawn(draw: random.Random) -> tuple[int, ...]:
            tokens: tuple[int, ...] = ()
            for _ in range(self.problem.gamma):
                tokens = (*tokens, draw.choices(range(self.problem.vocabulary), cum_weights=cumulative[tokens])[0])
            return tokens

        return drawn


def _taken(subject: Called, target: Any, draft: Any, tokens: Any, parents: Any = None, gaps: bool = False) -> list:
    """Return what a subject takes for these rows, fresh. gaps: whether arrays of probabilities have gaps."""
    given = arguments(target, draft, tokens, subject.array or "numpy", subject.dtype, parents)
    given = with_gaps(given) if gaps else given
    return [*map(logits_of, given[:2]), *given[2:]] if isinstance(subject.function, OnLogits) else given


def _verified_with(subject: Called, rows: Any) -> Any:
    """Return the first row that a subject verifies with if it is given these."""
    given = arguments(rows, rows, (), subject.array or "numpy", subject.dtype)[0]
    use = getattr(subject.function, "rows_in_use", None)
    return (use(given) if use else given)[0]


class TreeRows(RowsInUse):
    """A problem's rows for draft trees, drawn from the rows in use. A tree is named by its tokens in drawing order."""

    def __init__(self, problem: Problem, subject: Called, scales: Sequence[float] = (1.0, 1.0)):
        super().__init__(problem, subject, scales)
        self.drafting: Drafting = problem.tree
        target, draft = ({x: tuple(map(rational, row)) for x, row in rows.items()} for rows in self.in_use())
        self._models = Table(target, "target"), Table(draft, "draft")
        self._trees: dict[tuple[int, ...], tuple[DraftTree, Any]] = {}

    def blocks(self) -> Iterator[tuple[int, ...]]:
        """Yield the tokens of every tree that can be drawn."""
        yield from sorted(law_of(lambda chance: draft_tree(*self._models, self.drafting, chance).tokens))

    def _tree(self, tokens: tuple[int, ...]) -> tuple[DraftTree, Any]:
        if tokens not in self._trees:
            self._trees[tokens] = replayed(*self._models, self.drafting, tokens)
        return self._trees[tokens]

    def arguments(self, tokens: tuple[int, ...]) -> list:
        tree = self._tree(tokens)[0]
        target = [self._target[tree.path(n)] for n in range(-1, len(tokens))]
        draft = [self._drawn_from(tree.path(parent), tree.draft[n]) for n, parent in enumerate(tree.parents)]
        return _taken(self.subject, target, draft, tokens, tree.parents)

    def _drawn_from(self, text: Prefix, row: Sequence[Any]) -> list[float]:
        """Return the row of a node as it is given: for an eldest sibling the row itself, not normalised again."""
        if row == self._models[1].rows[text]:
            return self._draft[text]
        return [int(p.numerator) / int(p.denominator) for p in row]

    def drafted(self, tokens: tuple[int, ...], draft: dict) -> float:
        """Return the probability of a draft tree."""
        probability = self._tree(tokens)[1]
        return int(probability.numerator) / int(probability.denominator)

    def drawing(self) -> Callable[[random.Random], tuple[int, ...]]:
        """Return a function that draws the tokens of a draft tree."""
        target, draft = (
            Table({x: tuple(map(float, map(Fraction, map(str, row)))) for x, row in model.rows.items()}, model.name)
            for model in self._models
        )
        return lambda draw: draft_tree(target, draft, self.drafting, RandomChance(draw)).tokens


def rows_for(problem: Problem, subject: Called, scales: Sequence[float] = (1.0, 1.0)) -> RowsInUse:
    """Return a problem's rows for a subject: for trees, if it verifies trees; then a single path is one, too."""
    return (TreeRows if subject.trees else RowsInUse)(problem, subject, scales)


MOST_SINGLES = 24
"""Tokens that can be drafted up to which each may be treated specially in any block; of more, those of the block."""


class _Sent:
    """A list of rows on their way to the parent, each sent once."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}
        self.new: list[dict[str, Any]] = []

    def __call__(self, row: np.ndarray) -> int:
        data = np.ascontiguousarray(row, dtype="<f8").tobytes()
        if data not in self.known:
            self.known[data] = len(self.known)
            self.new.append({"row": self.known[data], "data": data})
        return self.known[data]

    def taken(self) -> Iterator[dict[str, Any]]:
        yield from self.new
        self.new.clear()


def _looked_up(rows: Any) -> Any:
    return [*map(_looked_up, rows)] if isinstance(rows, list) else rows.view(RowArray)


class WideRows:
    """A wide problem's rows as the subject gets them, in its precision.

    most_paths: as of ``wide_laws.WideCall``, MOST_PATHS if None.
    every_id: as of ``called_ids.CalledIds``.
    """

    def __init__(self, problem: WideProblem, subject: Any, most_paths: int | None = None, every_id: bool = False):
        self.problem, self.subject, self.called, self.every_id = problem, subject, False, every_id
        self.most_paths = most_paths or MOST_PATHS
        self._sent, self._until = _Sent(), min(time.process_time() + BUDGET, subject.exploration.until)
        self._met = Counter[int]()
        self._asked: Prefix | None = None
        self._kept: list[Any] = []
        self._again: list[Any] | None = None
        prefixes = [x for n in range(problem.gamma + 1) for x in problem.prefixes(n)]
        self.target = {x: problem.target_row(x) for x in prefixes}
        self.draft = {x: problem.draft_row(x) for x in prefixes if len(x) < problem.gamma}

    def blocks(self) -> Iterator[Prefix]:
        """Yield the draft blocks that can be drafted."""
        return self.problem.prefixes(self.problem.gamma)

    def arguments(self, tokens: Prefix) -> list:
        """Return the arguments for a draft block, fresh."""
        steps = range(len(tokens) + 1)
        target = np.stack([self.target[tokens[:i]] for i in steps])
        draft = np.stack([self.draft[tokens[:i]] for i in steps[:-1]])
        return _taken(self.subject, target, draft, tokens)

    def given(self, tokens: Prefix) -> tuple[list, list]:
        """Return the arguments for a call, and once more to compare with after it."""
        if tokens != self._asked:  # one block is called with many times
            self._again = None
            self._asked, self._kept = tokens, self.arguments(tokens)
        given, self._again = self._again or copied(self._kept), None
        return self._followed(given), self._followed(self._kept)

    def take_back(self, given: list) -> bool:
        """Take the arguments of a call back after it; return whether they are known to be as they were.

        The next call gets the same rows, in other lists, if nothing holds them: a copy of a row takes as long as a look
        at it.
        """
        unchanged = len(self._kept) == len(given) and all(map(untouched, given, self._kept))
        self._again = [x[:] for x in given] if unchanged and not held(given) else None
        return unchanged

    def _followed(self, given: list) -> list:
        """Return the arguments, NumPy's rows so that a traced number is looked up in them as a whole."""
        tracer = active()
        if self.subject.array in ("list", "torch") or tracer is None or tracer.plain_call is not None:
            return given
        target, draft, *more = given
        return [_looked_up(target), _looked_up(draft), *more]

    def in_use(self, row: np.ndarray) -> np.ndarray:
        """Return a row that the subject verifies with, float64, not normalised."""
        used = _verified_with(self.subject, row[None])
        return np.asarray(used.double().numpy() if hasattr(used, "double") else used, dtype=np.float64)

    def answers(self) -> Iterator[dict[str, Any]]:
        """Yield the rows in use, each once, as bytes of float64, and how far they are from those given at most."""
        tables: dict[str, dict[str, int]] = {"target": {}, "draft": {}}
        off = dict.fromkeys(tables, 0.0)
        known: dict[bytes, tuple[int, float]] = {}  # long blocks have few rows, many times
        for name, table in (("target", self.target), ("draft", self.draft)):
            for x, row in table.items():
                if (given := row.tobytes()) not in known:
                    used = self.in_use(row)
                    known[given] = self._sent(used), float(np.abs(used / used.sum() - row / row.sum()).sum()) / 2
                tables[name][prefix_key(x)], away = known[given]
                off[name] = max(off[name], away)
        yield from self._sent.taken()
        yield {**tables, "off": off}

    def law(self, call: Callable[[], Outcome], exploration: Exploration, block: Prefix, number: int,
            walks: list[Walk] | None) -> list[dict[str, Any]]:  # fmt: skip
        """Return the law of a call, as far as it is known. Calls with plain numbers are not kept."""
        few, blocks = {*itertools.chain(*self.problem.live)}, self.problem.count(self.problem.gamma)
        live = [*(few if len(few) <= MOST_SINGLES else ()), *block]
        seed = self.problem.seed + number
        brief = self.problem.exchanged or self.problem.few_ids
        ids_of = CalledIds(self.problem.vocabulary, live, seed, blocks, number, brief, self.every_id, self._met)
        explored = WideCall(call, exploration, self._until, ids_of, self.most_paths).law()
        answer = {**vars(explored), "law": explored.law and [[encoded(o), p] for o, p in explored.law.items()]}
        answer["rows"] = [{**vars(row), "weights": self._sent(row.weights)} for row in explored.rows]
        return [*self._sent.taken(), answer]

    def drawing(self) -> Callable[[random.Random], Prefix]:
        """Return a function that draws a draft block."""

        def drawn(draw: random.Random) -> Prefix:
            tokens: Prefix = ()
            while live := self.problem.drafted(tokens):
                tokens = (*tokens, draw.choices(live, self.draft[tokens][list(live)].tolist())[0])
            return tokens

        return drawn


Rows = RowsInUse | WideRows
"""A problem's rows, and how a law on them is measured and sent to the parent."""
