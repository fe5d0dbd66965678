"""A problem: one draft/target pair on a small vocabulary, exact, in the JSON form of problem.schema.json."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Annotated, Any, TypeVar

import msgspec

from ..verifiers.draft_block import Block
from ..verifiers.trees.draft_tree import IID, TOP, Drafting
from .declared import DeclaredLaw, DeclaredModel
from .drafting import DraftingForm, drafting_json, most_nodes, single_path
from .errors import InputError, of_kind
from .json_files import convert, parse, read_file
from .law import ContextFree, Markov, Model, Prefix, Shifted, Table, prefix_key, prefix_of_key
from .rationals import as_float, parse_rational, total
from .wide import WideProblem, wide_from

MOST_BLOCKS_LOG2 = 20
"""V^gamma up to about a million: what exact enumeration is made for."""


@dataclass(frozen=True)
class Problem:
    """A draft/target pair. vocabulary: V; gamma: length of a draft block, depth of a tree; target: M_b; draft: M_s.

    drafting: how a draft tree is drawn; None for a single path.
    law: what the text is asked to follow, where that is not the target.
    """

    vocabulary: int
    gamma: int
    target: Model
    draft: Model
    name: str = "problem"
    drafting: Drafting | None = None
    law: DeclaredLaw | None = None

    @cached_property
    def asked(self) -> Model:
        """Return the law that the text is asked to follow: the target's, or the one that is declared."""
        return DeclaredModel(self.law, self.target, self.draft, self.gamma) if self.law else self.target

    @property
    def as_asked(self) -> "Problem":
        """Return the problem whose target is the law asked for, of which proofs on valid verifiers speak."""
        return replace(self, target=self.asked, law=None) if self.law else self

    @property
    def tree(self) -> Drafting:
        """Return how a draft tree is drawn; a single path is one, too."""
        return self.drafting or single_path(self.gamma)

    @property
    def drafts(self) -> int:
        """Return how many draft blocks or trees can be drawn, at most."""
        if self.tree.parents is not None:
            return math.prod(map(self._ways, Counter(self.tree.parents).values()))
        drafts, parents = 1, 1
        for count in self.tree.children:
            drafts, parents = drafts * self._ways(count) ** parents, parents * count
        return drafts

    def _ways(self, count: int) -> int:
        """Return how many ways there are to draw so many siblings, at most."""
        without = math.perm(self.vocabulary, min(count, self.vocabulary))
        return {TOP: 1, IID: self.vocabulary**count}.get(self.tree.how, without)

    def block(self, tokens: Prefix, context: Prefix = ()) -> Block:
        """Return the block that a verifier sees when X^gamma = tokens is drafted after the context."""
        prefixes = [context + tokens[:i] for i in range(len(tokens) + 1)]
        return Block([*map(self.target.row, prefixes)], [*map(self.draft.row, prefixes[:-1])], tokens)

    def after(self, context: Prefix) -> "Problem":
        """Return the same pair, seen from behind a context."""
        return replace(self, target=Shifted(self.target, context), draft=Shifted(self.draft, context))

    def prefixes(self, length: int) -> Iterator[Prefix]:
        """Yield every prefix of exactly that length, in order."""
        return product(range(self.vocabulary), repeat=length)

    def tabulated(self, beyond: int = 0) -> "Problem":
        """Return the problem with both models written out as tables. beyond: tokens further than one iteration
        needs.
        """
        return self.changed(lambda row, _: row, beyond)

    def changed(self, change: Callable[[tuple, bool], tuple], beyond: int = 0) -> "Problem":
        """Return the same with change(row, drafted) for each row, written out; drafted: whether it is the draft
        model's.
        """

        def table(name: str, longest: int) -> Table:
            row, prefixes = getattr(self, name).row, (x for n in range(longest + 1) for x in self.prefixes(n))
            return Table({x: change(tuple(row(x)), name == "draft") for x in prefixes}, name)

        return replace(self, target=table("target", self.gamma + beyond), draft=table("draft", self.gamma + beyond - 1))


