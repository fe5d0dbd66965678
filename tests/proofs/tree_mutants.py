"""Mutants of rules for trees, from real bugs where one is named: each lossless rule has one that must be refuted."""

from typing import NamedTuple

from draftproof.verifiers.arithmetic import minimum, normalised, positive_part, quotient, ratio, residual
from draftproof.verifiers.block_verification import block_verification
from draftproof.verifiers.trees import spec_hub
from draftproof.verifiers.trees.descent import Choice, Siblings, descend
from draftproof.verifiers.trees.draft_tree import CONTEXT, TreeVerdict, VerifyTree
from draftproof.verifiers.trees.global_resolution import FEW_SWEEPS, global_resolution_step
from draftproof.verifiers.trees.greedy_multi_path import chosen_path
from draftproof.verifiers.trees.hierarchical import hierarchical_as_published
from draftproof.verifiers.trees.k_seq import shares
from draftproof.verifiers.trees.optimal_transport import offered
from draftproof.verifiers.trees.registry import tree_reference
from draftproof.verifiers.trees.shared_gumbel import coupled

multi_round = tree_reference("spec-infer").verify


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


def hub_last_alone(siblings, chance):
    """The hub is accepted where it is the second draft alone."""
    choice = spec_hub.step(siblings, chance)
    if choice.accepted and choice.token == siblings.tokens[0] == spec_hub.hub(siblings.drafts[0]):
        return Choice(chance.draw(siblings.target), False)
    return choice


def residual_of_a_single_draft(siblings, chance):
    """Accepts by the optimal plan, and draws the token after all rejections as if one draft had been rejected."""
    drafts, weights, _ = offered(siblings)
    k = chance.draw(weights)
    if k < len(drafts):
        return Choice(drafts[k], True)
    rest = residual(siblings.target, siblings.drafts[0])
    return Choice(chance.draw(rest if sum(rest) != 0 else siblings.target), False)


def traversal_with(row_of=lambda tree, child: tree.draft[child], weight_after=lambda s, a: quotient(s, s + 1 - a, 1)):
    """Traversal verification that reads another row for q, or goes on with another weight after a rejection."""

    def verify(tree, chance):
        def examine(node, weight):
            p = tree.target[node + 1]
            for child in tree.children(node):
                q, x = row_of(tree, child), tree.tokens[child]
                verdict = examine(child, minimum(weight * ratio(p[x], q[x]), 1))
                if verdict is not None:
                    return verdict
                rest = residual(p, q, weight)
                weight = weight_after(sum(rest), weight)
                p = normalised(rest) if sum(rest) != 0 else p
            if node == CONTEXT or chance.flip(weight):
                return TreeVerdict(node, chance.draw(p))
            return None

        return examine(CONTEXT, 1)

    return verify


def row_of_the_parent(tree, child):
    """The row that the parent was drawn from, for the row that the child was drawn from."""
    parent = tree.parents[child]
    return tree.draft[child if parent == CONTEXT else parent]


def surplus_over_its_own_sum(surplus, weight):
    """A public re-implementation: after a rejection the weight is S / norm_s, the sum of a normalised row."""
    return minimum(surplus, 1)


def parents_mixed_up(tree, chance):
    """The first and the last node below the first depth have swapped their parents."""
    swapped = list(tree.parents)
    twins = [n for n, parent in enumerate(tree.parents) if parent != CONTEXT]
    if len(twins) > 1:
        swapped[twins[0]], swapped[twins[-1]] = swapped[twins[-1]], swapped[twins[0]]
    return multi_round(tree._replace(parents=tuple(swapped)), chance)


def bonus_from_the_root(tree, chance):
    """The token after a whole accepted path is drawn from the row after the context."""
    verdict = multi_round(tree, chance)
    at_a_leaf = not tree.children(verdict.node)
    return TreeVerdict(verdict.node, chance.draw(tree.target[0])) if at_a_leaf else verdict


def rows_of_the_draft_model(tree, chance):
    """Greedy multi-path block verification by the draft model's rows, though the path was chosen among several."""
    path, block = chosen_path(tree)
    accepted, token = block_verification(block, chance)
    return TreeVerdict(path[accepted], token)


def earlier_outputs_not_scaled(tree, chance):
    """Tree Monte Carlo whose earlier outputs keep their weights, and which draws from weights that do not sum to 1."""
    block, weight, outputs, weights = tree.chain(), 1, [], []
    for i, x in enumerate(block.tokens):
        p, q = block.target[i], block.draft[i]
        outputs += [(i - 1, token) for token in range(len(p))]
        weights += residual(p, q, weight)
        weight = minimum(weight * ratio(p[x], q[x]), 1)
    k = chance.draw([*weights, weight]) if sum(weights) + weight != 0 else 0
    if k < len(outputs):
        return TreeVerdict(*outputs[k])
    return TreeVerdict(block.gamma - 1, chance.draw(block.target[block.gamma]))


def drawn_anew_after_a_mismatch(siblings, chance):
    """Shared noise decides whether the draft is kept, and fresh noise what replaces it."""
    (x,) = siblings.tokens
    y = chance.draw(coupled(tuple(siblings.target), tuple(siblings.drafts[0]))[x])
    return Choice(x, True) if y == x else Choice(chance.draw(siblings.target), False)


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


def own_noise_of_each(siblings, chance):
    """List matching that verifies each draft alone, as if it had all of the noise, and takes the first match."""
    for x in siblings.tokens:
        y = chance.draw(coupled(tuple(siblings.target), tuple(siblings.drafts[0]))[x])
        if y == x:
            return Choice(x, True)
    return Choice(y, False)


TREE_MUTANTS = [
    TreeMutant("sample-until-it-matches", "naive", descend(sample_until_it_matches)),
    TreeMutant("only-the-rejected-entry", "spec-infer", descend(only_the_rejected_entry)),
    TreeMutant("row-before-the-elder-was-removed", "without-replacement", descend(row_before_the_elder_was_removed)),
    TreeMutant("replacement-from-the-target", "top-tokens", descend(replacement_from_the_target)),
    TreeMutant("rho-of-a-single-draft", "k-seq", descend(rho_of_a_single_draft)),
    TreeMutant("residual-of-a-single-draft", "optimal-transport", descend(residual_of_a_single_draft)),
    TreeMutant("row-of-the-parent", "traversal", traversal_with(row_of=row_of_the_parent)),
    TreeMutant("weight-not-updated", "traversal", traversal_with(weight_after=lambda surplus, weight: weight)),
    TreeMutant("surplus-over-its-own-sum", "traversal", traversal_with(weight_after=surplus_over_its_own_sum)),
    TreeMutant("parents-mixed-up", "spec-infer", parents_mixed_up),
    TreeMutant("bonus-from-the-root", "spec-infer", bonus_from_the_root),
    TreeMutant("rows-of-the-draft-model", "greedy-multi-path", rows_of_the_draft_model),
    TreeMutant("earlier-outputs-not-scaled", "tree-monte-carlo", earlier_outputs_not_scaled),
    TreeMutant("as-published", "hierarchical", hierarchical_as_published),
    TreeMutant("as-solved", "global-resolution", descend(global_resolution_step(FEW_SWEEPS, capped=False))),
    TreeMutant("weights-not-carried", "scaled-transport", weights_not_carried),
    TreeMutant("hub-last-alone", "spec-hub", descend(hub_last_alone)),
    TreeMutant("own-noise-of-each", "list-gumbel", descend(own_noise_of_each)),
    TreeMutant("drawn-anew-after-a-mismatch", "shared-gumbel", descend(drawn_anew_after_a_mismatch)),
]
