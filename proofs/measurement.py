"""The measured law of what a verifier emits on one problem, and findings besides the law."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..models.drafting import replayed
from ..models.law import Model, Prefix, Table, prefix_of_key
from ..models.problem import Problem
from ..models.rationals import as_float
from ..verifiers.trees.draft_tree import CONTEXT, DraftTree
from .field import QQ, in_field, rational
from .interception.outcomes import decoded
from .laws import completion
from .rounding_rule import (
    EPSILON,
    draws_trees,
    explained_by_rounding,
    resolution_allowed,
    rounding_allowed,
    rows_in_use_allowed,
)


@dataclass
class Measurement:
    """What was measured of a verifier on one problem.

    problem: as given.
    in_use: the same with the rows that the verifier worked with, exact, over QQ.
    blocks: draft block -> the law of what is emitted given the block: tokens, or the text of what was raised. A draft tree
      stands there by its tokens.
    exactness: one of ``EXACTNESS``.
    tolerance: the total variation up to which a deviation is rounding, by the rule and by the theorem.
    explained: that up to which it may be, by one of the two; at least the tolerance.
    rounding: {"rule", "theorem"}: the two, without what the law's resolution adds to them.
    dtype: of the rows.
    paths: ways the random numbers can fall.
    reason: why no law is known, if none is.
    missed: total variation by which the law of a driven subject may be off besides: what random requests could not show.
    confirmations: how many of those there were.
    numbers: what each random number of a driven subject decides: thresholds, a race, products, nothing.
    findings: kind -> what was noticed besides the law.
    modifies_target: True of greedy block verification, which has to be followed by a modified target.
    grain: what the lattice of its uniforms alone can move the law by, in total variation.
    real_calls: {"calls", "limit"} of the real calls that the law was held against, if it was.
    """

    problem: Problem
    in_use: Problem
    blocks: dict[Prefix, dict[Any, Any]] = field(default_factory=dict)
    exactness: str = "exact"
    tolerance: float = 0.0
    explained: float = 0.0
    rounding: dict[str, float] = field(default_factory=dict)
    dtype: str = "exact"
    paths: int = 0
    reason: str | None = None
    missed: float = 0.0
    confirmations: int = 0
    numbers: dict[str, str] = field(default_factory=dict)
    findings: dict[str, str] = field(default_factory=dict)
    modifies_target: bool = False
    grain: float = 0.0
    real_calls: dict[str, float] | None = None

    def completion(self) -> tuple[Model, int]:
        """``laws.completion`` for the rows in use."""
        return completion(self.in_use, self.modifies_target)

    @property
    def known(self) -> bool:
        return self.reason is None

    @property
    def has_logarithms(self) -> bool:
        """Whether its law is a closed form with logarithms in it, of uniforms that are multiplied: no rational."""
        return "products" in self.numbers.values()

    def drafted(self, block: Prefix) -> Any:
        """The probability with which a draft block or tree is drawn; 1 of the empty one, which stands for all of them."""
        if block and self.draws_trees:
            return self.tree(block)[1]
        drafted = QQ(1)
        for i, token in enumerate(block):
            drafted *= self.in_use.draft.row(block[:i])[token]
        return drafted

    @property
    def draws_trees(self) -> bool:
        """Whether what is drafted is more than a single path."""
        return draws_trees(self.problem)

    def tree(self, tokens: Prefix) -> tuple[DraftTree, Any]:
        """The draft tree with these tokens, and the probability with which it is drawn."""
        return replayed(self.in_use.target, self.in_use.draft, self.in_use.tree, tokens)

    def outcomes(self) -> dict[Any, Any]:
        """The law of what is emitted, over draft blocks or trees and the verifier's own chance."""
        law: dict[Any, Any] = {}
        for block, given in self.blocks.items():
            drafted = self.drafted(block)
            for outcome, probability in given.items():
                law[outcome] = law.get(outcome, 0) + drafted * probability
        return law

    def outputs(self) -> dict[Prefix, Any]:
        """The part of the law that is token sequences a verifier may emit: 1..gamma+1 tokens of the vocabulary."""
        return {o: p for o, p in self.outcomes().items() if self.is_output(o)}

    def strays(self) -> dict[Any, Any]:
        """Outcomes that are not an accepted prefix of the draft and one more token (Definition 1), with their mass."""
        strange: dict[Any, Any] = {}
        for block, given in self.blocks.items():
            texts = self._texts(block) if block else ()
            for outcome, probability in given.items():
                if block and self.is_output(outcome) and outcome[:-1] not in texts:
                    strange[outcome] = strange.get(outcome, 0) + probability
        return strange

    def _texts(self, block: Prefix) -> set[Prefix]:
        """The texts that can be accepted of a draft block or tree."""
        if not self.draws_trees:
            return {block[:i] for i in range(len(block) + 1)}
        tree = self.tree(block)[0]
        return {tree.path(n) for n in range(CONTEXT, len(block))}

    def is_output(self, outcome: Any) -> bool:
        vocabulary, longest = range(self.problem.vocabulary), self.problem.gamma + 1
        return isinstance(outcome, tuple) and 1 <= len(outcome) <= longest and all(x in vocabulary for x in outcome)


