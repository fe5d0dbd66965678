"""One step of block and greedy block verification, for every p_i and every pair of rows: with induction, every gamma.

The algorithms meet a draft token through four formulas (``SubBlockRule``), which see p_{i-1}, the two rows and
nothing else. Each lemma below runs those formulas on z3 reals. The sums over the vocabulary enter only through
what holds token by token, so a lemma about sums assumes for m_x (kept) and r_x (residual) what ``token`` proves of
the code, and stays small for any V.

Block verification, from these lemmas (Sun et al. 2025, Appendix B):
    Lemma 3. Backward induction over i: Pr(tau >= gamma | X^gamma) = h_gamma = p_gamma; if it holds at i + 1, then
        Pr(tau >= i | X^i) = sum_x M_s(x) p_{i+1}(X^i x) + h_i (1 - sum_x M_s(x) p_{i+1}(X^i x)) = p_i   (``lemma-3``).
    Theorem 1. Given X^i, tau >= i has probability p_i; of that, x comes next with sum over "kept" and "residual":
        M_s(x) p_{i+1}(X^i x) + h_i (1 - sum) max(p_i M_b(x) - M_s(x), 0) / S = p_i M_b(x)   (``token``, ``law``).
        So given tau >= i and X^i the next token follows M_b, and by induction over i so does every prefix.
    Theorem 2 against token verification. Pr_token(tau >= i | X^i) = prod_j min(1, ratio_j) = t_i. If t_i <= p_i then
        t_{i+1} <= p_{i+1} (``dominance``); t_0 = p_0 = 1.

Greedy block verification, with B = M_b(x^l), S = M_s(x^l) joint, p = B / S (Appendix C):
    Lemma 9. Backward induction: sum_x min(B b_x, S s_x) + (S - sum) h = min(B, S)   (``lemma-9``).
    Lemma 8. min(B b_x, S s_x) + (B - sum_y min(B b_y, S s_y)) M_new(x) = B b_x   (``lemma-8``).
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import z3

from ...verifiers import block_verification as block
from ...verifiers import greedy_block_verification as greedy
from ...verifiers.arithmetic import minimum, positive_part, ratio, residual
from ...verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from ...verifiers.sub_block import SubBlockRule
from .reals import reals, total

TIME_LIMIT = 20.0
"""Seconds for one query; beyond it the answer is "no evidence (time-out)", never a proof."""


class Query(NamedTuple):
    """claim: to hold whenever all of ``given`` do. The proof is that given and not claim is unsatisfiable."""

    claim: object
    given: list


class Answer(NamedTuple):
    verdict: str
    seconds: float
    model: z3.ModelRef | None


def ask(query: Query, limit: float = TIME_LIMIT) -> Answer:
    """Prove or refute a query within a time limit."""
    solver = z3.Solver()
    solver.set("timeout", int(1000 * limit))
    solver.add(*query.given, z3.Not(query.claim))
    start = time.perf_counter()
    result = solver.check()
    seconds = time.perf_counter() - start
    if result == z3.unsat:
        return Answer(HOLDS, seconds, None)
    if result == z3.sat:
        return Answer(REFUTED, seconds, solver.model())
    return Answer(NO_EVIDENCE, seconds, None)


def _row(name: str, size: int) -> tuple[list, list]:
    row = reals(name, size)
    return row, [*(x >= 0 for x in row), total(row) == 1]


def _step(size: int):
    """p_i in [0, 1], two rows, and for each token the kept mass m and the residual r as ``token`` proves them."""
    p = z3.Real("p")
    (b, row_b), (s, row_s) = _row("b", size), _row("s", size)
    m, r = reals("m", size), reals("r", size)
    given = [p >= 0, p <= 1, *row_b, *row_s]
    for bx, sx, mx, rx in zip(b, s, m, r):
        given += [mx >= 0, mx <= sx, rx >= 0, mx + rx == p * bx]
    return p, b, s, m, r, given


def token(rule: SubBlockRule, size: int) -> Query:
    """0 <= p' <= 1 and M_s p' + max(p M_b - M_s, 0) = p M_b for every token that can be drafted; if it cannot, the
    residual alone is p M_b. These hold token by token, so one token stands for all V."""
    p, b, s = z3.Reals("p b s")
    kept = rule.survive(p, b, s)
    rest = residual([b], [s], p)[0]
    drafted = z3.And(kept >= 0, kept <= 1, s * kept + rest == p * b)
    return Query(z3.If(s > 0, drafted, rest == p * b), [p >= 0, p <= 1, b >= 0, b <= 1, s >= 0, s <= 1])


def bounds(rule: SubBlockRule, size: int) -> Query:
    """0 <= h_i <= 1; and where the residual is empty nothing is drawn from it: no mass is left undecided, or h_i = 0."""
    p, b, s, m, r, given = _step(size)
    h = rule.accept(p, total(r), b, s)
    nothing = z3.Implies(total(r) == 0, (1 - total(m)) * h == 0)
    return Query(z3.And(h >= 0, h <= 1, nothing), given)


def lemma_3(rule: SubBlockRule, size: int) -> Query:
    p, b, s, m, r, given = _step(size)
    h = rule.accept(p, total(r), b, s)
    return Query(total(m) + h * (1 - total(m)) == p, given)


def law(rule: SubBlockRule, size: int) -> Query:
    """Pr(tau = i | X^i) = h_i (1 - sum_x m_x) is the mass of the residual, so normalised it leaves r_x to each token."""
    p, b, s, m, r, given = _step(size)
    h = rule.accept(p, total(r), b, s)
    return Query(h * (1 - total(m)) == total(r), given)


def dominance(rule: SubBlockRule, size: int) -> Query:
    t, p, b, s = z3.Reals("t p b s")
    given = [t >= 0, t <= p, p <= 1, b >= 0, b <= 1, s > 0, s <= 1]
    return Query(t * minimum(ratio(b, s), 1) <= rule.survive(p, b, s), given)


def _joint(size: int):
    """B, S joint masses of a prefix, and what its continuations have: w_x = B b_x, v_x = S s_x."""
    whole_b, whole_s = z3.Reals("B S")
    w, v = reals("w", size), reals("v", size)
    given = [whole_s > 0, whole_b >= 0, *(x >= 0 for x in w + v), total(w) == whole_b, total(v) == whole_s]
    return whole_b, whole_s, w, v, given


def lemma_9(rule: SubBlockRule, size: int) -> Query:
    """The code's h depends on p_i M_b and M_s through max(p_i M_b - M_s, 0) and max(M_s - p_i M_b, 0) only, and their
    quotient does not change with scale: it is asked at the joint masses. The code's own term for each token's
    shortfall is then named n_x, of which ``lemma-8``'s token-wise part gives n_x + min = v_x."""
    whole_b, whole_s, w, v, given = _joint(size)
    m, r, n = reals("m", size), reals("r", size), reals("n", size)
    for wx, vx, mx, rx, nx in zip(w, v, m, r, n):
        given += [mx >= 0, mx <= wx, mx <= vx, rx == wx - mx, nx == vx - mx]
    h = rule.accept(1, total(r), w, v)
    h = z3.substitute(h, *((positive_part(y - 1 * x), nx) for x, y, nx in zip(w, v, n)))
    return Query(total(m) + (whole_s - total(m)) * h == minimum(whole_b, whole_s), given)


