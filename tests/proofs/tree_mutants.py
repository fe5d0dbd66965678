"""Mutants of rules for trees, from real bugs where one is named."""

from typing import NamedTuple

from draftproof.verifiers.arithmetic import minimum, normalised, positive_part, ratio, residual
from draftproof.verifiers.trees.descent import Choice, Siblings, descend
from draftproof.verifiers.trees.draft_tree import CONTEXT, TreeVerdict, VerifyTree
from draftproof.verifiers.trees.global_resolution import FEW_SWEEPS, global_resolution_step
from draftproof.verifiers.trees.hierarchical import hierarchical_as_published
from draftproof.verifiers.trees.k_seq import shares
from draftproof.verifiers.trees.optimal_transport import offered
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


def rho_of_a_single_draft(siblings, chance):
    """k-SEQ with rho = 1, as for one draft; what its residual lacks is taken for 0."""
    p, q, k = siblings.target, siblings.drafts[0], len(siblings.tokens)
    for x in siblings.tokens:
        if chance.flip(minimum(ratio(p[x], q[x]), 1)):
            return Choice(x, True)
    taken = shares(p, q, 1)
    beta = sum(taken)
    rest = [positive_part(w - t * (1 - (1 - beta) ** k) / beta) for w, t in zip(p, taken)] if beta != 0 else p
    return Choice(chance.draw(rest if sum(rest) != 0 else p), False)


def residual_of_a_single_draft(siblings, chance):
    """Accepts by the optimal plan, and draws the token after all rejections as if one draft had been rejected."""
    drafts, weights, _ = offered(siblings)
    k = chance.draw(weights)
    if k < len(drafts):
        return Choice(drafts[k], True)
    rest = residual(siblings.target, siblings.drafts[0])
    return Choice(chance.draw(rest if sum(rest) != 0 else siblings.target), False)


def weights_not_carried(tree, chance):
    """Transport by levels that tells a plan of the whole target how far down to go, and then accepts the last node."""
    alive = (CONTEXT,)
    while children := tree.children(*alive):
        drafted, rows = tuple(tree.tokens[n] for n in children), tuple(tree.draft[n] for n in children)
        tokens, weights, left = offered(Siblings(tree.target[alive[0] + 1], rows, drafted, tree.how))
        if sum(weights[:-1]) == 0:
            return TreeVerdict(alive[0], chance.draw(left))
        x = tokens[chance.draw(weights[:-1])]
        alive = tuple(n for n in children if tree.tokens[n] == x)
    return TreeVerdict(alive[0], chance.draw(tree.target[alive[0] + 1]))


def traversal_with_the_row_of_the_parent(tree, chance):
    """The row that the parent was drawn from, for the row that the child was drawn from."""
    rows = [tree.draft[n if parent == CONTEXT else parent] for n, parent in enumerate(tree.parents)]
    return traversal(tree._replace(draft=rows), chance)


TREE_MUTANTS = [
    TreeMutant("sample-until-it-matches", "naive", descend(sample_until_it_matches)),
    TreeMutant("only-the-rejected-entry", "spec-infer", descend(only_the_rejected_entry)),
    TreeMutant("row-before-the-elder-was-removed", "without-replacement", descend(row_before_the_elder_was_removed)),
    TreeMutant("replacement-from-the-target", "top-tokens", descend(replacement_from_the_target)),
    TreeMutant("rho-of-a-single-draft", "k-seq", descend(rho_of_a_single_draft)),
    TreeMutant("residual-of-a-single-draft", "optimal-transport", descend(residual_of_a_single_draft)),
    TreeMutant("row-of-the-parent", "traversal", traversal_with_the_row_of_the_parent),
    TreeMutant("as-published", "hierarchical", hierarchical_as_published),
    TreeMutant("as-solved", "global-resolution", descend(global_resolution_step(FEW_SWEEPS, capped=False))),
    TreeMutant("weights-not-carried", "scaled-transport", weights_not_carried),
]
