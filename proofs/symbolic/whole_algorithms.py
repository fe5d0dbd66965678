"""Whole algorithms, for all models of a size at once: the reference verifiers' own code, run on symbols.

A problem has a row of its own after every prefix, with zeros allowed, and every entry is a real variable (the last of
a row: one minus the others). The code that samples is run on them (``symbols``): draft, verify, emit, along every path.
What comes out is the law as terms in the model, and z3 decides the claim, one sequence (or coin, or draw) at a time.

This is a second opinion on small sizes, from other premises than Coq's: block verification's validity is out of z3's
reach from V = 2, gamma = 2 on. Every gamma is what ``single_steps`` and Coq are for. Rules for trees that sort tokens
or compare numbers (the optimal plan, the choice among paths, the search for rho) cannot be run so.
"""

import operator
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple, cast

import z3

from ...models.decoding import Decoded, iteration
from ...models.drafting import draft_tree
from ...models.law import Table
from ...models.problem import Problem
from ...verifiers.arithmetic import minimum
from ...verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from ...verifiers.registry import Reference, reference
from ...verifiers.trees.descent import descend
from ...verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT, Drafting, DraftTree, VerifyTree
from ...verifiers.trees.k_seq import k_sequential_selection
from ...verifiers.trees.registry import tree_reference
from ..laws import completed, completed_after_modification, joint_law, survival
from .single_steps import Query, SolverAnswer, ask
from .symbols import AllBranches, Models

WHOLE_TIME_LIMIT = 60.0
"""Seconds of processor time after which a proof of a whole algorithm is given up."""


def all_models(vocabulary: int, gamma: int) -> tuple[Models, Problem]:
    """What is known of all problems of a size, and the problem whose entries are variables."""
    models = Models()

    def row(kind: str, prefix: tuple) -> tuple:
        free = [z3.Real(f"{kind}({','.join(map(str, prefix))})[{t}]") for t in range(vocabulary - 1)]
        entries = list(map(models.number, free))
        entries.append(1 - sum(entries, models.number(0)))
        models.facts += [entry.term >= 0 for entry in entries]
        return tuple(entries)

    prefixes = [x for n in range(gamma + 1) for x in product(range(vocabulary), repeat=n)]
    target = Table({x: row("target", x) for x in prefixes}, "target")
    draft = Table({x: row("draft", x) for x in prefixes if len(x) < gamma}, "draft")
    return models, Problem(vocabulary, gamma, target, draft, f"all-models-V{vocabulary}-gamma{gamma}")


def law_on_symbols(models: Models, program: Callable[[Any], Any]) -> dict:
    """The law of what a program over chance returns, as a function of the model."""
    law: dict = {}
    for outcome, probability in AllBranches(models).paths(program):
        law[outcome] = law.get(outcome, 0) + probability
    return law


def _decoded(models: Models, problem: Problem, verifier: Reference) -> dict:
    return law_on_symbols(models, lambda chance: iteration(problem, verifier, Decoded(), chance))


def emitted_law(models: Models, problem: Problem, verifier: Reference) -> dict:
    """The law of what one iteration emits."""
    return {decoded.tokens: probability for decoded, probability in _decoded(models, problem, verifier).items()}


def equal(models: Models, observed: dict, expected: dict) -> Iterator[z3.BoolRef]:
    """Two laws are the same."""
    for key in {**expected, **observed}:
        both = (models.number(law.get(key, 0)).term for law in (observed, expected))
        yield cast(z3.BoolRef, operator.eq(*both))


def follows_the_target(models: Models, problem: Problem, law: dict) -> Iterator[z3.BoolRef]:
    """Every sequence of gamma + 1 tokens has the target's probability. Source: Sun et al. 2025, Eq. (7)."""
    length = problem.gamma + 1
    expected = joint_law(problem.target, length, models.number(1))
    yield from equal(models, completed(law, problem.target, length), expected)


def validity(models: Models, problem: Problem, verifier: Reference) -> Iterator[z3.BoolRef]:
    """What one iteration emits, completed, follows the target."""
    yield from follows_the_target(models, problem, emitted_law(models, problem, verifier))


