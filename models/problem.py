"""A problem: one draft/target pair on a small vocabulary, exact, in the JSON form of problem.schema.json."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from ..verifiers.draft_block import Block
from ..verifiers.trees.draft_tree import IID, TOP, Drafting
from .drafting import drafting_from, drafting_json, most_nodes, single_path
from .errors import InputError
from .law import ContextFree, Markov, Model, Prefix, Shifted, Table, prefix_key, prefix_of_key
from .rationals import as_float, as_fraction, parse_rational
from .wide import WideProblem, wide_from

MOST_BLOCKS_LOG2 = 20
"""V^gamma up to about a million: what exact enumeration is made for."""


@dataclass(frozen=True)
class Problem:
    """vocabulary: V; gamma: the length of a draft block, the depth of a tree; target: M_b; draft: M_s.

    drafting: how a draft tree is drawn; None for a single path.
    """

    vocabulary: int
    gamma: int
    target: Model
    draft: Model
    name: str = "problem"
    drafting: Drafting | None = None

    @property
    def tree(self) -> Drafting:
        """How a draft tree is drawn; a single path is one, too."""
        return self.drafting or single_path(self.gamma)

    @property
    def drafts(self) -> int:
        """How many draft blocks or trees can be drawn, at most."""
        if self.tree.parents is not None:
            return math.prod(map(self._ways, Counter(self.tree.parents).values()))
        drafts, parents = 1, 1
        for count in self.tree.children:
            drafts, parents = drafts * self._ways(count) ** parents, parents * count
        return drafts

    def _ways(self, count: int) -> int:
        """How many ways there are to draw so many siblings, at most."""
        without = math.perm(self.vocabulary, min(count, self.vocabulary))
        return {TOP: 1, IID: self.vocabulary**count}.get(self.tree.how, without)

    def block(self, tokens: Prefix, context: Prefix = ()) -> Block:
        """The block that a verifier sees when X^gamma = tokens is drafted after the context."""
        prefixes = [context + tokens[:i] for i in range(len(tokens) + 1)]
        return Block([*map(self.target.row, prefixes)], [*map(self.draft.row, prefixes[:-1])], tokens)

    def after(self, context: Prefix) -> "Problem":
        """The same pair, seen from behind a context."""
        return replace(self, target=Shifted(self.target, context), draft=Shifted(self.draft, context))

    def prefixes(self, length: int) -> Iterator[Prefix]:
        """Every prefix of exactly that length, in order."""
        return product(range(self.vocabulary), repeat=length)

    def tabulated(self, beyond: int = 0) -> "Problem":
        """The same problem with both models written out as tables. beyond: tokens further than one iteration needs."""

        def table(name: str, longest: int) -> Table:
            row = getattr(self, name).row
            return Table({x: tuple(row(x)) for n in range(longest + 1) for x in self.prefixes(n)}, name)

        return replace(self, target=table("target", self.gamma + beyond), draft=table("draft", self.gamma + beyond - 1))


def checked_row(values: Any, vocabulary: int, where: str) -> tuple[Fraction, ...]:
    """A checked probability row: length V, no negative entry, sum exactly 1."""
    if not isinstance(values, list):
        raise InputError(f"{where}: expected a list of {vocabulary} probabilities, got {type(values).__name__}")
    if len(values) != vocabulary:
        raise InputError(f"{where}: expected {vocabulary} probabilities, got {len(values)}")
    row = tuple(parse_rational(v, where) for v in values)
    for token, p in enumerate(row):
        if p < 0:
            raise InputError(f"{where}: token {token} has the negative probability {p}")
    if sum(row) != 1:
        raise InputError(f"{where}: the row sums to {sum(row)} (= {float(sum(row)):.6g}), expected exactly 1")
    return row


def _prefix(key: str, vocabulary: int, where: str) -> Prefix:
    try:
        prefix = prefix_of_key(key)
    except ValueError:
        raise InputError(f'{where}: "{key}" is not a prefix; expected tokens joined by commas') from None
    if not all(0 <= token < vocabulary for token in prefix):
        raise InputError(f'{where}: prefix "{key}" has a token outside 0..{vocabulary - 1}')
    return prefix


def _model(data: Any, vocabulary: int, longest: int, where: str) -> Model:
    if isinstance(data, list):
        return ContextFree(checked_row(data, vocabulary, where))
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected a list, a table or a Markov model, got {type(data).__name__}")
    if "start" in data or "after" in data:
        if set(data) != {"start", "after"} or not isinstance(data["after"], dict):
            raise InputError(f'{where}: a Markov model has exactly "start" (a row) and "after" (a row a token)')
        after = {}
        for key, values in data["after"].items():
            prefix = _prefix(key, vocabulary, f"{where}.after")
            if len(prefix) != 1:
                raise InputError(f'{where}.after: "{key}" is not one token')
            after[prefix[0]] = checked_row(values, vocabulary, f'{where}.after["{key}"]')
        missing = [t for t in range(vocabulary) if t not in after]
        if missing:
            raise InputError(f'{where}.after: no row for token "{missing[0]}"')
        start = checked_row(data["start"], vocabulary, f"{where}.start")
        return Markov(start, tuple(after[t] for t in range(vocabulary)))
    rows = {}
    for key, values in data.items():
        prefix = _prefix(key, vocabulary, where)
        if prefix in rows:
            raise InputError(f'{where}: the prefix "{key}" is given twice')
        rows[prefix] = checked_row(values, vocabulary, f'{where}["{key}"]')
    for length in range(longest + 1):
        for prefix in product(range(vocabulary), repeat=length):
            if prefix not in rows:
                needed = f"every prefix up to length {longest} needs one"
                raise InputError(f'{where}: no row for the prefix "{prefix_key(prefix)}"; {needed}')
    return Table(rows, where)


AnyProblem = Problem | WideProblem


def any_problem_from(data: Any, name: str = "problem") -> AnyProblem:
    """A problem from its JSON form, or from the specification of a wide one.

    Raises: as ``problem_from`` and ``wide_from``; not for one that draws a tree.
    """
    return wide_from(data, name) if isinstance(data, dict) and "wide" in data else tree_problem_from(data, name)


def problem_from(data: Any, name: str = "problem") -> Problem:
    """A problem of a single path from its JSON form.

    Raises: InputError naming the row, the prefix and the sum where the data is not a problem, and for one that draws a tree.
    """
    problem = tree_problem_from(data, name)
    if not problem.tree.chain:
        raise InputError(f"{problem.name}: it draws a tree of several drafts; expected a problem of a single path here")
    return problem


def tree_problem_from(data: Any, name: str = "problem") -> Problem:
    """A problem from its JSON form, also of one that draws a tree. Raises: as ``problem_from``."""
    if not isinstance(data, dict):
        raise InputError(f"{name}: expected a JSON object, got {type(data).__name__}")
    unknown = set(data) - {"vocabulary", "gamma", "target", "draft", "name", "drafting"}
    if unknown:
        raise InputError(f"{name}: unknown field {sorted(unknown)[0]!r}; expected vocabulary, gamma, target, draft")
    for field in ("vocabulary", "gamma", "target", "draft"):
        if field not in data:
            raise InputError(f"{name}: the field {field!r} is missing")
    for field in ("vocabulary", "gamma"):
        value = data[field]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name}: {field} must be a whole number of at least 1, got {value!r}")
    vocabulary, gamma = data["vocabulary"], data["gamma"]
    if gamma > 200 or gamma * math.log2(vocabulary) > MOST_BLOCKS_LOG2:
        raise InputError(
            f"{name}: vocabulary {vocabulary} and gamma {gamma} give too many draft blocks to enumerate; "
            f"expected at most 2^{MOST_BLOCKS_LOG2} (and gamma at most 200)"
        )
    target = _model(data["target"], vocabulary, gamma, "target")
    draft = _model(data["draft"], vocabulary, gamma - 1, "draft")
    drafting = drafting_from(data.get("drafting"), gamma, name)
    return Problem(vocabulary, gamma, target, draft, str(data.get("name", name)), drafting)


def _no_repeats(pairs):
    for key, times in Counter(key for key, _ in pairs).items():
        if times > 1:
            raise InputError(f'the key "{key}" is given twice')
    return dict(pairs)


def _no_constant(text: str):
    raise InputError(f"{text} is not a probability")


Made = TypeVar("Made", bound=AnyProblem)


def parse_problem(text: str, name: str = "problem", make: Callable[[Any, str], Made] = problem_from) -> Made:
    """A problem from JSON text; decimal numbers are read as the exact decimals they are. make: from its JSON form."""
    try:
        hooks = {"parse_constant": _no_constant, "object_pairs_hook": _no_repeats}
        data = json.loads(text, parse_float=lambda number: parse_rational(number, "number"), **hooks)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}: not JSON ({error})") from None
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except RecursionError:
        raise InputError(f"{name}: nested too deeply to be a problem") from None
    return make(data, name)


def load_problem(source: str, make: Callable[[Any, str], Made] = problem_from) -> Made:
    """A problem from a file, or from JSON text in place of a file name. make: from its JSON form.

    Raises: InputError if the file is not there or not a problem.
    """
    if source.lstrip().startswith("{"):
        return parse_problem(source, "inline problem", make)
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{source}: not a text file") from None
    return parse_problem(text, source, make)


def as_json(problem: AnyProblem) -> dict:
    """The JSON form of a problem; rationals as strings. ``any_problem_from`` gives the same problem back."""
    if isinstance(problem, WideProblem):
        return problem.as_json()

    def texts(row):
        return [str(as_fraction(p)) for p in row]

    def model(m, longest):
        if isinstance(m, ContextFree):
            return texts(m.probabilities)
        if isinstance(m, Markov):
            return {"start": texts(m.start), "after": {str(t): texts(r) for t, r in enumerate(m.after)}}
        keys = (x for n in range(longest + 1) for x in problem.prefixes(n))
        return {prefix_key(x): texts(m.row(x)) for x in keys}

    drafting = {} if problem.drafting is None else {"drafting": drafting_json(problem.drafting)}
    return {
        "name": problem.name, "vocabulary": problem.vocabulary, "gamma": problem.gamma,
        "target": model(problem.target, problem.gamma), "draft": model(problem.draft, problem.gamma - 1), **drafting,
    }  # fmt: skip


def with_numbers(problem: Problem, number: Callable[[Any], Any]) -> Problem:
    """The same problem with every probability passed through ``number`` (a field of rationals, say)."""

    def convert(m):
        if isinstance(m, ContextFree):
            return ContextFree(tuple(map(number, m.probabilities)))
        if isinstance(m, Markov):
            return Markov(tuple(map(number, m.start)), tuple(tuple(map(number, r)) for r in m.after))
        if isinstance(m, Table):
            return Table({x: tuple(map(number, r)) for x, r in m.rows.items()}, m.name)
        raise TypeError(f"cannot convert {type(m).__name__}")

    return replace(problem, target=convert(problem.target), draft=convert(problem.draft))


def rows_of(model: Any) -> list[Sequence[Any]]:
    """The rows that a model is written as; none of a model that computes them."""
    if isinstance(model, ContextFree):
        return [model.probabilities]
    if isinstance(model, Markov):
        return [model.start, *model.after]
    return [*model.rows.values()] if isinstance(model, Table) else []


def size_of(problem: Problem) -> dict[str, Any]:
    """How large a problem is, for the detail of evidence: V, gamma, the smallest probability that is not 0, and its tree."""
    rows = [*rows_of(problem.target), *rows_of(problem.draft)]
    smallest = min((p for p in (as_float(p) for row in rows for p in row) if p > 0), default=None)
    size = {"vocabulary": problem.vocabulary, "gamma": problem.gamma, "smallest_probability": smallest}
    if problem.drafting is not None:
        most = most_nodes(problem.draft, problem.drafting)
        size |= {"nodes": most, "drafting": problem.drafting.how, "children": str(problem.drafting).split("x")}
    return size