def checked_row(values: Any, vocabulary: int, where: str) -> tuple[Fraction, ...]:
    """Check a probability row: length V, no negative entry, sum exactly 1. Raises: InputError naming the sum."""
    if not isinstance(values, list):
        raise InputError(f"{where}: expected a list of {vocabulary} probabilities, got {type(values).__name__}")
    if len(values) != vocabulary:
        raise InputError(f"{where}: expected {vocabulary} probabilities, got {len(values)}")
    row = tuple(parse_rational(v, where) for v in values)
    if any(p.numerator < 0 for p in row):
        raise InputError(f"{where}: token {row.index(min(row))} has the negative probability {min(row)}")
    if (sums := total(row)) != 1:
        raise InputError(f"{where}: the row sums to {sums} (= {float(sums):.6g}), expected exactly 1")
    return row


ModelForm = list[Any] | dict[str, Any]
"""A row; a row for each prefix, tokens joined by commas; or ``MarkovForm``."""


class MarkovForm(msgspec.Struct, forbid_unknown_fields=True):
    """An order-1 Markov model: a row at the start, and a row after each token."""

    start: list[Any]
    after: dict[str, list[Any]]


class ProblemForm(msgspec.Struct, forbid_unknown_fields=True):
    """A problem on a small vocabulary in its JSON form."""

    vocabulary: Annotated[int, msgspec.Meta(ge=1)]
    gamma: Annotated[int, msgspec.Meta(ge=1, le=200)]
    target: ModelForm
    draft: ModelForm
    name: str | None = None
    drafting: DraftingForm | None = None
    law: DeclaredLaw | None = None
    about: dict[str, Any] | None = None


def _rows(data: dict[str, Any], vocabulary: int, where: str) -> dict[Prefix, tuple[Fraction, ...]]:
    rows = {}
    for key, values in data.items():
        try:
            prefix = prefix_of_key(key)
        except ValueError:
            raise InputError(f'{where}: "{key}" is not a prefix; expected tokens joined by commas') from None
        if not all(0 <= token < vocabulary for token in prefix):
            raise InputError(f'{where}: prefix "{key}" has a token outside 0..{vocabulary - 1}')
        if prefix in rows:
            raise InputError(f'{where}: the prefix "{key}" is given twice')
        rows[prefix] = checked_row(values, vocabulary, f'{where}["{key}"]')
    return rows


def _model(data: ModelForm, vocabulary: int, longest: int, where: str) -> Model:
    if isinstance(data, list):
        return ContextFree(checked_row(data, vocabulary, where))
    if "start" in data or "after" in data:
        form = convert(MarkovForm, data, where)
        after = _rows(form.after, vocabulary, f"{where}.after")
        if wrong := set(after) ^ {(t,) for t in range(vocabulary)}:
            raise InputError(f"{where}.after: {prefix_key(min(wrong))!r} has no row or is no token")
        start = checked_row(form.start, vocabulary, f"{where}.start")
        return Markov(start, tuple(after[t,] for t in range(vocabulary)))
    rows = _rows(data, vocabulary, where)
    for prefix in (x for length in range(longest + 1) for x in product(range(vocabulary), repeat=length)):
        if prefix not in rows:
            needed = f"every prefix up to length {longest} needs one"
            raise InputError(f'{where}: no row for the prefix "{prefix_key(prefix)}"; {needed}')
    return Table(rows, where)


AnyProblem = Problem | WideProblem


def any_problem_from(data: Any, name: str = "problem") -> AnyProblem:
    """Read a problem from its JSON form, or from the specification of a wide one. It may draw a tree. Raises:
    InputError.
    """
    return wide_from(data, name) if isinstance(data, dict) and "wide" in data else tree_problem_from(data, name)


def problem_from(data: Any, name: str = "problem") -> Problem:
    """Read a problem of a single path from its JSON form.

    Raises: InputError naming the row, the prefix and the sum where the data is not a problem, and for one that draws a
        tree.
    """
    problem = tree_problem_from(data, name)
    if not problem.tree.block:
        raise InputError(f"{problem.name}: it draws {problem.tree.drawn}; expected a problem of a single path here")
    return without_law(problem)