def expected_acceptance(models: Models, problem: Problem, verifier: Reference) -> Iterator[z3.BoolRef]:
    """E[tau] is at least token verification's, term by term: E[tau] = sum over prefixes x of Pr(X^i = x, tau >= i)."""
    reached = survival(emitted_law(models, problem, verifier))
    for prefix, mass in survival(emitted_law(models, problem, reference("token"))).items():
        yield models.number(reached.get(prefix, 0)).term >= mass.term


def _asked(models: Models, problem: Problem, verifier: Reference) -> AllBranches:
    chance = AllBranches(models)
    for _ in chance.paths(lambda chance: iteration(problem, verifier, Decoded(), chance)):
        pass
    return chance


def bounds(models: Models, problem: Problem, verifier: Reference) -> Iterator[z3.BoolRef]:
    """0 <= h_i <= 1 at every flip that is reached with positive probability."""
    for flip in _asked(models, problem, verifier).flips:
        (h,) = flip.weights
        yield z3.Implies(flip.probability.term != 0, z3.And(h.term >= 0, h.term <= 1))


def residual_mass(models: Models, problem: Problem, verifier: Reference) -> Iterator[z3.BoolRef]:
    """Whatever is drawn from with positive probability has a positive mass and no negative weight."""
    for draw in _asked(models, problem, verifier).draws:
        sound = z3.And(models.number(sum(draw.weights)).term > 0, *(weight.term >= 0 for weight in draw.weights))
        yield z3.Implies(draw.probability.term != 0, sound)


def lemma_9(models: Models, problem: Problem, verifier: Reference) -> Iterator[z3.BoolRef]:
    """Pr(X^l = x, tau >= l) = min(M_b(x), M_s(x)) for every prefix x of length l >= 1."""
    both: dict = {}
    for length in range(1, problem.gamma + 1):
        target, draft = (joint_law(model, length, models.number(1)) for model in (problem.target, problem.draft))
        both |= {x: minimum(target[x], draft[x]) for x in target}
    yield from equal(models, survival(emitted_law(models, problem, verifier)), both)


def lemma_8(models: Models, problem: Problem, verifier: Reference) -> Iterator[z3.BoolRef]:
    """Every sequence of gamma tokens, each output completed by its modified target, has the target's probability."""
    done = completed_after_modification(_decoded(models, problem, verifier), problem, problem.gamma)
    yield from equal(models, done, joint_law(problem.target, problem.gamma, models.number(1)))


def tree_validity(drafting: Drafting) -> "Statement":
    """As ``validity``, over the drawing of the tree and the rule's chance."""

    def statement(models: Models, problem: Problem, verify: VerifyTree) -> Iterator[z3.BoolRef]:
        def emitted(chance):
            tree = _draft(problem, drafting, chance)
            return verify(tree, chance).tokens(tree)

        yield from follows_the_target(models, problem, law_on_symbols(models, emitted))

    return statement


def _draft(problem: Problem, drafting: Drafting, chance: AllBranches) -> DraftTree:
    """The tree; where tokens are chosen and not drawn, the first ones by number stand for any."""
    if drafting.how != TOP:
        return draft_tree(problem.target, problem.draft, drafting, chance)
    (count,) = drafting.children
    chosen = [tuple(int(t == x) for t in range(problem.vocabulary)) for x in range(count)]
    targets = [problem.target.row(()), *(problem.target.row((x,)) for x in range(count))]
    return DraftTree(targets, chosen, tuple(range(count)), (-1,) * count, TOP)


Statement = Callable[[Models, Problem, Any], Iterator[z3.BoolRef]]