def lemma_8(rule: SubBlockRule, size: int) -> Query:
    """The mass that is left, B - sum_y min, is that of max(B b - S s, 0), so M_new restores B b_x; and the same for
    what the draft has too much. Token by token."""
    whole_b, _, w, v, given = _joint(size)
    both = [minimum(x, y) for x, y in zip(w, v)]
    left = [positive_part(x - y) for x, y in zip(w, v)]
    over = [positive_part(y - x) for x, y in zip(w, v)]
    each = [z3.And(m + rest == x, m + more == y) for m, rest, more, x, y in zip(both, left, over, w, v)]
    return Query(z3.And(total(left) == whole_b - total(both), *each), given)


def lemma_8_from_the_draft(rule: SubBlockRule, size: int) -> Query:
    """A wrong Lemma 8: the joint mass of the draft not taken out. Only to see the query fail."""
    _whole_b, _, w, v, given = _joint(size)
    both = [minimum(x, y) for x, y in zip(w, v)]
    return Query(z3.And(*(m + x == x for m, x in zip(both, w))), given)


class Lemma(NamedTuple):
    """name; the rule it is about; how it is asked; the same with a defect, which must have a counterexample."""

    name: str
    rule: SubBlockRule
    query: Callable[[SubBlockRule, int], Query]
    mutant: SubBlockRule
    mutant_query: Callable[[SubBlockRule, int], Query] | None = None

    def mutated(self, size: int) -> Query:
        return (self.mutant_query or self.query)(self.mutant, size)


UNCAPPED = block.RULE._replace(survive=greedy.survive)
NO_NORMALISER = block.RULE._replace(accept=lambda kept, surplus, target, draft: surplus)
LOW = block.RULE._replace(survive=lambda kept, p, q: kept * block.survive(kept, p, q))
NO_SHORTFALL = greedy.RULE._replace(accept=lambda kept, surplus, target, draft: minimum(surplus, 1))
GENEROUS = block.RULE._replace(
    accept=lambda kept, surplus, target, draft: block.accept(kept, surplus, target, draft) + kept
)

LEMMAS = [
    Lemma("block: token", block.RULE, token, UNCAPPED),
    Lemma("block: bounds", block.RULE, bounds, GENEROUS),
    Lemma("block: lemma-3", block.RULE, lemma_3, NO_NORMALISER),
    Lemma("block: law", block.RULE, law, NO_NORMALISER),
    Lemma("block: dominance over token", block.RULE, dominance, LOW),
    Lemma("greedy: lemma-9", greedy.RULE, lemma_9, NO_SHORTFALL),
    Lemma("greedy: lemma-8", greedy.RULE, lemma_8, greedy.RULE, lemma_8_from_the_draft),
]
