"""Exact laws of rules for trees, over the drawing of the tree and the rule's own chance.

The output law maps each emitted sequence, the accepted path and one token more, to its probability, as for blocks.
"""

from typing import Any

from ..models.drafting import draft_tree, siblings
from ..models.errors import InputError
from ..models.law import Prefix
from ..models.problem import Problem
from ..verifiers.trees.descent import Choice, Siblings, Step
from ..verifiers.trees.draft_tree import DraftTree, VerifyTree
from ..verifiers.trees.registry import TreeReference
from .enumeration import ONE, law_of

OutputLaw = dict[Prefix, Any]

MOST_TREES = 2**18
"""Ways to draw a tree beyond which they are not enumerated one by one."""


def drawn_trees(problem: Problem) -> dict[DraftTree, Any]:
    """The law of the draft tree: every tree that can be drawn, with its probability."""
    if problem.vocabulary**problem.tree.nodes > MOST_TREES:
        many = f"{problem.name}: {problem.vocabulary}^{problem.tree.nodes} draft trees"
        raise InputError(f"{many} are too many to enumerate, expected at most {MOST_TREES:,}")
    return law_of(lambda chance: draft_tree(problem.target, problem.draft, problem.tree, chance))


def tree_kernel(problem: Problem, verify: VerifyTree) -> dict[DraftTree, OutputLaw]:
    """The law of what is emitted given each tree, by running the rule's own code for every way its chance can fall."""
    return {tree: law_of(lambda chance, t=tree: verify(t, chance).tokens(t)) for tree in drawn_trees(problem)}


def enumerated_tree_law(problem: Problem, verify: VerifyTree) -> OutputLaw:
    """The output law of one iteration, tree by tree."""
    law: OutputLaw = {}
    for tree, drawn in drawn_trees(problem).items():
        for output, p in law_of(lambda chance, t=tree: verify(t, chance).tokens(t)).items():
            law[output] = law.get(output, 0) + drawn * p
    return law


def descent_law(problem: Problem, step: Step) -> OutputLaw:
    """The output law of ``descend(step)``, one text at a time.

    After a text the law of the next step depends on how many nodes have that text, and on nothing else of the tree; so it is
    enumerated once for each text and number, over the drawing of the siblings and the step's chance.
    Guarantee: equal to ``enumerated_tree_law`` (a test compares them).
    """
    law: OutputLaw = {}
    counts, how = problem.tree.children, problem.tree.how

    def one_step(text: Prefix, alive: int, count: int) -> dict[tuple[Choice, int], Any]:
        """The law of the choice and of how many siblings have the chosen token."""
        target, row = tuple(problem.target.row(text)), tuple(problem.draft.row(text))

        def draw_and_choose(chance):
            drawn = [s for _ in range(alive) for s in siblings(row, count, how, chance)]
            tokens = tuple(x for x, _ in drawn)
            choice = step(Siblings(target, tuple(q for _, q in drawn), tokens, how), chance)
            return choice, tokens.count(choice.token) if choice.accepted else 0

        return law_of(draw_and_choose)

    def walk(text: Prefix, numbers: dict[int, Any]) -> None:
        """numbers: how many nodes have this text -> the probability that it is accepted with that number."""
        if len(text) == problem.gamma:
            mass = sum(numbers.values())
            for y, p in enumerate(problem.target.row(text)):
                if p != 0:
                    law[(*text, y)] = law.get((*text, y), 0) + mass * p
            return
        below: dict[int, dict[int, Any]] = {}
        for alive, mass in numbers.items():
            for (choice, same), p in one_step(text, alive, counts[len(text)]).items():
                if choice.accepted:
                    into = below.setdefault(choice.token, {})
                    into[same] = into.get(same, 0) + mass * p
                else:
                    law[(*text, choice.token)] = law.get((*text, choice.token), 0) + mass * p
        for token, into in below.items():
            walk((*text, token), into)

    walk((), {1: ONE})
    return law


def tree_law(problem: Problem, rule: TreeReference) -> OutputLaw:
    """The output law of one iteration of a rule for trees, exactly.

    Raises: InputError if the rule is not meant for the problem's way of drafting.
    """
    if not rule.is_for(problem.tree):
        raise InputError(f"{problem.name}: {rule.name} is for {rule.meant_for}")
    return enumerated_tree_law(problem, rule.verify) if rule.step is None else descent_law(problem, rule.step)