def decide(
    statement: Statement, verifier: Any, vocabulary: int, gamma: int, limit: float = WHOLE_TIME_LIMIT
) -> SolverAnswer:
    """Whether the statement holds of a verifier for all models of a size. limit: seconds of processor time in all."""
    deadline = time.process_time() + limit
    models, problem = all_models(vocabulary, gamma)
    verdict = HOLDS
    for claim in statement(models, problem, verifier):
        left = deadline - time.process_time()
        if left <= 0:
            return SolverAnswer(NO_EVIDENCE)
        answer = ask(Query(claim, models.facts), left)
        if answer.verdict == REFUTED:
            return answer
        verdict = NO_EVIDENCE if answer.verdict == NO_EVIDENCE else verdict
    return SolverAnswer(verdict)


class WholeClaim(NamedTuple):
    """A claim about a whole algorithm, and the sizes (V, gamma) that it is proved for."""

    of: str
    claim: str
    statement: Statement
    verifier: Reference
    sizes: tuple[tuple[int, int], ...]

    @property
    def name(self) -> str:
        return f"{self.of}: {self.claim}"


class TreeClaim(NamedTuple):
    """A rule, how its trees are drawn, and the vocabularies and numbers of children for which it is proved."""

    name: str
    verify: VerifyTree
    how: str
    sizes: tuple[tuple[int, tuple[int, ...]], ...]

    def decide(self, vocabulary: int, children: tuple[int, ...], limit: float = WHOLE_TIME_LIMIT) -> SolverAnswer:
        """holds, refuted (with z3's model), or no-evidence where the limit was not enough."""
        statement = tree_validity(Drafting(children, self.how))
        return decide(statement, self.verify, vocabulary, len(children), limit)


ONE_STEP, TWO_STEPS = ((3, 1),), ((2, 2), (3, 1))
TOKEN, BLOCK, GREEDY = map(reference, ("token", "block", "greedy-block"))

WHOLE_CLAIMS = [
    WholeClaim("token", "validity", validity, TOKEN, TWO_STEPS),
    WholeClaim("block", "validity", validity, BLOCK, ONE_STEP),
    WholeClaim("block over token", "expected-acceptance", expected_acceptance, BLOCK, TWO_STEPS),
    WholeClaim("token", "bounds", bounds, TOKEN, TWO_STEPS),
    WholeClaim("block", "bounds", bounds, BLOCK, TWO_STEPS),
    WholeClaim("greedy-block", "bounds", bounds, GREEDY, TWO_STEPS),
    WholeClaim("token", "residual", residual_mass, TOKEN, TWO_STEPS),
    WholeClaim("block", "residual", residual_mass, BLOCK, TWO_STEPS),
    WholeClaim("greedy-block", "residual", residual_mass, GREEDY, TWO_STEPS),
    WholeClaim("greedy-block", "lemma-9", lemma_9, GREEDY, TWO_STEPS),
    WholeClaim("greedy-block", "lemma-8", lemma_8, GREEDY, ONE_STEP),
]
"""Every claim about a whole algorithm. draftproof prove asks each at all its sizes."""

LARGEST_RHO = descend(lambda siblings, chance: k_sequential_selection(siblings, len(siblings.tokens), chance))
"""k-SEQ with rho = k, which is valid for all models."""


def _tree_claim(name: str, how: str, *sizes: tuple[int, tuple[int, ...]]) -> TreeClaim:
    return TreeClaim(name, tree_reference(name).verify, how, sizes)


TREE_CLAIMS = [
    _tree_claim("naive", IID, (3, (2,)), (2, (2, 1))),
    _tree_claim("spec-infer", IID, (2, (2,))),
    _tree_claim("spec-infer", WITHOUT_REPLACEMENT, (2, (2,))),
    _tree_claim("without-replacement", WITHOUT_REPLACEMENT, (2, (2,))),
    _tree_claim("top-tokens", TOP, (3, (2,)), (4, (3,))),
    TreeClaim("k-seq with rho = k", LARGEST_RHO, IID, ((2, (2,)),)),
    _tree_claim("traversal", IID, (2, (2,))),
    _tree_claim("tree-monte-carlo", IID, (2, (1,))),
    _tree_claim("hierarchical", IID, (3, (1,))),
]
"""Every claim about a rule for several drafts. draftproof prove asks each at all its sizes."""
