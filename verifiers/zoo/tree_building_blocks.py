"""Right verifiers of draft trees in floats with exchangeable parts, as ``building_blocks`` has them of draft blocks."""

from collections.abc import Callable

import numpy as np

from .building_blocks import Floats, Generator, answer, draw, drawable, excess, ratio, share

CONTEXT = -1
Indices = np.ndarray
"""Whole numbers: the tokens [N] of a tree, the parents [N] of its nodes, some of the nodes."""

TreeVerifier = Callable[[Floats, Floats, Indices, Indices, Generator], list[int]]

Choice = tuple[int | None, int]
"""Which of the children is accepted, or None and the token that is emitted in its place."""

Step = Callable[[Generator, Floats, Floats, Indices], Choice]
"""step(rng, p, q, x): p is the target's row after the text so far; q, x are the rows and the tokens of the children."""


def descent(step: Step, bonus: Callable[[int], int] = lambda node: node + 1) -> TreeVerifier:
    """Walk from the context down, while a child is accepted. bonus(node): the target's row after a node without
    children.
    """

    def verify(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
        node, emitted = CONTEXT, list[int]()
        while len(children := np.flatnonzero(parents == node)):
            accepted, token = step(rng, target[node + 1], draft[children], tokens[children])
            if accepted is None:
                return answer(emitted, token)
            node = int(children[accepted])
            emitted.append(int(tokens[node]))
        last = target[bonus(node)]
        return answer(emitted, draw(rng, last, last))

    return verify


def one_after_another(
    rest: Callable[[Floats, Floats, int], Floats] = lambda left, q, x: excess(left, q),
    replacement: Callable[[Floats, Floats], Floats] = lambda left, p: left,
) -> Step:
    """Return the step of recursive rejection, each sibling by its row.

    rest(left, q, x): what is left of the target after x, drawn from q, was rejected.
    replacement(left, p): what the token after all rejections is drawn from; p is the target's row.
    """

    def step(rng: Generator, p: Floats, q: Floats, x: Indices) -> Choice:
        left = p
        for k, token in enumerate(map(int, x)):
            if rng.random() < ratio(left[token], q[k][token]):
                return k, -1
            left = drawable(rest(left, q[k], token), left)
        return None, draw(rng, replacement(left, p), p)

    return step


Change = Callable[[Floats, Floats, Indices, Indices], tuple[Floats, Floats, Indices, Indices]]


def misread(change: Change) -> TreeVerifier:
    """Return recursive rejection of what ``change`` makes of target, draft, tokens and parents."""
    right = descent(one_after_another())

    def verify(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
        return right(*change(target, draft, tokens, parents), rng)

    return verify


def from_the_leaves(
    after: Callable[[float, float], float] = lambda surplus, weight: share(surplus, 1.0 - weight),
) -> TreeVerifier:
    """Return traversal verification. after(surplus, weight): a node's weight after the branch of a child was
    rejected.
    """

    def verify(target: Floats, draft: Floats, tokens: Indices, parents: Indices, rng: Generator) -> list[int]:
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

    return verify
