"""Rules for several drafts, for all models of a size at once: draft a tree, verify, emit, along every path.

As in ``whole_algorithms``: the code that samples is run on symbols, and z3 decides each piece of the law. Rules that sort tokens
or compare numbers (the optimal plan, the choice among paths, the search for rho) cannot be run so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ...models.drafting import draft_tree
from ...models.problem import Problem
from ...verifiers.trees.descent import descend
from ...verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT, Drafting, DraftTree, VerifyTree
from ...verifiers.trees.k_seq import k_sequential_selection
from ...verifiers.trees.registry import tree_reference
from ..laws import completed, joint_law
from .piecewise import AllModels, Models
from .single_steps import SolverAnswer
from .whole_algorithms import Obligation, Size, Statement, decide, equal


def validity(drafting: Drafting) -> Statement:
    """Every sequence of gamma + 1 tokens has the target's probability, over the drawing of the tree and the rule's chance."""

    def statement(space: Models, problem: Problem, verify: VerifyTree) -> Iterator[Obligation]:
        def emitted(chance):
            tree = _draft(problem, drafting, chance)
            return verify(tree, chance).tokens(tree)

        law: dict = {}
        for output, probability in AllModels(space).paths(emitted):
            if probability != 0:  # for some model
                law[output] = law.get(output, 0) + probability
        length = problem.gamma + 1
        yield from equal(
            space, completed(law, problem.target, length), joint_law(problem.target, length, space.number(1))
        )

    return statement


def _draft(problem: Problem, drafting: Drafting, chance: AllModels) -> DraftTree:
    """The tree; where tokens are chosen and not drawn, the first ones by number stand for any."""
    if drafting.how != TOP:
        return draft_tree(problem.target, problem.draft, drafting, chance)
    (count,) = drafting.children
    chosen = [tuple(int(t == x) for t in range(problem.vocabulary)) for x in range(count)]
    targets = [problem.target.row(()), *(problem.target.row((x,)) for x in range(count))]
    return DraftTree(targets, chosen, tuple(range(count)), (-1,) * count, TOP)


@dataclass(frozen=True)
class TreeClaim:
    """A rule, how its trees are drawn, and the vocabularies and numbers of children for which it is proved."""

    name: str
    verify: VerifyTree
    how: str
    sizes: tuple[tuple[int, tuple[int, ...]], ...]
    limit: float = 90.0

    def prove(self, vocabulary: int, children: tuple[int, ...]) -> SolverAnswer:
        """holds, refuted (with z3's model), or no-evidence where the limit, in seconds of processor time, was not enough."""
        size = Size(vocabulary, len(children), self.limit)
        return decide(validity(Drafting(children, self.how)), self.verify, size)[0]


ONE_STEP = ((2, (2,)), (2, (3,)), (3, (2,)))
TWO_STEPS = (*ONE_STEP, (2, (2, 1)))
SINGLE_PATHS = ((2, (1, 1)), (3, (1,)))

LARGEST_RHO = descend(lambda siblings, chance: k_sequential_selection(siblings, len(siblings.tokens), chance))
"""k-SEQ with rho = k, which is valid for all models."""


def _of(name: str, how: str, sizes: tuple[tuple[int, tuple[int, ...]], ...]) -> TreeClaim:
    return TreeClaim(name, tree_reference(name).verify, how, sizes)


TREE_CLAIMS = [
    _of("naive", IID, TWO_STEPS),
    _of("spec-infer", IID, TWO_STEPS),
    _of("spec-infer", WITHOUT_REPLACEMENT, TWO_STEPS),
    _of("without-replacement", WITHOUT_REPLACEMENT, TWO_STEPS),
    _of("top-tokens", TOP, ((2, (2,)), (3, (2,)), (4, (3,)))),
    TreeClaim("k-seq with rho = k", LARGEST_RHO, IID, ONE_STEP),
    _of("traversal", IID, TWO_STEPS),
    _of("traversal", WITHOUT_REPLACEMENT, ONE_STEP),
    _of("tree-monte-carlo", IID, SINGLE_PATHS),
    _of("hierarchical", IID, SINGLE_PATHS),
]
"""Every claim about a rule for several drafts. draftproof prove asks each at all its sizes."""
