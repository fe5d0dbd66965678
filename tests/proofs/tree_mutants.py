"""Mutants of rules for trees, from real bugs where one is named."""

from typing import NamedTuple

from draftproof.verifiers.arithmetic import minimum, normalised, positive_part, ratio, residual
from draftproof.verifiers.trees.descent import Choice, descend
from draftproof.verifiers.trees.draft_tree import CONTEXT, VerifyTree
from draftproof.verifiers.trees.global_resolution import FEW_SWEEPS, global_resolution_step
from draftproof.verifiers.trees.hierarchical import hierarchical_as_published
from draftproof.verifiers.trees.traversal import traversal


class TreeMutant(NamedTuple):
    """of: the rule it should have been; verify: what it does."""

    name: str
    of: str
    verify: VerifyTree


def sample_until_it_matches(siblings, chance):
    """Draws from the target once for each sibling, and takes the first match."""
    y = -1
    for x in siblings.tokens:
        y = chance.draw(siblings.target)
        if y == x:
            return Choice(x, True)
    return Choice(y, False)


def only_the_rejected_entry(siblings, chance):
    """EAGLE#20: after a rejection the target is adjusted at the rejected token alone."""
    p = list(siblings.target)
    for x, q in zip(siblings.tokens, siblings.drafts):
        if chance.flip(minimum(ratio(p[x], q[x]), 1)):
            return Choice(x, True)
        left = [positive_part(w - q[t]) if t == x else w for t, w in enumerate(p)]
        p = normalised(left)
    return Choice(chance.draw(p), False)


def row_before_the_elder_was_removed(siblings, chance):
    """Siblings drawn without replacement, verified with the row of the first one."""
    p, q = list(siblings.target), siblings.drafts[0]
    for x in siblings.tokens:
        if chance.flip(minimum(ratio(p[x], q[x]), 1)):
            return Choice(x, True)
        p = normalised(residual(p, q))
    return Choice(chance.draw(p), False)


def replacement_from_the_target(siblings, chance):
    """The token after all rejections is drawn from the target as it was at first."""
    for x in siblings.tokens:
        if chance.flip(siblings.target[x]):
            return Choice(x, True)
    return Choice(chance.draw(siblings.target), False)


def traversal_with_the_row_of_the_parent(tree, chance):
    """The row that the parent was drawn from, for the row that the child was drawn from."""
    rows = [tree.draft[n if parent == CONTEXT else parent] for n, parent in enumerate(tree.parents)]
    return traversal(tree._replace(draft=rows), chance)


TREE_MUTANTS = [
    TreeMutant("sample-until-it-matches", "naive", descend(sample_until_it_matches)),
    TreeMutant("only-the-rejected-entry", "spec-infer", descend(only_the_rejected_entry)),
    TreeMutant("row-before-the-elder-was-removed", "without-replacement", descend(row_before_the_elder_was_removed)),
    TreeMutant("replacement-from-the-target", "top-tokens", descend(replacement_from_the_target)),
    TreeMutant("row-of-the-parent", "traversal", traversal_with_the_row_of_the_parent),
    TreeMutant("as-published", "hierarchical", hierarchical_as_published),
    TreeMutant("as-solved", "global-resolution", descend(global_resolution_step(FEW_SWEEPS, capped=False))),
]
