"""Validity as one identity of rational functions, for token, block and every sub-block rule between them at once.

Block verification keeps a draft token with p_i = min(p_{i-1} M_b, M_s) / M_s. Nothing in the proof of Theorem 1 needs
the minimum: put a free variable m in its place, p_i = m / M_s with residual p_{i-1} M_b - m, and Eq. (7) becomes an
identity in the rows and all the m, one for each edge of the tree of prefixes. m = min(p M_b, M_s) gives block
verification; m = p min(M_b, M_s) a verifier that keeps each prefix exactly as often as token verification does. (Where
the m are such that all probabilities lie in [0, 1] the identity is a statement about a verifier; elsewhere it is algebra.)

The code that runs is ``sub_block_law`` with block verification's own ``accept``; only ``survive`` and the residual
have m for the minimum. Its numbers are sympy's rational functions. At V = 4, gamma = 3 they have 402 generators, which
takes sympy's own gcd two minutes and the gcd among those that occur (``Sparse``) under two seconds.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

from sympy import ZZ
from sympy.polys.fields import FracElement, FracField
from sympy.polys.rings import PolyElement

from ...models.law import Table
from ...models.problem import Problem
from ...verifiers import block_verification as block
from ...verifiers.sub_block import SubBlockRule
from ..laws import sub_block_law

Formula = Callable[[Any, Any, Any], Any]


class Sparse(FracElement):
    """sympy's fraction of polynomials, brought to lowest terms among the generators that occur in it.

    An element of the identity's field has a few of the field's generators; sympy's gcd recurses over them all.
    """

    def new(self, numer: PolyElement, denom: PolyElement) -> FracElement:
        occurring = [k for k, degrees in enumerate(zip(numer.degrees(), denom.degrees())) if any(degrees)]
        if not numer or not occurring:
            return super().new(numer, denom)
        ring = self.field.ring
        fewer = ring.clone(symbols=[ring.symbols[k] for k in occurring])

        def narrow(polynomial):
            return fewer.from_dict({tuple(powers[k] for k in occurring): c for powers, c in polynomial.items()})

        def widen(polynomial):
            wide = {}
            for powers, coefficient in polynomial.items():
                all_powers = list(ring.zero_monom)
                for k, power in zip(occurring, powers):
                    all_powers[k] = power
                wide[tuple(all_powers)] = coefficient
            return ring.from_dict(wide)

        return self.raw_new(*map(widen, narrow(numer).cancel(narrow(denom))))


class FreeModel:
    """A problem whose rows are free but for their sum, and a free mass m that survives for each edge."""

    def __init__(self, vocabulary: int, gamma: int):
        prefixes = [x for n in range(gamma + 1) for x in product(range(vocabulary), repeat=n)]
        inner = [x for x in prefixes if len(x) < gamma]
        label = {x: "_".join(map(str, x)) for x in prefixes}
        names = [f"b{label[x]}y{t}" for x in prefixes for t in range(vocabulary - 1)]
        names += [f"s{label[x]}y{t}" for x in inner for t in range(vocabulary - 1)]
        names += [f"m{label[x]}y{t}" for x in inner for t in range(vocabulary)]
        field = FracField(names, ZZ)
        variables = {name: Sparse(field, x) for name, x in zip(names, field.ring.gens)}
        self.one, self.variables = Sparse(field, field.ring.one), len(names)

        def row(kind, x):
            free = [variables[f"{kind}{label[x]}y{t}"] for t in range(vocabulary - 1)]
            return (*free, self.one - sum(free, self.one * 0))

        target, draft = {x: row("b", x) for x in prefixes}, {x: row("s", x) for x in inner}
        self.problem = Problem(vocabulary, gamma, Table(target, "target"), Table(draft, "draft"), "free")
        surviving = {x: [variables[f"m{label[x]}y{t}"] for t in range(vocabulary)] for x in inner}
        # The formulas see numbers, not places: each edge is known by the draft probability object it was given.
        self._surviving = {id(q): m for x in inner for q, m in zip(draft[x], surviving[x])}

    def survive(self, survived: Any, p: Any, q: Any) -> Any:
        """p_i = m / M_s."""
        return self._surviving[id(q)] / q

    def rest_of(self, weigh: Formula) -> Callable:
        """The residual made of weigh(p_{i-1}, M_b, m) for each token."""

        def rest(target, draft, survived):
            return [weigh(survived, p, self._surviving[id(q)]) for p, q in zip(target, draft, strict=True)]

        return rest


def weight(survived: Any, p: Any, m: Any) -> Any:
    """p_{i-1} M_b - m, as in Eq. (4)."""
    return survived * p - m


def deviations(
    vocabulary: int, gamma: int, accept: Callable = block.accept, weigh: Formula = weight
) -> tuple[int, int, int]:
    """How many of the sequences of gamma + 1 tokens do not have the target's probability as an identity.

    Returns: (sequences that deviate, all sequences, variables).
    accept, weigh: other formulas, to see it fail; what they leave does not cancel, so V and gamma of 2 are enough to do.
    """
    free = FreeModel(vocabulary, gamma)
    rule = SubBlockRule(free.survive, accept, block.accept_all)
    law = sub_block_law(free.problem, rule, free.one, free.rest_of(weigh))
    wrong = total = 0

    def walk(prefix, completed, expected):
        nonlocal wrong, total
        here = completed + law[prefix] if prefix in law else completed
        if len(prefix) == gamma + 1:
            total += 1
            wrong += here != expected
            return
        for token, p in enumerate(free.problem.target.row(prefix)):
            walk((*prefix, token), here * p, expected * p)

    walk((), free.one * 0, free.one)
    return wrong, total, free.variables
