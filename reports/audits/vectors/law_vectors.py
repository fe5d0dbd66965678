"""Problems whose exact law a verifier's output has to follow: the target's (any valid rule), or one rule's own."""

from typing import NamedTuple

from ....models.battery import drawn, toy
from ....models.law import Prefix
from ....models.problem import Problem
from ....models.rationals import as_fraction
from ....proofs.field import in_field
from ....proofs.greedy_rounding import greedy_bound
from ....proofs.laws import joint_law, output_law
from ....proofs.rounding_rule import LOGARITHMS, rounding_allowed
from ....proofs.rounding_theorem import growth, problem_bound, token_bound
from ....verifiers.registry import REFERENCES
from .answers import RULES
from .forms import EPSILON

LOSSLESS = "lossless"
"""In place of a rule: any valid one."""

PROBLEMS = (
    toy(2), drawn(3, 1, "disjoint", 13), drawn(3, 1, "one-hot-draft", 4), drawn(3, 2, "zeros", 2), drawn(3, 2, "generic"),
    drawn(2, 3, "generic"),
)  # fmt: skip


BOUNDS = {"token": token_bound, "block": problem_bound, "greedy-block": greedy_bound}
"""The theorem on rounding of each rule."""


class LawCase(NamedTuple):
    """One law vector.

    rule: one of ``RULES``, or LOSSLESS.
    problem: the pair of models; the program draws the draft block from the draft's rows itself.
    """

    rule: str
    problem: Problem

    @property
    def flags(self) -> tuple[str, ...]:
        rows = (self.problem.target.row(x) for n in range(self.problem.gamma + 1) for x in self.problem.prefixes(n))
        support = ("Support",) if any(0 in row for row in rows) else ()
        return ("Lossless" if self.rule == LOSSLESS else "RuleLaw", *support)

    def expected(self) -> dict[Prefix, object]:
        """The law over QQ: of the first gamma + 1 tokens, completed by the target (Lemma 2); or of X^tau, Y under the rule."""
        exact = in_field(self.problem)
        if self.rule == LOSSLESS:
            return joint_law(exact.target, exact.gamma + 1)
        return output_law(exact, REFERENCES[self.rule])

    def tolerances(self) -> dict[str, float]:
        """In total variation: 4 (gamma + 1)(epsilon + 2^-46), a yardstick beside ``theorem``.

        Once for the decisions, as an audit allows, and as much again for each of: the target's rows, the draft's rows,
        the sums of probabilities that make up the law, all rounded by the program.
        """
        return {dtype: 4 * rounding_allowed(self.problem.gamma, dtype) for dtype in EPSILON}

    def theorem(self, dtype: str) -> float:
        """What rounding can make of the law by the theorem: the rule's bound on this problem, and the sums of the law.

        Of a LOSSLESS vector block or token verification's, whichever is more. The program rounds the rows (epsilon / 2)
        or has them by way of logarithms; an entry of its law is a sum over draft blocks of products of 2 gamma + 2 numbers.
        Other formulas are not covered.
        """
        epsilon, problem = EPSILON[dtype], in_field(self.problem)
        off = epsilon / 2 + LOGARITHMS
        rules = ("token", "block") if self.rule == LOSSLESS else (self.rule,)
        bounds = [BOUNDS[rule](problem, epsilon, 0.0, off) for rule in rules]
        operations = 2 * problem.gamma + 2 + problem.vocabulary**problem.gamma
        return max(bounds) + growth(epsilon / 2, operations)


def law_cases() -> list[LawCase]:
    """All law vectors, in the order of the file."""
    return [LawCase(rule, problem) for rule in (LOSSLESS, *RULES) for problem in PROBLEMS]


def as_rationals(law: dict[Prefix, object]) -> dict[Prefix, object]:
    """A law over QQ as Fractions, sequences in order."""
    return {sequence: as_fraction(law[sequence]) for sequence in sorted(law)}
