"""Right verifiers of draft trees, written as engines write them: an audit that refutes one of these is wrong."""

import numpy as np

from ..adapters.calling_convention import declare
from ..trees.draft_tree import IID, WITHOUT_REPLACEMENT
from .building_blocks import Floats, Generator, draw, drawable, excess, ratio, without
from .tree_building_blocks import Choice, Indices, down, from_the_leaves, one_after_another

HALVINGS = 60


def multi_round(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """Recursive rejection, each sibling by the row that it was drawn from."""
    return down(target, tokens, parents, rng, one_after_another(draft, tokens, rng))


def without_replacement(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """Recursive rejection by the eldest sibling's row alone: what was rejected is removed from it, as Sequoia does."""

    def step(p: Floats, children: Indices) -> Choice:
        left, q = p, draft[children[0]]
        for n in children:
            if rng.random() < ratio(left[tokens[n]], q[tokens[n]]):
                return n, -1
            left = drawable(excess(left, q), left)
            q = drawable(without(q, int(tokens[n])), q)
        return None, draw(rng, left, p)

    return down(target, tokens, parents, rng, step)


def chosen_tokens(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """Looks at no draft row: accepts with p(x), else removes x from p, as EAGLE-2 does."""
    point_masses = np.eye(target.shape[1])[tokens]
    step = one_after_another(point_masses, tokens, rng, lambda left, q, x: without(left, x))
    return down(target, tokens, parents, rng, step)


def sampled_child(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """Draws the target's own token, and goes on where a child has it."""

    def step(p: Floats, children: Indices) -> Choice:
        y = draw(rng, p, p)
        return next((n for n in children if tokens[n] == y), None), y

    return down(target, tokens, parents, rng, step)


def smallest_rho(p: Floats, q: Floats, k: int) -> float:
    """Just above the solution of 1 - (1 - beta)^k = rho beta, beta = sum of min(q, p / rho)."""
    low, high = 1.0, float(k)
    for _ in range(HALVINGS):
        rho = (low + high) / 2
        beta = np.minimum(q, p / rho).sum()
        low, high = (low, rho) if 1 - (1 - beta) ** k <= rho * beta else (rho, high)
    return high


def k_sequential(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """SpecTr's k-SEQ: all siblings are tested against the same share of the target."""

    def step(p: Floats, children: Indices) -> Choice:
        q, k = draft[children[0]], len(children)
        rho = smallest_rho(p, q, k)
        for n in children:
            if rng.random() < ratio(p[tokens[n]], rho * q[tokens[n]]):
                return n, -1
        taken = np.minimum(q, p / rho)
        beta = taken.sum()
        rest = np.maximum(p - taken * (1 - (1 - beta) ** k) / beta, 0.0) if beta > 0 else p
        return None, draw(rng, rest, p)

    return down(target, tokens, parents, rng, step)


def traversal(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
    """From the leaves to the root: a node stays usable after its children have failed."""
    return from_the_leaves(target, draft, tokens, parents, rng)


declare(without_replacement, drafting=(WITHOUT_REPLACEMENT,))
declare(k_sequential, drafting=(IID,))
