"""Mutants of verifiers of draft trees. One thing is wrong in each."""

import numpy as np

from ..adapters.calling_convention import declare
from ..trees.draft_tree import IID, WITHOUT_REPLACEMENT
from .building_blocks import Floats, Generator, draw, excess, ratio, without
from .tree_building_blocks import CONTEXT, Choice, Indices, descent, from_the_leaves, misread, one_after_another

only_the_rejected_entry = descent(
    one_after_another(lambda left, q, x: np.where(np.arange(len(left)) == x, excess(left, q), left))
)
"""After a rejection the target is adjusted at the rejected token alone."""

row_of_the_parent = misread(
    lambda p, q, x, parents: (p, q[np.where(parents == CONTEXT, np.arange(len(parents)), parents)], x, parents)
)
"""The draft row of the node that was accepted last stands for its children's."""

row_before_the_elder_was_removed = declare(
    misread(lambda p, q, x, parents: (p, q[[int(np.flatnonzero(parents == n)[0]) for n in parents]], x, parents)),
    drafting=(WITHOUT_REPLACEMENT,),
)
"""Siblings drawn without replacement are all verified with the row of the first."""


def _swapped(parents: Indices) -> Indices:
    below, swapped = np.flatnonzero(parents != CONTEXT), parents.copy()
    if len(below):
        swapped[below[0]], swapped[below[-1]] = parents[below[-1]], parents[below[0]]
    return swapped


parents_mixed_up = misread(lambda p, q, x, parents: (p, q, x, _swapped(parents)))
"""The first and the last node below the first depth have swapped their parents."""


def _depths(parents: Indices) -> list[int]:
    depth = [0]
    for parent in parents:
        depth.append(depth[parent + 1] + 1)
    return depth


target_rows_by_depth = misread(lambda p, q, x, parents: (p[_depths(parents)], q, x, parents))
"""The target's rows are read by the depth of a node, as on a single path."""

bonus_from_the_root = descent(one_after_another(), bonus=lambda node: 0)
"""The token after a whole accepted path is drawn from the row after the context."""

replacement_from_the_target = descent(one_after_another(replacement=lambda left, p: p))
"""The token after all rejections is drawn from the target as it was at first."""


def _each_alone(rng: Generator, p: Floats, q: Floats, x: Indices) -> Choice:
    for k, token in enumerate(x):
        if rng.random() < ratio(p[token], q[k][token]):
            return k, -1
    return None, draw(rng, excess(p, q[0]), p)


each_as_if_alone = declare(descent(_each_alone), drafting=(IID,))
"""Each sibling is tested as if it were the only one, and the residual is that of one draft: k-SEQ with rho = 1."""


def _sampled_again(rng: Generator, p: Floats, q: Floats, x: Indices) -> Choice:
    y = -1
    for k, token in enumerate(x):
        y = draw(rng, p, p)
        if y == token:
            return k, -1
    return None, y


sampled_again_for_each = descent(_sampled_again)
"""Draws from the target once for each sibling, and takes the first match."""


def _counted_twice(rng: Generator, p: Floats, q: Floats, x: Indices) -> Choice:
    coin, mass, rest = rng.random(), 0.0, p
    for k, token in enumerate(x):
        mass += p[token]
        if coin < mass:
            return k, -1
        rest = without(rest, int(token))
    return None, draw(rng, rest, p)


equal_siblings_counted_twice = declare(descent(_counted_twice), drafting=(IID,))
"""One coin against the target's mass on the siblings so far, in which equal siblings count twice."""

weight_not_updated = from_the_leaves(lambda surplus, weight: weight)
"""Traversal verification in which a node's weight stays what it was after its children have failed."""


def _even(parents: Indices) -> Indices:
    even, level = np.array(parents), [CONTEXT]
    while below := [n for n, parent in enumerate(parents) if parent in level]:
        for k, n in enumerate(below):
            even[n] = level[k * len(level) // len(below)]
        level = below
    return even


children_shared_out_evenly = misread(lambda p, q, x, parents: (p, q, x, _even(parents)))
"""The nodes of a depth belong in equal shares to those above, whatever their parents are."""
