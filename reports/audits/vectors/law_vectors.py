"""Law vectors: problems whose exact law a verifier's output has to follow."""

from typing import NamedTuple

from ....models.battery import drawn, toy
from ....models.law import Prefix
from ....models.problem import Problem
from ....models.tree_battery import drawing, ragged
from ....proofs.field import in_field
from ....proofs.laws.reference_laws import joint_law, output_law
from ....proofs.rounding.greedy_block import greedy_bound
from ....proofs.rounding.rounding_allowed import LOGARITHMS, explained_by_rounding, rounding_allowed
from ....proofs.rounding.token_and_block import growth, problem_bound, token_bound
from ....verifiers.registry import REFERENCES
from ....verifiers.trees.draft_tree import IID, TOP, WAYS, WITHOUT_REPLACEMENT
from .answers import EPSILON, RULES

LOSSLESS = "lossless"
"""Name that stands for a rule where any valid one will do."""

PROBLEMS = (
    toy(2), drawn(3, 1, "disjoint", 13), drawn(3, 1, "one-hot-draft", 4), drawn(3, 2, "zeros", 2),
    drawn(3, 2, "generic"), drawn(2, 3, "generic"),
)  # fmt: skip

TREE_RULES = tuple(f"trees-{how}" for how in WAYS)
"""Names that stand for any valid rule for draft trees drawn in each way."""

TREES = (
    drawing(drawn(3, 1, "generic"), 2, how=IID), drawing(drawn(3, 2, "generic"), 2, 1, how=IID),
    drawing(drawn(4, 1, "generic"), 3, how=WITHOUT_REPLACEMENT),
    drawing(drawn(3, 2, "zeros"), 2, 1, how=WITHOUT_REPLACEMENT),
    drawing(drawn(3, 2, "generic"), 2, 1, how=TOP), ragged(drawn(3, 2, "generic"), -1, -1, 1, how=TOP),
)  # fmt: skip
"""Problems with trees: siblings of every way of drawing, a third sibling, uneven numbers of children."""

BOUNDS = {"token": token_bound, "block": problem_bound, "greedy-block": greedy_bound}
"""Theorem on rounding of each rule."""


class LawCase(NamedTuple):
    """A law vector.

    rule: one of ``RULES``, LOSSLESS, or one of ``TREE_RULES``.
    problem: the pair of models; the program draws the draft block or tree from the draft's rows itself.
    """

    rule: str
    problem: Problem

    @property
    def any_valid(self) -> bool:
        """Return whether every valid rule has to pass it: what is emitted is completed by the target."""
        return self.rule not in RULES

    @property
    def flags(self) -> tuple[str, ...]:
        rows = (self.problem.target.row(x) for n in range(self.problem.gamma + 1) for x in self.problem.prefixes(n))
        of_trees = ("DraftTree",) if self.rule in TREE_RULES else ()
        support = ("Support",) if any(0 in row for row in rows) else ()
        return ("Lossless" if self.any_valid else "RuleLaw", *of_trees, *support)

    def expected(self) -> dict[Prefix, object]:
        """Return the exact law: of gamma + 1 tokens, completed by the target (Lemma 2); or of X^tau, Y under the
        rule."""
        exact = in_field(self.problem)
        if self.any_valid:
            return joint_law(exact.target, exact.gamma + 1)
        return output_law(exact, REFERENCES[self.rule])

    def tolerances(self) -> dict[str, float]:
        """Return the total variation allowed, 4 (gamma + 1)(epsilon + 2^-46); for a tree by its nodes. ``theorem``
        bounds it too.

        An audit allows as much for the decisions alone. The program also rounds the target's rows, the draft's rows,
        and the sums of probabilities that make up the law.
        """
        return {dtype: 4 * rounding_allowed(self.problem.tree.nodes, dtype) for dtype in EPSILON}

    def theorem(self, dtype: str) -> float:
        """Return the total variation that rounding can cause by the theorem: the rule's bound, and the sums of the law.

        A LOSSLESS vector has block or token verification's bound, whichever is more; trees have recursive rejection's.
        The program rounds the rows (epsilon / 2) or has them by way of logarithms. An entry of its law is a sum over
        draft blocks of products of 2 gamma + 2 numbers. Other formulas are not covered.
        """
        epsilon, problem = EPSILON[dtype], in_field(self.problem)
        sums = growth(epsilon / 2, 2 * problem.tree.nodes + 2 + problem.drafts)
        if self.rule in TREE_RULES:
            return explained_by_rounding(problem, dtype, epsilon / 2) + sums
        rules = ("token", "block") if self.rule == LOSSLESS else (self.rule,)
        return max(BOUNDS[rule](problem, epsilon, 0.0, epsilon / 2 + LOGARITHMS) for rule in rules) + sums


def law_cases() -> list[LawCase]:
    """Return all law vectors, in the order of the file."""
    trees = [LawCase(f"trees-{problem.tree.how}", problem) for problem in TREES]
    return [*(LawCase(rule, problem) for rule in (LOSSLESS, *RULES) for problem in PROBLEMS), *trees]
