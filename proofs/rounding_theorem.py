"""How far floating point can move block verification's law: the bounds of mechanized/BlockRounding.v and Lattice.v as numbers.

The code is the reference's (``verifiers/block_verification.py``): p_i = min(p_{i-1} * (p / q), 1), weights max(p_i p - q, 0),
their sum S, the coin S / ((S + 1) - p_i). The one assumption is the standard model: each operation is exact times 1 + e with
|e| <= u, u = epsilon / 2. It says nothing of overflow and underflow, and nothing of code that computes other formulas.
"""

import math

IN_ORDER, PAIRWISE = "in order", "pairwise"


def growth(unit: float, operations: int) -> float:
    """(1 + u)^n - 1: the relative error of n operations in a row."""
    return math.expm1(operations * math.log1p(unit))


def sum_depth(vocabulary: int, order: str = IN_ORDER) -> int:
    """How many additions an addend goes through: V - 1 in order, ceil(log2 V) pairwise. Source: Rounding.v, ``sum_near``."""
    return vocabulary - 1 if order == IN_ORDER else math.ceil(math.log2(vocabulary))


def coin_error(unit: float, operations: int, depth: int) -> float:
    """How much one coin moves the law: 2 g + G(k) + u (2 + u) (2 + g) + u, g = G(k + 2 + d), G = ``growth``.

    operations: k, those that led to p_i. Source: Rounding.v, ``coin_near``.
    """
    g = growth(unit, operations + 2 + depth)
    return 2 * g + growth(unit, operations) + unit * (2 + unit) * (2 + g) + unit


def rounding_bound(gamma: int, vocabulary: int, epsilon: float, lattice: float, order: str = IN_ORDER,
                   last_draw: float = 0.0) -> float:  # fmt: skip
    """The total variation by which block verification in floating point can miss its exact law.

    sum_{i=1}^{gamma-1} coin_error(2 i, d) + G(2 gamma) + gamma / N + sum_{i=0}^{gamma-1} G(2 i + 2) + last_draw,
    to first order 4 gamma^2 u + (2 d + 9) (gamma - 1) u + gamma / N + last_draw.
    epsilon: the spacing of the numbers at 1, 2 u. lattice: 1 / N, the spacing of the uniforms that decide coins.
    last_draw: what the last token's draw from given weights adds: 0 if by its weights, ``lookup_bound`` on a lattice.
    Source: BlockRounding.v, ``block_rounding``.
    """
    unit, depth = epsilon / 2, sum_depth(vocabulary, order)
    coins = sum(coin_error(unit, 2 * i, depth) for i in range(1, gamma)) + growth(unit, 2 * gamma)
    rows = sum(growth(unit, 2 * i + 2) for i in range(gamma))
    return coins + gamma * lattice + rows + last_draw


def lattice_bound(gamma: int, vocabulary: int, lattice: float) -> float:
    """gamma / N + V / (2 N): exact numbers, coins decided and the last token looked up by uniforms k / N.

    Source: Lattice.v, ``uniforms_on_a_lattice``.
    """
    return gamma * lattice + lookup_bound(vocabulary, lattice)


def lookup_bound(vocabulary: int, lattice: float) -> float:
    """V / (2 N): a token looked up in an exact running sum by a uniform k / N. Source: Lattice.v, ``looked_up_near``."""
    return vocabulary * lattice / 2


def support_leak(drafted: float, lattice: float) -> float:
    """M_s(z) / N: how often token verification begins with a z that the target excludes, where coins fall if u <= h.

    Source: Lattice.v, ``support_leak`` with ``lattice_le_0``; with u < h it is 0, ``lattice_lt_0``.
    """
    return drafted * lattice
