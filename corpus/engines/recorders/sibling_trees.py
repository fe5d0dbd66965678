"""Draft trees as SGLang and sglang-jax hold them: each node's first child and next sibling."""

from collections.abc import Sequence


def parents_of(first_child: Sequence[int], next_sibling: Sequence[int]) -> list[int]:
    """Return the place of each drafted token's parent, -1 for the context. Node 0 is the context; -1 ends a list.

    Raises: ValueError if a node hangs nowhere, or a parent comes after its child.
    """
    parents = dict[int, int]()
    for node in range(len(first_child)):
        child = first_child[node]
        while child > 0 and child not in parents:
            parents[child] = node - 1
            child = next_sibling[child]
    if sorted(parents) != [*range(1, len(first_child))] or any(above + 1 >= node for node, above in parents.items()):
        raise ValueError("expected a tree in which every node hangs on one before it")
    return [parents[node] for node in range(1, len(first_child))]
