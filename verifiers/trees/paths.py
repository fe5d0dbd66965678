"""Rules for paths: tree Monte Carlo, hierarchical speculative decoding, and the best of several paths."""

from collections.abc import Callable

from ..arithmetic import Number, Row, minimum, normalised, positive_part, quotient, ratio, residual
from ..block_verification import block_verification
from ..chance import Chance
from ..draft_block import Block
from ..sub_block import SubBlockRule, longest_sub_block
from .draft_tree import CONTEXT, DraftTree, TreeVerdict, VerifyTree


def drafted(p: Row, q: Row, weight: Number, x: int) -> tuple[Number, Number]:
    """What scales the weights of earlier outputs if x is drafted, and the weight of the prefix with x."""
    untouched = [positive_part(b - weight * a) for a, b in zip(p, q, strict=True)]
    scale = quotient(normalised(untouched)[x], q[x], 0) if sum(untouched) != 0 else 1
    return scale, minimum(weight * ratio(p[x], q[x]), 1)


def tree_monte_carlo(tree: DraftTree, chance: Chance) -> TreeVerdict:
    """Go through the block and keep the weights of all outputs that are still possible; at the end draw one of them.

    a, the weight of the prefix so far, becomes min(1, a p(x) / q(x)). Earlier outputs, and those that leave the prefix
    here with max(a p - q, 0), are scaled by C(x) / q(x), C = norm(max(q - a p, 0)); where p = q and a = 1 they are
    none.
    Guarantee: valid, for a single path. The weights add up to 1 throughout, and they are block verification's: the law
    is the same (a test compares them).
    Source: Hu and Huang 2024, "Accelerated Speculative Sampling Based on Tree Monte Carlo"; their published code,
        tmc_sample.
    """
    block = tree.chain()
    outputs: list[tuple[int, int]] = []
    weights: list[Number] = []
    weight: Number = 1
    for i, x in enumerate(block.tokens):
        p, q = block.target[i], block.draft[i]
        rest = residual(p, q, weight)
        scale, weight = drafted(p, q, weight, x)
        outputs += [(i - 1, token) for token in range(len(p))]
        weights = [scale * w for w in [*weights, *rest]]
    k = chance.draw([*weights, weight])
    if k < len(outputs):
        return TreeVerdict(*outputs[k])
    return TreeVerdict(block.gamma - 1, chance.draw(block.target[block.gamma]))


def _survive(at: tuple, p: Number, q: Number) -> tuple:
    """R_j, the largest so far, a_j."""
    joint = at[0] * ratio(p, q)
    largest = at[1] + positive_part(joint - at[1])
    return joint, largest, joint / largest


def _accept(at: tuple, above: Number, target: Row, draft: Row) -> Number:
    below = sum(positive_part(q - at[2] * p) for p, q in zip(target, draft, strict=True))
    return quotient(above, below + positive_part(above - below), 1)


CAPPED = SubBlockRule(_survive, _accept, lambda at: at[2], (1, 1, 1), lambda p, q, at: residual(p, q, at[2]))
AS_PUBLISHED = CAPPED._replace(accept_all=lambda at: minimum(at[0], 1))


def _verifying(rule: SubBlockRule) -> VerifyTree:
    def verify(tree: DraftTree, chance: Chance) -> TreeVerdict:
        accepted, token = longest_sub_block(rule, tree.chain(), chance)
        return TreeVerdict(accepted - 1, token)

    return verify


hierarchical = _verifying(CAPPED)
"""Hierarchical speculative decoding with the cap at every place: in law it is block verification.

R_j = M_b(X^j) / M_s(X^j), a_k = R_k / max(1, R_1, .., R_k), D_k(x) = a_k M_b(x | X^k) - M_s(x | X^k).
The block is accepted with probability a_gamma; else on the way back X^k is kept with probability
sum D+ / max(sum D+, sum D-) and followed by Y ~ norm(D+).
Guarantee: valid, for a single path: a_k is p_k of block verification (Eq. 9), and sum D- = sum D+ + 1 - a_k.
Source: Zhou et al. 2026, "Hierarchical Speculative Decoding", with the cap of its branches at the end too.
"""

hierarchical_as_published = _verifying(AS_PUBLISHED)
"""The same with the joint ratio min(1, R_gamma) for the whole block, as the published code has it.

NOT valid: it accepts blocks that a prefix had already used up (TV 1/9 on the example with gamma = 2).
Source: Zhou et al. 2026, code in the repository of the authors: cumulative log ratios, not capped; the adapter ``hsd``
runs it.
"""


def ranking(target: Row, draft: Row) -> list[int]:
    """The tokens in the order in which they are preferred: by M_b / M_s, the largest first, ties to the smaller id."""
    return sorted(range(len(target)), key=lambda t: (-ratio(target[t], draft[t]), t))


Order = Callable[[Row, Row], list[int]]
"""Of the tokens, the most preferred first, by the two rows."""


def chosen_rows(block: Block, paths: int, order: Order = ranking) -> list[Row]:
    """The law of the chosen path along the path, q^Gamma(. | X^i), [gamma, V].

    A path is preferred to another if its token is, where they first differ. With W the draft's probability of all
    prefixes behind x^i, and Q = M_s(x^i): Pr(the chosen path begins with x^i) = (W + Q)^K - W^K.
    """
    rows, behind, mass = [], 0, 1
    for i, x in enumerate(block.tokens):
        target, draft = block.target[i], block.draft[i]
        total = (behind + mass) ** paths - behind**paths
        row, starts, worse = [0] * len(draft), {}, behind
        for t in reversed(order(target, draft)):
            better = worse + mass * draft[t]
            row[t] = (better**paths - worse**paths) / total
            starts[t], worse = worse, better
        rows.append(row)
        behind, mass = starts[x], mass * draft[x]
    return rows


def chosen_path(tree: DraftTree, order: Order = ranking) -> tuple[list[int], Block]:
    """The path chosen token by token, the most preferred first: its nodes from the context on, and its block."""
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
        it at 1 (``proofs/papers/strangers``).
    """
    path, block = chosen_path(tree, order)
    paths = len(tree.children(CONTEXT))
    accepted, token = block_verification(block._replace(draft=chosen_rows(block, paths, order)), chance)
    return TreeVerdict(path[accepted], token)