EXACTNESS = ("exact", "lattice", "resolution", "driven", "not interceptable")


def measured(
    problem: Problem, dtype: str, answers: Iterable[Mapping[str, Any]], modifies_target: bool = False
) -> Measurement:
    """A measurement from the answers of the sandbox."""
    measurement = Measurement(problem, in_field(problem), dtype=dtype, modifies_target=modifies_target)
    resolution = sums_off = 0.0
    for answer in answers:
        if "target" in answer:
            sums_off = answer["sums_off"]
            tables = {name: _table(answer[name], name) for name in ("target", "draft")}
            off = _farthest(problem, tables)
            if off <= rows_in_use_allowed(dtype):
                measurement.in_use = replace(problem, **tables)
            else:
                measurement.reason = other_rows(off)
            continue
        measurement.findings |= answer.get("findings") or {}
        measurement.missed = answer.get("missed", measurement.missed)
        measurement.numbers = answer.get("numbers", measurement.numbers)
        measurement.confirmations = answer.get("confirmations", measurement.confirmations)
        if "never_returned" in answer:
            measurement.reason = f"on draft block {answer['block']} a call did not return {answer['never_returned']}"
            measurement.findings["never-returned"] = measurement.reason
        elif "block" in answer:
            block = tuple(answer["block"])
            measurement.paths += answer["paths"]
            if EXACTNESS.index(answer["exactness"]) > EXACTNESS.index(measurement.exactness):
                measurement.exactness = answer["exactness"]
            if answer["law"] is None:
                measurement.reason = measurement.reason or answer["reason"]
                continue
            resolution = max(resolution, answer["resolution"])
            if answer["coarsest"]:
                decisions = problem.tree.nodes + problem.vocabulary
                measurement.grain = max(measurement.grain, decisions * 2.0 ** -answer["coarsest"])
            if answer["coarsest"] and 2.0 ** (1 - answer["coarsest"]) > EPSILON[dtype]:
                measurement.findings["coarse-uniform"] = (
                    f"decides {dtype} rows with a {answer['coarsest']}-bit uniform: that alone moves each decision by "
                    f"up to {2.0 ** -answer['coarsest']:.1g}"
                )
            measurement.blocks[block] = {decoded(o): rational(p) for o, p in answer["law"]}
    if measurement.known and resolution > resolution_allowed(dtype):
        measurement.reason = f"its law is known only to within {resolution:.1g}, a claim in {dtype} needs {resolution_allowed(dtype):.1g}"
    rule = rounding_allowed(problem.tree.nodes, dtype, sums_off)
    theorem = explained_by_rounding(measurement.in_use, dtype, sums_off, modifies_target)
    measurement.rounding = {"rule": rule, "theorem": theorem}
    measurement.tolerance, measurement.explained = min(rule, theorem) + resolution, max(rule, theorem) + resolution
    return measurement


def other_rows(distance: float) -> str:
    """Why there is no law where a function verifies with other rows than those it is given."""
    return f"it verifies with rows that are TV {distance:.2g} from those it is given"


def _farthest(problem: Problem, tables: Mapping[str, Table]) -> float:
    """The largest total variation between a row as given and the same as it is used."""
    given = {"target": problem.target, "draft": problem.draft}
    pairs = ((given[name].row(prefix), row) for name, table in tables.items() for prefix, row in table.rows.items())
    return max((sum(abs(as_float(p) - as_float(q)) for p, q in zip(a, b)) / 2 for a, b in pairs), default=0.0)


def _table(rows: Mapping[str, list[str]], name: str) -> Table:
    return Table({prefix_of_key(key): tuple(map(rational, row)) for key, row in rows.items()}, name)
