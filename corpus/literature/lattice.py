"""Models of small denominators, on which claims are looked at first."""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem

Exact = tuple[Fraction, ...]


def lattice_pairs(vocabulary: int, gamma: int, largest: int) -> list[Problem]:
    """Return every pair of context-independent models with rows of one denominator, the smallest denominators first."""
    pairs: list[tuple[Exact, Exact]] = []
    for n in range(1, largest + 1):
        edges = ((0, *cuts, n) for cuts in combinations_with_replacement(range(n + 1), vocabulary - 1))
        rows = [tuple(Fraction(b - a, n) for a, b in pairwise(each)) for each in edges]
        pairs += product(rows, rows)
    return [
        Problem(vocabulary, gamma, ContextFree(p), ContextFree(q), f"lattice-V{vocabulary}")
        for p, q in dict.fromkeys(pairs)
    ]
