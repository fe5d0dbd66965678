"""Subjects to drive: deterministic functions of rows, tokens and random numbers, asked in batches."""

import hashlib
import itertools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...models.problem import Problem
from ...verifiers.adapters.calling_convention import PARENTS, NotASubject, never_called, tokens_of
from ...verifiers.adapters.protocol import Row
from ...verifiers.trees.draft_tree import WAYS
from ..interception.given_again import same
from ..interception.harness import Outside, of_trees, timed_call
from ..interception.outcomes import Outcome, Raised
from ..interception.rows_in_use import Rows, rows_for
from ..time_limits import TimeLimits
from .declared import SIGNIFICAND, Declared, declared, stated
from .layout import Key, KeyedTable, Layout
from .partition import Point


class Request(NamedTuple):
    """One call: a draft block, and the random numbers by their points.

    seed: the seed of a program that draws its own numbers, and of the numbers of keys that the layout does not know.
    """

    block: tuple[int, ...]
    layout: Layout
    point: Point
    seed: int = 0


class DrivenSubject(ABC):
    """A subject to drive. Whatever it is, ``outcomes`` asks it.

    random: the numbers that it takes; None if it draws its own from a seed. batch: requests that it takes at once.
    array, dtype: of its rows. findings: what was noticed.
    trees, drafting: whether it takes draft trees, and how they are drawn.
    new_keys: calls of keyed generators for keys that the layout does not know: block -> name -> keys, and whether an
      array.
    """

    random: tuple[Declared, ...] | None
    batch: int = 1
    gaps, driven = False, True

    def __init__(self, name: str, array: str | None, dtype: str, limits: TimeLimits):
        self.name, self.array, self.dtype, self.limits = name, array, dtype, limits
        self.function: Any = None
        self.trees, self.drafting = False, WAYS
        self.findings: dict[str, str] = {}
        self.description: dict[str, Any] = {}
        self.new_keys: dict[tuple[int, ...], dict[str, list[tuple[tuple[Key, ...], bool]]]] = {}
        self.calls, self.outside, self.latest = 0, Outside(None), math.inf

    def until(self, moment: float) -> None:
        """Look for no law after that processor time of this process. The subject's own time counts with it."""
        self.latest = moment + self.seconds() - time.process_time()

    def seconds(self) -> float:
        """Return the processor time taken so far, by this process and by the subject."""
        return time.process_time()

    def probe(self, problems: Sequence[Problem]) -> dict[str, Any]:
        """Return how it is called, tried on a few blocks. Raises: NotASubject if no call returns tokens."""
        reasons = []
        for problem in problems:
            layout = Layout(self.random or (), problem, self.dtype)
            rows = rows_for(problem, self)
            for block in itertools.islice(rows.blocks(), 3):
                (outcome,) = self.outcomes(rows, [Request(block, layout, layout.start())])
                if not isinstance(outcome, Raised):
                    return self.convention
                reasons.append(str(outcome) if outcome.error != "BadResult" else outcome.message)
        why = reasons[0] if reasons else "nothing"
        raise never_called(self.name, why)

    @property
    def convention(self) -> dict[str, Any]:
        """Return how it is called, for the report."""
        numbers: Any = "own"
        if self.random is not None:
            numbers = [{"name": one.name, "kind": one.kind, "shape": list(one.shape or ())} for one in self.random]
            for one, said in zip(self.random, numbers):
                said |= {"bits": one.bits} if one.kind == "uniform" else {}
        said = {"array": self.array or "json", "random": "driven", "numbers": numbers, "batch": self.batch}
        return said | of_trees(self)

    @abstractmethod
    def outcomes(self, rows: Rows, requests: Sequence[Request]) -> list[Outcome]:
        """Return the outcome of each request, in their order. Raises: NeverReturned, RunFailed."""


def is_driven(subject: Any) -> bool:
    """Check whether a Python object says which random numbers it takes."""
    return (
        callable(subject)
        and not isinstance(subject, type)
        and isinstance(getattr(subject, "random", None), (list, tuple, str))
    )


