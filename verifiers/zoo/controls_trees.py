"""Right verifiers of draft trees, written as engines write them: an audit that refutes one of these is wrong."""

from typing import Any

import numpy as np

from ..adapters.calling_convention import declare
from ..trees.draft_tree import IID, WITHOUT_REPLACEMENT
from .building_blocks import Floats, Generator, draw, drawable, excess, ratio, without
from .tree_building_blocks import Choice, Indices, descent, from_the_leaves, one_after_another

HALVINGS = 60

multi_round = descent(one_after_another())
"""Recursive rejection, each sibling by the row that it was drawn from."""


def _by_the_eldest(rng: Generator, p: Floats, q: Floats, x: Indices) -> Choice:
    left, row = p, q[0]
    for k, token in enumerate(x):
        if rng.random() < ratio(left[token], row[token]):
            return k, -1
        left = drawable(excess(left, row), left)
        row = drawable(without(row, int(token)), row)
    return None, draw(rng, left, p)


without_replacement = declare(descent(_by_the_eldest), drafting=(WITHOUT_REPLACEMENT,))
"""Recursive rejection by the eldest sibling's row alone: what was rejected is removed from it, as Sequoia does."""

_of_point_masses = one_after_another(lambda left, q, x: without(left, x))

chosen_tokens = descent(lambda rng, p, q, x: _of_point_masses(rng, p, np.eye(len(p))[x], x))
"""Looks at no draft row: accepts with p(x), else removes x from p, as EAGLE-2 does."""


def _where_the_sample_goes(rng: Generator, p: Floats, q: Floats, x: Indices) -> Choice:
    y = draw(rng, p, p)
    return next((k for k, token in enumerate(x) if token == y), None), y


sampled_child = descent(_where_the_sample_goes)
"""Draws the target's own token, and goes on where a child has it."""


def smallest_rho(p: Floats, q: Floats, k: int) -> float:
    """Return a number just above the solution of 1 - (1 - beta)^k = rho beta, beta = sum of min(q, p / rho)."""
    low, high = 1.0, float(k)
    for _ in range(HALVINGS):
        rho = (low + high) / 2
        beta = np.minimum(q, p / rho).sum()
        low, high = (low, rho) if 1 - (1 - beta) ** k <= rho * beta else (rho, high)
    return high


def _k_sequential(rng: Generator, p: Floats, q: Floats, x: Indices) -> Choice:
    row, k = q[0], len(x)
    rho = smallest_rho(p, row, k)
    for n, token in enumerate(x):
        if rng.random() < ratio(p[token], rho * row[token]):
            return n, -1
    taken = np.minimum(row, p / rho)
    beta = taken.sum()
    rest = np.maximum(p - taken * (1 - (1 - beta) ** k) / beta, 0.0) if beta > 0 else p
    return None, draw(rng, rest, p)


k_sequential = declare(descent(_k_sequential), drafting=(IID,))
"""SpecTr's k-SEQ: all siblings are tested against the same share of the target."""

traversal = from_the_leaves()
"""Traversal verification, from the leaves to the root: a node stays usable after its children have failed."""


def recursive_rejection_in_torch(target_probs: Any, draft_probs: Any, draft_tokens: Any, parents: Any) -> list[int]:
    """Verifies as EAGLE's ``evaluate_posterior``, with the draft's rows in place of q = 1 and torch's global
    generator.
    """
    import torch

    node, emitted = -1, list[int]()
    while True:
        p = target_probs[node + 1].clone()
        children = (parents == node).nonzero().flatten().tolist()
        for n in children:
            x, q = draft_tokens[n], draft_probs[n]
            if torch.rand((), dtype=p.dtype) < p[x] / q[x]:
                emitted.append(int(x))
                node = n
                break
            left = (p - q).clamp(min=0)
            p = left / left.sum() if left.sum() > 0 else p
        else:
            return [*emitted, int(torch.multinomial(p, 1))]


recursive_rejection_in_torch.array = "torch"  # pyright: ignore[reportFunctionMemberAccess]
