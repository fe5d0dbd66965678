"""Mutants of verifiers of draft trees. One thing is wrong in each."""

import numpy as np

from ..adapters.calling_convention import declare
from ..trees.draft_tree import IID, WITHOUT_REPLACEMENT
from .building_blocks import Floats, Generator, draw, excess, ratio, without
from .controls_trees import multi_round
from .tree_building_blocks import CONTEXT, Choice, Indices, down, from_the_leaves, one_after_another


def only_the_rejected_entry(
    target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator
) -> list[int]:
    """After a rejection the target is adjusted at the rejected token alone."""

    def rest(left: Floats, q: Floats, x: int) -> Floats:
        return np.where(np.arange(len(left)) == x, excess(left, q), left)

    return down(target, tokens, parents, rng, one_after_another(draft, tokens, rng, rest))


def row_of_the_parent(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """The draft row of the node that was accepted last stands for its children's."""
    rows = np.where(parents == CONTEXT, np.arange(len(parents)), parents)
    return multi_round(target, draft[rows], tokens, parents, rng)


def row_before_the_elder_was_removed(
    target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator
) -> list[int]:
    """Siblings drawn without replacement are all verified with the row of the first."""
    first = [int(np.flatnonzero(parents == parent)[0]) for parent in parents]
    return multi_round(target, draft[first], tokens, parents, rng)


def parents_mixed_up(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """The first and the last node below the first depth have swapped their parents."""
    below, swapped = np.flatnonzero(parents != CONTEXT), parents.copy()
    if len(below):
        swapped[below[0]], swapped[below[-1]] = parents[below[-1]], parents[below[0]]
    return multi_round(target, draft, tokens, swapped, rng)


def target_rows_by_depth(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """The target's rows are read by the depth of a node, as of a single path."""
    depth = [0]
    for parent in parents:
        depth.append(depth[parent + 1] + 1)
    return multi_round(target[depth], draft, tokens, parents, rng)


def bonus_from_the_root(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """The token after a whole accepted path is drawn from the row after the context."""
    return down(target, tokens, parents, rng, one_after_another(draft, tokens, rng), bonus=lambda node: 0)


def replacement_from_the_target(
    target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator
) -> list[int]:
    """The token after all rejections is drawn from the target as it was at first."""
    step = one_after_another(draft, tokens, rng, replacement=lambda left, p: p)
    return down(target, tokens, parents, rng, step)


def each_as_if_alone(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """Each sibling is tested as if it were the only one, and the residual is that of one draft: k-SEQ with rho = 1."""

    def step(p: Floats, children: Indices) -> Choice:
        for n in children:
            if rng.random() < ratio(p[tokens[n]], draft[n][tokens[n]]):
                return n, -1
        return None, draw(rng, excess(p, draft[children[0]]), p)

    return down(target, tokens, parents, rng, step)


def sampled_again_for_each(
    target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator
) -> list[int]:
    """Draws from the target once for each sibling, and takes the first match."""

    def step(p: Floats, children: Indices) -> Choice:
        y = -1
        for n in children:
            y = draw(rng, p, p)
            if y == tokens[n]:
                return n, -1
        return None, y

    return down(target, tokens, parents, rng, step)


def equal_siblings_counted_twice(
    target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator
) -> list[int]:
    """One coin against the target's mass on the siblings so far, in which equal siblings count twice."""

    def step(p: Floats, children: Indices) -> Choice:
        coin, mass, rest = rng.random(), 0.0, p
        for n in children:
            mass += p[tokens[n]]
            if coin < mass:
                return n, -1
            rest = without(rest, int(tokens[n]))
        return None, draw(rng, rest, p)

    return down(target, tokens, parents, rng, step)


def weight_not_updated(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """Traversal verification in which a node's weight stays what it was after its children have failed."""
    return from_the_leaves(target, draft, tokens, parents, rng, lambda surplus, weight: weight)


def children_shared_out_evenly(
    target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator
) -> list[int]:
    """The nodes of a depth belong in equal shares to those above, whatever their parents are."""
    even, level = np.array(parents), [CONTEXT]
    while below := [n for n, parent in enumerate(parents) if parent in level]:
        for k, n in enumerate(below):
            even[n] = level[k * len(level) // len(below)]
        level = below
    return multi_round(target, draft, tokens, even, rng)


declare(row_before_the_elder_was_removed, drafting=(WITHOUT_REPLACEMENT,))
declare(each_as_if_alone, drafting=(IID,))
declare(equal_siblings_counted_twice, drafting=(IID,))
