"""Tree Monte Carlo (ASpS): a draft block is coupled with a whole law over its prefixes and what may follow them."""

from ..arithmetic import Number, Row, minimum, normalised, positive_part, quotient, ratio, residual
from ..chance import Chance
from .draft_tree import DraftTree, TreeVerdict


def drafted(p: Row, q: Row, weight: Number, x: int) -> tuple[Number, Number]:
    """Return what scales the weights of earlier outputs if x is drafted, and the weight of the prefix with x."""
    untouched = [positive_part(b - weight * a) for a, b in zip(p, q, strict=True)]
    scale = quotient(normalised(untouched)[x], q[x], 0) if sum(untouched) != 0 else 1
    return scale, minimum(weight * ratio(p[x], q[x]), 1)


def tree_monte_carlo(tree: DraftTree, chance: Chance) -> TreeVerdict:
    """Walk through the block and keep the weights of all outputs that are still possible; at the end draw one of them.

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
