"""Typical acceptance: drafts are kept where the target finds them likely enough. Lossy."""

import math

from ..arithmetic import Number, Row
from ..chance import Chance
from .draft_tree import CONTEXT, DraftTree, TreeVerdict, VerifyTree


def as_float(p: Number) -> float:
    """Return a number as a float, also one of a field of rationals."""
    return int(p.numerator) / int(p.denominator) if hasattr(p, "numerator") else float(p)


EPSILON, DELTA = 0.09, 0.3
"""Thresholds of the code of Medusa."""


def is_typical(row: Row, token: int, epsilon: float = EPSILON, delta: float = DELTA) -> bool:
    """Return whether p(x) >= min(epsilon, delta exp(-H(p))), H the entropy in nats."""
    p = [as_float(w) for w in row]
    entropy = -sum(w * math.log(w) for w in p if w > 0)
    return p[token] >= min(epsilon, delta * math.exp(-entropy))


def typical_acceptance(epsilon: float = EPSILON, delta: float = DELTA) -> VerifyTree:
    """Accept the deepest node whose whole path is typical (the first drawn of several), then Y ~ p.

    Guarantee: not valid. With one draft of one token, and A the typical tokens, the law is q(x) [x in A] + q(not A)
    p(x). The test is made in floats; the law is exact given what it decides.
    Source: Cai et al. 2024 (Medusa), Section 2.3.1; epsilon and delta as in its code.
    """

    def verify(tree: DraftTree, chance: Chance) -> TreeVerdict:
        depth, best = {CONTEXT: 0}, CONTEXT
        for n, (x, parent) in enumerate(zip(tree.tokens, tree.parents, strict=True)):
            if parent in depth and is_typical(tree.target[parent + 1], x, epsilon, delta):
                depth[n] = depth[parent] + 1
                best = n if depth[n] > depth[best] else best
        return TreeVerdict(best, chance.draw(tree.target[best + 1]))

    return verify


typical = typical_acceptance()
