"""Greedy multi-path block verification: the best of several paths is chosen, and verified by the law of the choice."""

from collections.abc import Callable

from ..arithmetic import Number, Row, ratio
from ..block_verification import block_verification
from ..chance import Chance
from ..draft_block import Block
from .draft_tree import CONTEXT, DraftTree, TreeVerdict


def ranking(target: Row, draft: Row) -> list[int]:
    """Return the tokens as they are preferred: the largest M_b / M_s first, ties to the smaller id."""
    return sorted(range(len(target)), key=lambda t: (-ratio(target[t], draft[t]), t))


Order = Callable[[Row, Row], list[int]]
"""Function of the two rows that returns the tokens, the most preferred first."""


def spread(more: Number, less: Number, paths: int) -> Number:
    """Return sum_j more^j less^(K-1-j): (more^K - less^K) / (more - less), without a difference."""
    total = power = 1
    for _ in range(paths - 1):
        power = power * less
        total = total * more + power
    return total


def chosen_rows(block: Block, paths: int, order: Order = ranking) -> list[Row]:
    """Return the law of the chosen path along the path, q^Gamma(. | X^i), [gamma, V].

    A path is preferred to another if its token is, where they first differ. With W the draft's probability of all
    prefixes behind x^i, and Q = M_s(x^i): Pr(the chosen path begins with x^i) = (W + Q)^K - W^K = Q spread(W + Q, W).
    """
    rows, behind, mass = [], 0, 1
    for i, x in enumerate(block.tokens):
        target, draft = block.target[i], block.draft[i]
        whole = spread(behind + mass, behind, paths)
        row, starts, worse = [0] * len(draft), {}, behind
        for t in reversed(order(target, draft)):
            better = worse + mass * draft[t]
            row[t] = draft[t] * spread(better, worse, paths) / whole
            starts[t], worse = worse, better
        rows.append(row)
        behind, mass = starts[x], mass * draft[x]
    return rows


def chosen_path(tree: DraftTree, order: Order = ranking) -> tuple[list[int], Block]:
    """Return the path chosen token by token, the most preferred first: its nodes from the context on, and its block."""
    alive, path = (CONTEXT,), [CONTEXT]
    while children := tree.children(*alive):
        ranked = order(tree.target[alive[0] + 1], tree.draft[children[0]])
        best = min((tree.tokens[n] for n in children), key=ranked.index)
        alive = tuple(n for n in children if tree.tokens[n] == best)
        path.append(alive[0])
    rows, nodes = [tree.target[n + 1] for n in path], path[1:]
    return path, Block(rows, [tree.draft[n] for n in nodes], tuple(tree.tokens[n] for n in nodes))


def greedy_multi_path(tree: DraftTree, chance: Chance, order: Order = ranking) -> TreeVerdict:
    """Choose one of several independent paths, and verify the chosen one as a block.

    Block verification is given q^Gamma, the law of the chosen path, in place of M_s.
    Guarantee: valid for independent paths and any order of the tokens of a text that depends on nothing but the two
        rows.
    Source: Thomas and Pal 2026, "Greedy Multi-Path Block Verification". By the ratio here; their code caps
        it at 1 (``corpus/literature/strangers``).
    """
    path, block = chosen_path(tree, order)
    paths = len(tree.children(CONTEXT))
    accepted, token = block_verification(block._replace(draft=chosen_rows(block, paths, order)), chance)
    return TreeVerdict(path[accepted], token)
