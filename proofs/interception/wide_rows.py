"""In the child process: a wide problem's rows as a subject gets them, and its law in the form that goes to the
parent."""

import functools
import itertools
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from ...models.law import Prefix, prefix_key
from ...models.wide import WideProblem
from ...verifiers.adapters.calling_convention import copied
from .arrays import RowArray
from .called_ids import turn
from .exploration import Exploration
from .outcomes import Outcome, Walk, encoded
from .row_draws import MOST_PATHS
from .rows_in_use import Called
from .tracer import active
from .watched_arrays import watched, watching
from .wide_laws import BUDGET, explore_wide

MOST_SINGLES = 24
"""Tokens that can be drafted up to which each may be treated specially in any block; of more, those of the block."""


class _Sent:
    """Rows on their way to the parent, each sent once."""

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


def _in_place(given: Any) -> Any:
    """Another array or tensor in the same memory."""
    return given.view() if isinstance(given, np.ndarray) else given.detach()


class FollowedFunction(Called, Protocol):
    """A function whose random numbers are followed. exploration: what is remembered of it on one problem. written:
    the names of inputs that it was seen to write to."""

    exploration: Any
    written: set[str]


class WideRows:
    """A wide problem's rows as the subject gets them, in its precision.

    most_paths: as of ``wide_laws.explore_wide``, MOST_PATHS if None.
    sharing: whether draft blocks share the ids of rows; where one id is unlike others, each calls all of them.
    """

    def __init__(self, problem: WideProblem, subject: FollowedFunction, most_paths: int | None = None):
        self.problem, self.subject, self.called = problem, subject, False
        self.most_paths, self.sharing = most_paths or MOST_PATHS, True
        self._sent, self._until = _Sent(), min(time.process_time() + BUDGET, subject.exploration.until)
        self._asked: Prefix | None = None
        self._given: dict[bool, tuple[list, list]] = {}
        self.steps = getattr(subject.function, "steps", None)
        self._stacked: tuple[Any, np.ndarray, np.ndarray] = (None, np.zeros(0), np.zeros(0))
        prefixes = [x for n in range(problem.gamma + 1) for x in problem.prefixes(n)]
        self.target = {x: problem.target_row(x) for x in prefixes}
        self.draft = {x: problem.draft_row(x) for x in prefixes if len(x) < problem.gamma}

    def blocks(self) -> Iterator[Prefix]:
        """The draft blocks that can be drafted."""
        return self.problem.prefixes(self.problem.gamma)

    def arguments(self, tokens: Prefix) -> list:
        if tokens != self._stacked[0]:
            steps = range(len(tokens) + 1)
            target = np.stack([self.target[tokens[:i]] for i in steps])
            self._stacked = tokens, target, np.stack([self.draft[tokens[:i]] for i in steps[:-1]])
        _, target, draft = self._stacked
        given = self._as_array(target.copy(), draft.copy(), tokens)
        return [*self.steps[0](*given)] if self.steps else given

    def given(self, tokens: Prefix) -> tuple[list, list]:
        tracer = active()
        lists = self.subject.array == "list"
        traced = not lists and self.subject.array != "torch" and tracer is not None and tracer.rehearsal is None
        if tokens != self._asked:  # one block is called with many times; who keeps what another got may write to it
            self._asked, self._given = tokens, {}
        if traced not in self._given:
            kept = self.arguments(tokens)
            self._given[traced] = kept, copied(kept)
        kept, handed = self._given[traced]
        # What was compared after a call and had not changed is handed out again. Lists are copied: what knows one
        # again, or finds in it what it wrote there, would do so in calls on the same rows alone.
        given = self.arguments(tokens) if self.subject.written else copied(handed, _in_place)
        return (watched(given), watched(kept)) if watching() else (given, kept)

    def _as_array(self, target: np.ndarray, draft: np.ndarray, tokens: Prefix) -> list:
        array, dtype = self.subject.array or "numpy", self.subject.dtype
        if array == "torch":
            import torch

            kind = getattr(torch, dtype)
            return [torch.from_numpy(target).to(kind), torch.from_numpy(draft).to(kind), torch.tensor(tokens)]
        target, draft = (rows.astype(dtype, copy=False) for rows in (target, draft))
        if array == "list":
            return [target.tolist(), draft.tolist(), list(tokens)]
        tracer = active()
        if tracer is not None and tracer.rehearsal is None:
            target, draft = target.view(RowArray), draft.view(RowArray)
        if array == "rows":
            return [[*target], [*draft], list(tokens)]
        return [target, draft, np.array(tokens, dtype=np.int64)]

    def in_use(self, row: np.ndarray) -> np.ndarray:
        """A row that the subject verifies with, float64, not normalised."""
        own = row[None].copy()  # third-party code gets it
        given = self._as_array(own, own, ())[0]
        use = getattr(self.subject.function, "rows_in_use", None)
        used = (use(given) if use else given)[0]
        return np.asarray(used.double().numpy() if hasattr(used, "double") else used, dtype=np.float64)

    def answers(self) -> Iterator[dict[str, Any]]:
        """The rows in use, each once, as bytes of float64; which they are, and how far from those given at most."""
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
        """The law of a call, as far as it is known; calls with plain numbers are not kept."""
        few, blocks = {*itertools.chain(*self.problem.live)}, self.problem.count(self.problem.gamma)
        live = [*(few if len(few) <= MOST_SINGLES else ()), *block]
        seed = self.problem.seed + number
        shared = functools.partial(turn, self.problem, block, number) if self.sharing else lambda position: (0, 1)
        brief = self.problem.exchanged or self.problem.few_ids
        how = self._until, blocks, brief, self.most_paths, self.rows_after, number, shared
        explored = explore_wide(call, exploration, self.problem.vocabulary, live, seed, *how)
        answer = {**vars(explored), "law": explored.law and [[encoded(o), p] for o, p in explored.law.items()]}
        answer["rows"] = [
            {
                **vars(row), "weights": self._sent(row.weights),
                "roundings": row.roundings and (*map(self._sent, row.roundings[:2]), row.roundings[2]),
            }
            for row in explored.rows
        ]  # fmt: skip
        return [*self._sent.taken(), answer]

    def begins_again(self, law: dict[str, Any]) -> bool:
        """Whether a law of a block shows that the ids should not be shared, as they are."""
        again, self.sharing = self.sharing and law["unlike"], self.sharing and not law["unlike"]
        return again

    def rows_after(self, prefix: Prefix) -> Iterator[np.ndarray]:
        """The target's row, and what is left of it where the draft's is taken out, as the subject gets them."""
        if prefix in self.target:
            kind = self.subject.dtype if self.subject.dtype != "bfloat16" else "float32"
            target = self.target[prefix].astype(kind)
            yield target
            if prefix in self.draft:
                yield np.maximum(target - self.draft[prefix].astype(kind), 0)

    def drawing(self) -> Callable[[random.Random], Prefix]:
        """A function that draws a draft block."""

        def drawn(draw: random.Random) -> Prefix:
            tokens: Prefix = ()
            while live := self.problem.drafted(tokens):
                tokens = (*tokens, draw.choices(live, self.draft[tokens][list(live)].tolist())[0])
            return tokens

        return drawn
