"""Right verifiers of draft trees in floats with exchangeable parts, as ``building_blocks`` has them of draft blocks."""

from collections.abc import Callable

import numpy as np

from .building_blocks import Floats, Generator, answer, draw, drawable, excess, ratio, share

CONTEXT = -1
Indices = np.ndarray
"""Whole numbers: the tokens [N] of a tree, the parents [N] of its nodes, some of the nodes."""

Choice = tuple[int | None, int]
"""The child that is accepted, or None and the token that is emitted in its place."""

Step = Callable[[Floats, Indices], Choice]
"""step(p, children): p is the target's row after the text so far."""


def down(
    target: Floats, tokens: Indices, parents: Indices, rng: Generator, step: Step,
    bonus: Callable[[int], int] = lambda node: node + 1,
) -> list[int]:  # fmt: skip
    """From the context down, while a child is accepted. bonus(node): the target's row after a node without children."""
    node, emitted = CONTEXT, list[int]()
    while len(children := np.flatnonzero(parents == node)):
        child, token = step(target[node + 1], children)
        if child is None:
            return answer(emitted, token)
        node = int(child)
        emitted.append(int(tokens[node]))
    last = target[bonus(node)]
    return answer(emitted, draw(rng, last, last))


def one_after_another(
    draft: Floats,
    tokens: Indices,
    rng: Generator,
    rest: Callable[[Floats, Floats, int], Floats] = lambda left, q, x: excess(left, q),
    replacement: Callable[[Floats, Floats], Floats] = lambda left, p: left,
) -> Step:
    """The step of recursive rejection, each sibling by its row.

    rest(left, q, x): what is left of the target after x, drawn from q, was rejected.
    replacement(left, p): what the token after all rejections is drawn from; p is the target's row.
    """

    def step(p: Floats, children: Indices) -> Choice:
        left = p
        for n in children:
            x = int(tokens[n])
            if rng.random() < ratio(left[x], draft[n][x]):
                return n, -1
            left = drawable(rest(left, draft[n], x), left)
        return None, draw(rng, replacement(left, p), p)

    return step


def from_the_leaves(
    target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator,
    after: Callable[[float, float], float] = lambda surplus, weight: share(surplus, 1.0 - weight),
) -> list[int]:  # fmt: skip
    """Traversal verification. after(surplus, weight): a node's weight after the branch of a child was rejected."""

    def examine(node: int, weight: float) -> list[int] | None:
        p = left = target[node + 1]
        here = [] if node == CONTEXT else [int(tokens[node])]
        for n in np.flatnonzero(parents == node):
            below = examine(int(n), min(weight * ratio(left[tokens[n]], draft[n][tokens[n]]), 1.0))
            if below is not None:
                return here + below
            rest = excess(left, draft[n], weight)
            weight, left = after(rest.sum(), weight), drawable(rest, left)
        if node != CONTEXT and not rng.random() < weight:
            return None
        return answer(here, draw(rng, left, p))

    emitted = examine(CONTEXT, 1.0)
    assert emitted is not None
    return emitted