def without_law(problem: Problem) -> Problem:
    """Check that a problem asks for the target's law, and return it. Raises: InputError if it declares a law."""
    if problem.law:
        raise InputError(f'{problem.name}: it declares a "law", which `audit` and `law` judge; expected none here')
    return problem


def tree_problem_from(data: Any, name: str = "problem") -> Problem:
    """Read a problem from its JSON form, also one that draws a tree. Raises: as ``problem_from``."""
    form = convert(ProblemForm, data, name)
    if form.gamma * math.log2(form.vocabulary) > MOST_BLOCKS_LOG2:
        sizes = f"vocabulary {form.vocabulary} and gamma {form.gamma} give too many draft blocks to enumerate"
        raise InputError(f"{name}: {sizes}; expected at most 2^{MOST_BLOCKS_LOG2}", "DP204")
    target = _model(form.target, form.vocabulary, form.gamma, "target")
    draft = _model(form.draft, form.vocabulary, form.gamma - 1, "draft")
    drafting = form.drafting and form.drafting.checked(form.gamma, name)
    law = form.law and form.law.checked(form.vocabulary, f"{name}: law")
    return Problem(form.vocabulary, form.gamma, target, draft, form.name or name, drafting, law)


Made = TypeVar("Made", bound=AnyProblem)


@of_kind("DP203")
def load_problem(source: str, make: Callable[[Any, str], Made] = problem_from) -> Made:
    """Load a problem from a file, or from JSON text in place of a file name. Decimal numbers are exact.

    make: from its JSON form.
    Raises: InputError if the file is not there or not a problem.
    """
    if source.lstrip().startswith("{"):
        return make(parse(source, "inline problem", exact=True), "inline problem")
    return make(read_file(dict, source, exact=True), source)


def digest_of(problem: AnyProblem) -> str:
    """Return a digest of a problem's JSON form: equal for equal problems, whatever the order of their prefixes."""
    return hashlib.sha256(json.dumps(as_json(problem), sort_keys=True).encode()).hexdigest()


def as_json(problem: AnyProblem) -> dict:
    """Return the JSON form of a problem, rationals as strings. ``any_problem_from`` gives the same problem back."""
    if isinstance(problem, WideProblem):
        return problem.as_json()

    def texts(row):
        return [str(p) for p in row]

    def model(m, longest):
        if isinstance(m, ContextFree):
            return texts(m.probabilities)
        if isinstance(m, Markov):
            return {"start": texts(m.start), "after": {str(t): texts(r) for t, r in enumerate(m.after)}}
        keys = (x for n in range(longest + 1) for x in problem.prefixes(n))
        return {prefix_key(x): texts(m.row(x)) for x in keys}

    models = {"target": model(problem.target, problem.gamma), "draft": model(problem.draft, problem.gamma - 1)}
    sizes = {"name": problem.name, "vocabulary": problem.vocabulary, "gamma": problem.gamma}
    law = {"law": problem.law.as_json()} if problem.law else {}
    return sizes | models | ({"drafting": drafting_json(problem.drafting)} if problem.drafting else {}) | law


def with_numbers(problem: Problem, number: Callable[[Any], Any]) -> Problem:
    """Return the problem with every probability passed through ``number`` (a field of rationals, say)."""

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
    """Return the rows that a model is written as; none for a model that computes them."""
    if isinstance(model, ContextFree):
        return [model.probabilities]
    if isinstance(model, Markov):
        return [model.start, *model.after]
    return [*model.rows.values()] if isinstance(model, Table) else []


def size_of(problem: Problem) -> dict[str, Any]:
    """Return a problem's size, for evidence: V, gamma, the smallest probability that is not 0, and its tree."""
    rows = [*rows_of(problem.target), *rows_of(problem.draft)]
    smallest = min((p for p in (as_float(p) for row in rows for p in row) if p > 0), default=None)
    size = {"vocabulary": problem.vocabulary, "gamma": problem.gamma, "smallest_probability": smallest}
    if problem.drafting is not None:
        most = most_nodes(problem.draft, problem.drafting)
        size |= {"nodes": most, "drafting": problem.drafting.how, "children": str(problem.drafting).split("x")}
    return size | ({"law": problem.law.says} if problem.law else {})