class DrivenObject(DrivenSubject):
    """A Python object with ``random`` and ``__call__(target, draft, tokens, random)``.

    One with ``parents = True`` verifies draft trees: ``__call__(target, draft, tokens, parents, random)``.
    largest: the most requests in one call that was answered.
    """

    def __init__(self, function: Any, name: str, array: str | None, dtype: str, limits: TimeLimits):
        super().__init__(name, array or getattr(function, "array", None) or "numpy", dtype, limits)
        self.function, self.trees = function, stated(bool, getattr(function, PARENTS, False), f"{name} has {PARENTS}")
        self.drafting, self.outside = getattr(function, "drafting", WAYS), Outside(function)
        self.random = declared(function.random, dtype)
        if self.random is None:
            raise NotASubject(
                f"{name} says that it draws its own random numbers; expected f(target, draft, tokens[, rng])"
            )
        self.batch = getattr(function, "batch", 1) if hasattr(function, "together") else 1
        self.largest = 1
        self._rows: Rows | None = None
        self._given: dict[tuple[int, ...], tuple[list, list]] = {}
        self._written: set[str] = set()

    @property
    def convention(self) -> dict[str, Any]:
        return super().convention | ({"together": True} if self.batch > 1 else {})

    def outcomes(self, rows: Rows, requests: Sequence[Request]) -> list[Outcome]:
        """Make one call for each request, or for each batch of them if it takes batches."""
        if self.batch == 1:
            return [self._outcome(rows, request) for request in requests]
        outcomes: list[Outcome] = []
        for k in range(0, len(requests), self.batch):
            outcomes += self._together(rows, requests[k : k + self.batch])
        return outcomes

    def row(self, rows: Rows, request: Request) -> Row:
        """Return what the subject is given for a request."""
        if rows is not self._rows:
            self._rows, self._given = rows, {}
        if request.block not in self._given:
            self._given[request.block] = rows.arguments(request.block), rows.arguments(request.block)
        numbers = {name: self._array(values) for name, values in request.layout.numbers(request.point).items()}
        target, draft, tokens, *parents = self._given[request.block][0]
        random = numbers | request.layout.tables(request.point, request.seed)
        return Row(target, draft, tokens, random, parents=parents[0] if parents else None)

    def _drafted(self, row: Row) -> list[Any]:
        """Return the arguments other than the random numbers."""
        return [*row[:3], row.parents] if self.trees else [*row[:3]]

    def _outcome(self, rows: Rows, request: Request) -> Outcome:
        row = self.row(rows, request)
        self.calls += 1
        first, rows.called = not rows.called, True
        try:
            return timed_call(self.limits, first, lambda: self._called(row))
        finally:
            self._look_at(request, row)

    def _called(self, row: Row) -> Outcome:
        result = self.outside.calling(lambda: self.function(*self._drafted(row), row.random))
        self.outside.look_at(tokens := tokens_of(result))
        return tokens

    def _together(self, rows: Rows, requests: Sequence[Request]) -> list[Outcome]:
        """Ask many requests in one call; if that raises, ask them one by one, to find which of them do."""
        given = [self.row(rows, request) for request in requests]
        first, rows.called = not rows.called, True
        self.calls += len(requests)
        try:
            answers: Any = timed_call(self.limits, first, lambda: list(self.function.together(given)))  # pyright: ignore
        finally:
            for request, row in zip(requests, given):
                self._look_at(request, row)
        if isinstance(answers, Raised) or len(answers) != len(requests):
            how = f"raises {answers}" if isinstance(answers, Raised) else f"answers {len(answers)} of them"
            self.findings["batch"] = f"a call with {len(requests)} requests {how}"[:400]
            return [self._outcome(rows, request) for request in requests]
        self.largest = max(self.largest, len(requests))
        return [timed_call(self.limits, False, lambda answer=answer: tokens_of(answer)) for answer in answers]

    def _look_at(self, request: Request, row: Row) -> None:
        """Note, after a call, what it wrote to and which keys it asked for."""
        _, before = self._given.get(request.block, (None, None))
        for argument, now, then in zip(("target", "draft", "tokens", PARENTS), self._drafted(row), before or ()):
            if not same(now, then):
                self._written.add(argument)
                self.findings["inputs-written"] = f"writes to its input {', '.join(sorted(self._written))}"
                self._given.pop(request.block, None)
        tables = {name: table for name, table in row.random.items() if isinstance(table, KeyedTable)}
        for name, table in tables.items():
            known = self.new_keys.get(request.block, {}).get(name, [])
            new = [call for call in table.asked if call not in known and not table.numbers.keys() >= {*call[0]}]
            if new:
                self.new_keys.setdefault(request.block, {}).setdefault(name, []).extend(new)
            if twice := table.twice():
                self.findings.setdefault(
                    "key-used-twice",
                    f"{name} is asked for seed {twice[0]!r} and position {twice[1]} {table.ledger[twice]} times in one "
                    "call: it gives the same number each time",
                )

    def _array(self, values: Any) -> Any:
        """Return random numbers as the rows come, in double precision if they need it."""
        if self.array == "list":
            return values
        wide = max((one.bits or 0 for one in self.random or () if one.kind == "uniform"), default=0)
        dtype = self.dtype if wide <= SIGNIFICAND[self.dtype] else "float64"
        if self.array == "torch":
            import torch

            return torch.tensor(values, dtype=getattr(torch, "float32" if dtype in ("float16", "bfloat16") else dtype))
        return np.array(values, dtype="float32" if dtype in ("float16", "bfloat16") else dtype)


def digest_of_files(files: Sequence[str]) -> str:
    """Return the sha256 of the contents of files, one after the other."""
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as content:
            digest.update(content.read())
    return f"sha256:{digest.hexdigest()}"
