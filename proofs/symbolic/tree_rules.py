"""Rules for draft trees, for all models of a size at once: the rules' own code, run on symbols.

A problem has a row of its own after every prefix, with zeros allowed, and every entry is a real variable (the last of
a row: one minus the others). The code that samples is run on them (``symbols``): draft, verify, emit, along every path.
What comes out is the law as terms in the model, and z3 decides whether it is the target's, one sequence at a time.

Block, token and greedy block verification have ``single_steps`` and Coq, for every gamma. Rules for trees that sort
tokens or compare numbers (the optimal plan, the choice among paths, the search for rho) cannot be run so.
"""

import operator
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple, cast

import z3

from ...models.drafting import draft_tree
from ...models.law import Prefix, Table
from ...models.problem import Problem
from ...verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from ...verifiers.trees.descent import descend
from ...verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT, Drafting, DraftTree, VerifyTree
from ...verifiers.trees.k_seq import k_sequential_selection
from ...verifiers.trees.registry import tree_reference
from ..laws.reference_laws import completed, joint_law
from .single_steps import Query, SolverAnswer, ask
from .symbols import AllBranches, Models

RULE_TIME_LIMIT = 60.0
"""Seconds of processor time after which a proof of a rule is given up."""


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


def follows_the_target(models: Models, problem: Problem, law: dict) -> Iterator[z3.BoolRef]:
    """Every sequence of gamma + 1 tokens has the target's probability. Source: Sun et al. 2025, Eq. (7)."""
    length = problem.gamma + 1
    expected = joint_law(problem.target, length, models.number(1))
    observed = completed(law, problem.target, length)
    for key in {**expected, **observed}:
        both = (models.number(law.get(key, 0)).term for law in (observed, expected))
        yield cast(z3.BoolRef, operator.eq(*both))


def _draft(problem: Problem, drafting: Drafting, chance: AllBranches) -> DraftTree:
    """The tree; where tokens are chosen and not drawn, the first ones by number stand for any."""
    if drafting.how != TOP:
        return draft_tree(problem.target, problem.draft, drafting, chance)
    (count,) = drafting.children
    chosen = [tuple(int(t == x) for t in range(problem.vocabulary)) for x in range(count)]
    targets = [problem.target.row(()), *(problem.target.row((x,)) for x in range(count))]
    return DraftTree(targets, chosen, tuple(range(count)), (-1,) * count, TOP)


class TreeClaim(NamedTuple):
    """A rule, how its trees are drawn, and the vocabularies and numbers of children for which it is proved."""

    name: str
    verify: VerifyTree
    how: str
    sizes: tuple[tuple[int, tuple[int, ...]], ...]

    def decide(self, vocabulary: int, children: tuple[int, ...], limit: float = RULE_TIME_LIMIT) -> SolverAnswer:
        """holds, refuted (with z3's model), or no-evidence where the limit was not enough.

        limit: seconds of processor time in all.
        """
        deadline = time.process_time() + limit
        models, problem = all_models(vocabulary, len(children))

        def emitted(chance: AllBranches) -> Prefix:
            tree = _draft(problem, Drafting(children, self.how), chance)
            return self.verify(tree, chance).tokens(tree)

        verdict = HOLDS
        for claim in follows_the_target(models, problem, law_on_symbols(models, emitted)):
            left = deadline - time.process_time()
            answer = ask(Query(claim, models.facts), left) if left > 0 else SolverAnswer(NO_EVIDENCE)
            if answer.verdict == REFUTED or left <= 0:
                return answer
            verdict = NO_EVIDENCE if answer.verdict == NO_EVIDENCE else verdict
        return SolverAnswer(verdict)


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
