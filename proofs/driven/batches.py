"""Rows of a batch must not influence each other: each has to emit alone what it emits among others."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ...models.problem import Problem
from ...verifiers.adapters.protocol import PLACEHOLDER, Row
from ...verifiers.zoo.catalogue import BATCH_MUTANTS
from ..interception.harness import timed_call
from ..interception.outcomes import Outcome, Raised
from .answers import random_requests
from .subjects import DrivenObject

ROUNDS = 32
"""Batches of each kind."""

FEWEST = 2
"""Batches of each kind if there is no time for more."""

SIZE = 8
"""Rows in each batch."""

MANY = 64
"""Rows of larger batches, which engines process in blocks."""

BETWEEN_LARGE = 8
"""Rounds of which one has such a batch: each row is called alone, too."""

COMPARED = 32
"""Batches of an influenced kind that are compared with mutants; of the other kinds there are ``FEWEST``."""

SECONDS = 20.0
"""Seconds of processor time after which no further round begins."""


class Influence(NamedTuple):
    """A row that others influence.

    way: of ``WAYS``. place: its place in the batch. parents: of a tree. alone, among: what it emits alone and among
      others.
    """

    way: str
    rows: int
    place: int
    tokens: list[int]
    parents: list[int]
    alone: str
    among: str


def influences(subject: DrivenObject, problems: Sequence[Problem], seed: int) -> dict[str, Any]:
    """Return what was tried, what the verifier does not say that it takes, and the first influenced row of each way.

    problems: of one vocabulary, of several lengths. Trees of several shapes with as many nodes are of one length.
    """
    generators = {rows: np.random.default_rng([seed, k]) for k, rows in ((4, SIZE), (5, MANY))}
    since = time.process_time()
    of_length: dict[int, list[Row]] = {}
    trees = any(not problem.tree.chain for problem in problems)
    for k, problem in enumerate(problems):
        for row in _pool(subject, problem, [seed, k]):
            of_length.setdefault(len(row.tokens), []).append(row)
    pools = [*of_length.values()]
    tried = {name: 0 for name, way in WAYS.items() if way.suits(subject.function)}
    influenced: dict[str, Influence] = {}
    for k in range(ROUNDS):
        if k >= FEWEST and time.process_time() - since > SECONDS:
            break
        for name in [name for name in tried if name not in influenced and k % WAYS[name].between == 0]:
            tried[name] += 1
            if one := _influenced(subject, name, WAYS[name].drawn(pools, generators)):
                influenced[name] = one
    shown = [one._asdict() for one in influenced.values()]
    not_tried = [name for name in WAYS if name not in tried]
    again = [
        WAYS[name].drawn(pools, generators)
        for name in (tried if influenced and not trees else ())
        for _ in range(COMPARED if name in influenced and WAYS[name].rows == SIZE else FEWEST)
    ]
    names = explained(subject.function.random, again, partial(_emitted, subject))
    rows = {name: WAYS[name].rows for name in tried}
    return {"tried": tried, "not_tried": not_tried, "rows": rows, "largest": subject.largest,
            "influenced": shown, "explained": names}  # fmt: skip


def _pool(subject: DrivenObject, problem: Problem, seed: Sequence[int]) -> list[Row]:
    rows, requests = random_requests(subject, problem, 3 * SIZE, seed)
    return [subject.row(rows, request) for request in requests]


def _drawn(rows: Sequence[Row], generator: np.random.Generator, count: int = SIZE) -> list[Row]:
    return [rows[int(k)] for k in generator.choice(len(rows), count, replace=False)]


def _of_one_length(pools: list[list[Row]], generator: np.random.Generator) -> list[Row]:
    return _drawn(pools[int(generator.integers(len(pools)))], generator)


def _ragged(pools: list[list[Row]], generator: np.random.Generator, count: int = SIZE) -> list[Row]:
    rows = [row for pool in pools for row in pool]
    return _drawn(rows, generator, min(count, len(rows)))


def _in_half(change: Callable[[Row, np.random.Generator], Row]) -> "Company":
    """Return a company of rows of all lengths, in which half of the rows are changed."""

    def changed(pools: list[list[Row]], generator: np.random.Generator) -> list[Row]:
        rows = _ragged(pools, generator)
        for k in generator.choice(SIZE, SIZE // 2, replace=False):
            rows[k] = change(rows[k], generator)
        return rows

    return changed


def _with_placeholders(row: Row, generator: np.random.Generator) -> Row:
    tokens = row.tokens.clone() if hasattr(row.tokens, "clone") else np.array(row.tokens)
    tokens[int(generator.integers(len(tokens))) :] = PLACEHOLDER
    return row._replace(tokens=tokens)


def _one_row_in_two_slots(pools: list[list[Row]], generator: np.random.Generator) -> list[Row]:
    rows = _ragged(pools, generator)
    return [*rows[: SIZE // 2], rows[0], *rows[SIZE // 2 : -1]]


Company = Callable[[list[list[Row]], np.random.Generator], list[Row]]


class BatchKind(NamedTuple):
    """A kind of batch.

    company: the function that draws its rows. wants: the attribute of a verifier that takes it, if not all do.
    rows: how many. between: rounds of which one has such a batch.
    """

    company: Company
    wants: str = ""
    rows: int = SIZE
    between: int = 1

    def suits(self, function: Any) -> bool:
        """Return whether a verifier says that it takes such a batch."""
        large = self.rows > SIZE and getattr(function, "batch", 1) < self.rows
        return not large and (not self.wants or bool(getattr(function, self.wants, False)))

    def drawn(self, pools: list[list[Row]], generators: Mapping[int, np.random.Generator]) -> list[Row]:
        """Draw a batch. generators: by the number of rows."""
        return self.company(pools, generators[self.rows])


WAYS = {
    "others of its length": BatchKind(_of_one_length),
    "others of other lengths": BatchKind(_ragged),
    "placeholders in some": BatchKind(_in_half(_with_placeholders), "placeholders"),
    "greedy beside sampled": BatchKind(_in_half(lambda row, _: row._replace(greedy=True)), "mixes_greedy"),
    "the same row in another slot": BatchKind(_one_row_in_two_slots),
    "a generator of its own in some": BatchKind(
        _in_half(lambda row, g: row._replace(seed=int(g.integers(2**31)))), "seeded"
    ),
    "many others of other lengths": BatchKind(partial(_ragged, count=MANY), rows=MANY, between=BETWEEN_LARGE),
}
"""Company in which a row has to emit what it emits alone, each in the order drawn and in the opposite one."""


def _influenced(subject: DrivenObject, way: str, rows: list[Row]) -> Influence | None:
    alone = [_emitted(subject, [row])[0] for row in rows]
    for order in (range(len(rows)), range(len(rows) - 1, -1, -1)):
        among = _emitted(subject, [rows[k] for k in order])
        for place, k in enumerate(order):
            if among[place] != alone[k]:
                tokens, parents = ([*map(int, given)] for given in (rows[k].tokens, _parents(rows[k])))
                return Influence(way, len(rows), place, tokens, parents, str(alone[k]), str(among[place]))
    return None


def _parents(row: Row) -> Sequence[int]:
    return () if row.parents is None else row.parents


def _emitted(subject: DrivenObject, rows: list[Row]) -> list[Outcome]:
    """Return what one call emits; if it raised, that for every row."""

    def emitted() -> Any:
        return [tuple(map(int, tokens)) for tokens in subject.function.together(rows)]

    answer: Any = timed_call(subject.limits, False, emitted)
    if isinstance(answer, Raised) or len(answer) != len(rows):
        return [answer if isinstance(answer, Raised) else Raised("BadResult", f"{len(answer)} rows")] * len(rows)
    subject.largest = max(subject.largest, len(rows))
    return answer


Emitted = Callable[[list[Row]], Sequence[Any]]
"""Function from the rows of one call to what each emits."""


def explained(random: Sequence[Mapping[str, Any]], batches: Iterable[list[Row]], emitted: Emitted) -> list[str]:
    """Return the mutants that explain every row of all batches, and at least one that differs from what it is alone.

    random: the numbers that the subject takes. Without one for each draft token and one more, no mutant is named.
    batches: rows without any draft token are not compared.
    """
    accept = [number["name"] for number in random if "gamma" in number.get("shape", ())]
    noise = [number["name"] for number in random if "gamma" not in number.get("shape", ())]
    if len(accept) != 1 or len(noise) != 1:
        return []
    names = {"accept": accept[0], "noise": noise[0]}
    mixes = {
        name: getattr(import_module(e.target.split(":")[0]), e.target.split(":")[1]).mix
        for name, e in BATCH_MUTANTS.items()
    }
    shown = dict.fromkeys(mixes, 0)
    for rows in batches:
        among, alone = emitted(rows), [emitted([row])[0] for row in rows]
        plain = [
            row._replace(random={role: np.asarray(row.random[name]) for role, name in names.items()}) for row in rows
        ]
        for mutant, mix in [*mixes.items()]:
            for k, row in enumerate(rows):
                if row.tokens[0] == PLACEHOLDER:
                    continue
                given = emitted([_handed_in(mix(plain, k), row, names)])[0]
                if given != among[k]:
                    del mixes[mutant]
                    break
                shown[mutant] += given != alone[k]
    return [mutant for mutant in mixes if shown[mutant]]


def _handed_in(mixed: Row, row: Row, names: Mapping[str, str]) -> Row:
    """Return a row of the subject's own kind, with nothing behind its last draft token."""
    tokens = [int(x) for x in mixed.tokens]
    drafted = tokens.index(PLACEHOLDER) if PLACEHOLDER in tokens else len(tokens)
    random = {name: _like(row.random[name], mixed.random[role]) for role, name in names.items()}
    random[names["accept"]] = random[names["accept"]][:drafted]
    return mixed._replace(
        target=_like(row.target, mixed.target)[: drafted + 1], draft=_like(row.draft, mixed.draft)[:drafted],
        tokens=_like(row.tokens, mixed.tokens)[:drafted], random=random,
    )  # fmt: skip


def _like(given: Any, value: Any) -> Any:
    """Return a value as an array of the same library."""
    return given.new_tensor(np.asarray(value)) if hasattr(given, "new_tensor") else np.asarray(value)
