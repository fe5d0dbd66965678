"""Exact laws of rules for trees, over the drawing of the tree and the rule's own chance.

The output law maps each emitted sequence, the accepted path and one token more, to its probability, as for blocks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ...models.drafting import draft_tree, siblings
from ...models.errors import InputError
from ...models.law import Model, Prefix
from ...models.problem import Problem
from ...verifiers import block_verification
from ...verifiers.arithmetic import Row, minimum, normalised, quotient, residual
from ...verifiers.draft_block import Block
from ...verifiers.trees.descent import Choice, Siblings, Step
from ...verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT, DraftTree, VerifyTree
from ...verifiers.trees.greedy_multi_path import chosen_rows, greedy_multi_path
from ...verifiers.trees.hierarchical import AS_PUBLISHED, CAPPED, hierarchical, hierarchical_as_published
from ...verifiers.trees.optimal_transport import offered
from ...verifiers.trees.registry import TreeReference
from ...verifiers.trees.scaled_transport import planner, scaled_transport
from ...verifiers.trees.traversal import traversal
from ..enumeration import ONE, law_of, paths_of
from .block_laws import OutputLaw, sub_block_law

MOST_TREES = 2**18
"""Largest number of ways to draw a tree that are enumerated one by one."""

MOST_TREES_AS_RUN = 2**8
"""Largest number of ways to draw a tree for which a rule that has formulas is run on each tree all the same."""

MOST_SIBLINGS = 2**14
"""Largest number of ways to draw the siblings after one text, which are enumerated once for each text."""


def most_trees(problem: Problem) -> int:
    """Return a number that the ways to draw the tree do not exceed."""
    return 1 if problem.tree.how == TOP else problem.vocabulary**problem.tree.nodes


def drawn_trees(problem: Problem) -> dict[DraftTree, Any]:
    """Return the law of the draft tree: every tree that can be drawn, with its probability."""
    if most_trees(problem) > MOST_TREES:
        many = f"{problem.name}: {problem.vocabulary}^{problem.tree.nodes} draft trees"
        raise InputError(f"{many} are too many to enumerate, expected at most {MOST_TREES:,}")
    return law_of(lambda chance: draft_tree(problem.target, problem.draft, problem.tree, chance))


def enumerated_tree_law(problem: Problem, verify: VerifyTree) -> OutputLaw:
    """Return the output law of one iteration, tree by tree."""
    law: OutputLaw = {}
    for tree, drawn in drawn_trees(problem).items():
        for output, p in law_of(lambda chance, t=tree: verify(t, chance).tokens(t)).items():
            law[output] = law.get(output, 0) + drawn * p
    return law


def siblings_after(problem: Problem, text: Prefix, alive: int) -> Iterable[tuple[Siblings, Any]]:
    """Return the siblings after one text, which ``alive`` nodes have: each way to draw them, with its probability.

    Raises: InputError for too many ways to draw them.
    """
    target, row = tuple(problem.target.row(text)), tuple(problem.draft.row(text))
    count, how = problem.tree.children[len(text)], problem.tree.how
    ways = problem.vocabulary ** (alive * count if how == IID else 0 if how == TOP else min(count, len(row)))
    if ways > MOST_SIBLINGS:
        many = f"{problem.name}: {problem.vocabulary}^{alive * count} ways to draw {alive * count} siblings"
        raise InputError(f"{many} are too many to enumerate, expected at most {MOST_SIBLINGS:,}")
    if alive * count == 1 and how != TOP:
        return [(Siblings(target, (row,), (x,), how), q) for x, q in enumerate(row) if q != 0]

    def draw(chance: Any) -> Siblings:
        drawn = [s for _ in range(alive) for s in siblings(row, count, how, chance)]
        tokens, rows = zip(*drawn, strict=True)
        return Siblings(target, rows, tokens, how)

    return paths_of(draw)


def descent_law(problem: Problem, step: Step) -> OutputLaw:
    """Return the output law of ``descend(step)``, one text at a time.

    After a text the law of the next step depends on how many nodes have that text, and on nothing else of the tree; so
    it is enumerated once for each text and number, over the drawing of the siblings and the step's chance.
    Guarantee: equal to ``enumerated_tree_law`` (a test compares them).
    """
    law: OutputLaw = {}

    def one_step(text: Prefix, alive: int) -> dict[tuple[Choice, int], Any]:
        """Return the law of the choice and of how many siblings have the chosen token."""
        chosen: dict[tuple[Choice, int], Any] = {}
        for drawn, mass in siblings_after(problem, text, alive):
            for choice, p in paths_of(partial(step, drawn)):
                key = choice, drawn.tokens.count(choice.token) if choice.accepted else 0
                chosen[key] = chosen.get(key, 0) + mass * p
        return chosen

    def walk(text: Prefix, numbers: dict[int, Any]) -> None:
        """Follow a text. numbers: how many nodes have it -> the probability that it is accepted with that number."""
        if len(text) == problem.gamma:
            mass = sum(numbers.values())
            law.update({(*text, y): mass * p for y, p in enumerate(problem.target.row(text)) if p != 0})
            return
        below: dict[int, dict[int, Any]] = {}
        for alive, mass in numbers.items():
            for (choice, same), p in one_step(text, alive).items():
                if choice.accepted:
                    into = below.setdefault(choice.token, {})
                    into[same] = into.get(same, 0) + mass * p
                else:
                    law[(*text, choice.token)] = law.get((*text, choice.token), 0) + mass * p
        for token, into in below.items():
            walk((*text, token), into)

    walk((), {1: ONE})
    return law


def scaled_transport_law(problem: Problem) -> OutputLaw:
    """Return the output law of transport scaled by the prefix, text by text: what a plan leaves is what is emitted
    there.

    Guarantee: equal to ``enumerated_tree_law`` (a test compares them).
    """
    law: OutputLaw = {}
    below = (*problem.tree.children, 0)

    def one_step(text: Prefix, alive: int, weight: Any) -> dict[tuple, Any]:
        """Return the law of the chosen token, how many siblings have it, and its weight; with what the plan left."""
        chosen: dict[tuple, Any] = {}
        planned = planner(problem.tree.how, below[len(text) + 1])
        for drawn, mass in siblings_after(problem, text, alive):
            tokens, weights, left = offered(drawn._replace(target=tuple(weight * p for p in drawn.target)), planned)
            offer, total = sum(weights[:-1]), sum(weights)
            plans = [((x, drawn.tokens.count(x), offer / total), w / offer) for x, w in zip(tokens, weights) if w != 0]
            for plan, p in plans if offer != 0 else [(None, 1)]:
                key = plan, tuple(left)
                chosen[key] = chosen.get(key, 0) + mass * p
        return chosen

    def walk(text: Prefix, alive: int, weight: Any, mass: Any) -> None:
        left: Sequence[Any] = [weight * p for p in problem.target.row(text)]
        for (chosen, rest), p in one_step(text, alive, weight).items() if len(text) < problem.gamma else ():
            left = rest
            if chosen is not None:
                walk((*text, chosen[0]), chosen[1], chosen[2], mass * p)
        for y, w in enumerate(left):
            if w != 0:
                law[(*text, y)] = law.get((*text, y), 0) + mass * w

    walk((), 1, ONE, ONE)
    return law


def traversal_law(problem: Problem) -> OutputLaw:
    """Return the output law of traversal verification in one pass over the texts.

    After a branch has failed a node's state does not depend on which token it began with, only on the row it was drawn
    from: so what all tokens leave undecided is added up before the next sibling is drawn, as in ``sub_block_law``.
    Guarantee: equal to ``enumerated_tree_law`` (a test compares them).
    """
    law: OutputLaw = {}
    counts, how = problem.tree.children, problem.tree.how

    def undecided_after(text: Prefix, weight: Any, mass: Any) -> Any:
        """Return what is left of ``mass`` once the branch that begins with this text has been examined."""
        row = tuple(problem.draft.row(text)) if len(text) < problem.gamma else None
        states = {(row, tuple(problem.target.row(text)), weight): mass}
        for k in range(counts[len(text)] if row else 0):
            following: dict[Any, Any] = {}
            for state, here in states.items():
                for after, left in after_a_sibling(text, k, state, here):
                    following[after] = following.get(after, 0) + left
            states = following
        undecided = 0
        for (_, p, a), here in states.items():
            accepted = here * a if text else here
            for y, w in enumerate(p if accepted != 0 else ()):
                if w != 0:
                    law[(*text, y)] = law.get((*text, y), 0) + accepted * w
            undecided += here - accepted
        return undecided

    def after_a_sibling(text: Prefix, k: int, state: tuple, mass: Any) -> Iterator[tuple]:
        """Yield each state, with its mass, after the branch of the k-th sibling has failed.

        state: the row that the next sibling is drawn from, None if there is none; the target's row; the weight.
        """
        row, p, a = state
        if row is None:
            yield state, mass
            return
        drawn = drawn_from(row, k, how)
        rest = residual(p, drawn, a)
        surplus = sum(rest)
        rejected = (tuple(normalised(rest)) if surplus != 0 else p, quotient(surplus, surplus + 1 - a, 1))
        for x, q in enumerate(drawn):
            if q != 0:
                left = undecided_after((*text, x), minimum(a * p[x] / q, 1), mass * q)
                yield (row_after(row, x, k, how), *rejected), left

    undecided_after((), ONE, ONE)
    return law


def drawn_from(row: Row, k: int, how: str) -> Row:
    """Return the row that the k-th sibling is drawn from, where ``row`` is what its elder siblings left."""
    if how != TOP:
        return row
    chosen = sorted(range(len(row)), key=lambda t: (-row[t], t))[k]
    return [int(t == chosen) for t in range(len(row))]


def row_after(row: tuple, x: int, k: int, how: str) -> tuple | None:
    """Return what the k-th sibling, x, leaves for the next; None if nothing."""
    if how == TOP:
        return row if k + 1 < len(row) else None
    if how != WITHOUT_REPLACEMENT:
        return row
    left = [0 if t == x else q for t, q in enumerate(row)]
    return tuple(normalised(left)) if sum(left) != 0 else None


class Chosen(NamedTuple):
    """A model: the law of the path that greedy multi-path block verification chooses."""

    target: Model
    draft: Model
    paths: int

    def row(self, prefix: Prefix) -> Sequence[Any]:
        texts = [prefix[:i] for i in range(len(prefix) + 1)]
        block = Block([self.target.row(x) for x in texts], [self.draft.row(x) for x in texts], (*prefix, 0))
        return chosen_rows(block, self.paths)[-1]

    def state(self, prefix: Prefix) -> Any:
        return prefix


def chosen_path_law(problem: Problem) -> OutputLaw:
    """Return the output law of greedy multi-path block verification, which is block verification of the chosen path."""
    chosen = Chosen(problem.target, problem.draft, problem.tree.children[0])
    return sub_block_law(replace(problem, draft=chosen, drafting=None), block_verification.RULE)


PASSES: dict[VerifyTree, Callable[[Problem], OutputLaw]] = {
    traversal: traversal_law,
    scaled_transport: scaled_transport_law,
    greedy_multi_path: chosen_path_law,
    hierarchical: partial(sub_block_law, rule=CAPPED),
    hierarchical_as_published: partial(sub_block_law, rule=AS_PUBLISHED),
}
"""Faster laws of rules, by the rule."""


def formulas_of(rule: TreeReference) -> Callable[[Problem], OutputLaw] | None:
    """Return what computes the rule's law on even trees faster than tree by tree, if anything does."""
    return PASSES.get(rule.verify) or (partial(descent_law, step=rule.step) if rule.step else None)


def formulas_for(problem: Problem, rule: TreeReference) -> Callable[[Problem], OutputLaw] | None:
    """Return the formulas that ``tree_law`` uses on a problem; None where it runs the rule on every tree."""
    runs = problem.tree.parents is not None or most_trees(problem) <= MOST_TREES_AS_RUN
    return None if runs else formulas_of(rule)


def tree_law(problem: Problem, rule: TreeReference) -> OutputLaw:
    """Return the output law of one iteration of a rule for trees, exactly.

    It is that of the code that runs, and by the rule's formulas where that would be too many trees.
    Raises: InputError if the rule is not meant for the problem's way of drafting.
    """
    if not rule.is_for(problem.tree):
        raise InputError(f"{problem.name}: {rule.name} is for {rule.meant_for}")
    formulas = formulas_for(problem, rule)
    return formulas(problem) if formulas else enumerated_tree_law(problem, rule.verify)
