"""One step of block and greedy block verification, for every p_i and every pair of rows: with induction, every gamma.

The algorithms meet a draft token through four formulas (``SubBlockRule``), which see p_{i-1}, the two rows and
nothing else. Each lemma below runs those formulas on z3 reals. The sums over the vocabulary enter only through
what holds token by token: a lemma about sums assumes of m_x (kept) and r_x (residual) what ``token`` proves of the code
(both say it with ``_shares``), and stays small for any V.

Block verification, from these lemmas (Sun et al. 2025, Appendix B):
    Range. p_0 = 1, and ``token``: p_i in [0, 1] gives p_{i+1} in [0, 1]; so h_gamma = p_gamma is, and h_i by
    ``bounds``. Where the residual is empty it is not drawn from: Pr(tau = i | X^i) = h_i (1 - sum_x m_x) = 0.
    Lemma 3. Backward induction over i: Pr(tau >= gamma | X^gamma) = h_gamma = p_gamma; if it holds at i + 1, then
        Pr(tau >= i | X^i) = sum_x M_s(x) p_{i+1}(X^i x) + h_i (1 - sum_x M_s(x) p_{i+1}(X^i x)) = p_i   (``lemma-3``).
    Theorem 1. Given X^i, tau >= i has probability p_i; of that, x comes next with sum over "kept" and "residual":
        M_s(x) p_{i+1}(X^i x) + h_i (1 - sum) max(p_i M_b(x) - M_s(x), 0) / S = p_i M_b(x)   (``token``, ``law``).
        Induction over the length i of the completed output O: Pr(O^i = x^i) is M_s(x^i) p_i (that is tau >= i, Lemma 3)
        and the rest, tau < i, where the target goes on. So Pr(O^{i+1} = x^i x) = Pr(O^i = x^i) M_b(x)
        (``extension``); from i = gamma on the target goes on in either case.
    Theorem 2 against token verification. Pr_token(tau >= i | X^i) = prod_j min(1, ratio_j) = t_i. If t_i <= p_i then
        t_{i+1} <= p_{i+1} (``dominance``); t_0 = p_0 = 1.

Greedy block verification, with B = M_b(x^l), S = M_s(x^l) joint and p = B / S, everything divided by S (Appendix C):
    Token by token (``greedy: token``): p stays the ratio of the joint masses, M_s(x) p' = p M_b(x); what the code calls
        residual and shortfall is p M_b(x) - min and M_s(x) - min, min = min(p M_b(x), M_s(x)).
    Range. h_l in [0, 1], h_gamma too, and an empty residual is not drawn from   (``greedy: bounds``).
    Lemma 9. Backward induction from h_gamma = min(1, p): sum_x min(p b_x, s_x) + (1 - sum) h = min(p, 1)
    (``lemma-9``). Lemma 8. min(p b_x, s_x) + (p - sum_y min(p b_y, s_y)) M_new(x) = p b_x, M_new the normalised
    residual   (``lemma-8``).
"""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple, cast

import z3

from ...verifiers import arithmetic
from ...verifiers import block_verification as block
from ...verifiers import greedy_block_verification as greedy
from ...verifiers.arithmetic import minimum, positive_part, ratio, residual
from ...verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from ...verifiers.sub_block import SubBlockRule
from ..proving import ProofResult

Real = z3.ArithRef


@arithmetic.minimum.register
def _(a: Real, b):
    return z3.If(a <= b, a, b)


@arithmetic.positive_part.register
def _(x: Real):
    return z3.If(x > 0, x, z3.RealVal(0))


@arithmetic.quotient.register
def _(numerator: Real, denominator, at_zero):
    return z3.If(denominator != 0, numerator / denominator, z3.RealVal(at_zero))


@arithmetic.ratio.register
def _(target: Real, draft):
    return z3.If(draft != 0, target / draft, z3.If(target != 0, z3.RealVal(1), z3.RealVal(0)))


def reals(name: str, count: int) -> list[Real]:
    """Return ``count`` variables: name0, name1, ..."""
    return [z3.Real(f"{name}{k}") for k in range(count)]


def total(numbers: list[Real]) -> Real:
    """Return the sum of the numbers. (z3's own stubs say it could be any term.)"""
    return cast(Real, z3.Sum(numbers))


STEP_TIME_LIMIT = 120.0
"""Seconds of processor time for one query; beyond it the answer is "no evidence (time-out)", never a proof."""


class Query(NamedTuple):
    """A question: ``claim`` holds whenever all of ``given`` do: proved if given and not claim is unsatisfiable.

    logic: the one of SMT-LIB that it is in. Where no two variables are multiplied, QF_LRA answers at once.
    """

    claim: object
    given: list
    logic: str = "QF_NRA"


def ask(query: Query, limit: float = STEP_TIME_LIMIT) -> ProofResult:
    """Prove or refute a query, with the model that refutes it, within a limit in seconds of processor time."""
    solver = z3.SolverFor(query.logic)  # the general one takes seconds or minutes, by what the process asked before
    solver.add(*query.given, z3.Not(query.claim))
    result = check(solver, limit)
    if result == z3.sat:
        return ProofResult(REFUTED, f"counterexample: {solver.model()}")
    if result == z3.unsat:
        return ProofResult(HOLDS)
    return ProofResult(NO_EVIDENCE, f"time-out: not decided within {limit:g} s of processor time")


def _row(name: str, size: int) -> tuple[list, list]:
    row = reals(name, size)
    return row, [*(x >= 0 for x in row), total(row) == 1]


def _shares(p, b, s, m, r) -> list:
    """Return the facts that m of s is kept, that r is the residual, and that together they are p b."""
    return [m >= 0, m <= s, r >= 0, m + r == p * b]


class SubBlockStep(NamedTuple):
    """A step: p_i, the target's row, each token's kept mass and residual, h_i, and what is known of them."""

    survival: z3.ArithRef
    target: list[z3.ArithRef]
    kept: list[z3.ArithRef]
    residual: list[z3.ArithRef]
    accept: z3.ArithRef
    given: list


def step_of(rule: SubBlockRule, size: int, most: int | None = 1) -> SubBlockStep:
    """Return one step with p_i from 0 to ``most``, two rows, and each token's m and r as ``token`` proves them.

    In h_i the code's own term for each token's shortfall is named s - m, as ``greedy: token`` allows.
    """
    p = z3.Real("p")
    (b, row_b), (s, row_s) = _row("b", size), _row("s", size)
    m, r = reals("m", size), reals("r", size)
    given = [p >= 0, *([] if most is None else [p <= most]), *row_b, *row_s]
    for bx, sx, mx, rx in zip(b, s, m, r):
        given += _shares(p, bx, sx, mx, rx)
    shortfalls = ((positive_part(sx - p * bx), sx - mx) for bx, sx, mx in zip(b, s, m))
    h = cast(z3.ArithRef, z3.substitute(rule.accept(p, total(r), b, s), *shortfalls))
    return SubBlockStep(p, b, m, r, h, given)


def token(rule: SubBlockRule, size: int) -> Query:
    """Ask whether 0 <= p' <= 1, and M_s p' and max(p M_b - M_s, 0) are shares of p M_b, for every token that can be
    drafted; if it cannot, the residual alone is p M_b. These hold token by token, so one token stands for all V.
    """
    p, b, s = z3.Reals("p b s")
    kept = rule.survive(p, b, s)
    rest = rule.rest([b], [s], p)[0]
    drafted = z3.And(kept >= 0, kept <= 1, *_shares(p, b, s, s * kept, rest))
    never = z3.And(*_shares(p, b, s, z3.RealVal(0), rest))
    return Query(z3.If(s > 0, drafted, never), [p >= 0, p <= 1, b >= 0, b <= 1, s >= 0, s <= 1])


def bounds(rule: SubBlockRule, size: int) -> Query:
    """Ask whether 0 <= h_i <= 1, and whether nothing is drawn from an empty residual: no mass is left, or h_i = 0."""
    _, _, m, r, h, given = step_of(rule, size)
    nothing = z3.Implies(total(r) == 0, (1 - total(m)) * h == 0)
    return Query(z3.And(h >= 0, h <= 1, nothing), given)


def lemma_3(rule: SubBlockRule, size: int) -> Query:
    """Ask whether h_gamma = p_gamma, where the induction begins, and its step."""
    p, _, m, _, h, given = step_of(rule, size)
    return Query(z3.And(rule.accept_all(p) == p, total(m) + h * (1 - total(m)) == p), given)


def law(rule: SubBlockRule, size: int) -> Query:
    """Ask whether Pr(tau = i | X^i) = h_i (1 - sum_x m_x) is the residual's mass, so that each token gets r_x."""
    _, _, m, r, h, given = step_of(rule, size)
    return Query(h * (1 - total(m)) == total(r), given)


def extension(rule: SubBlockRule, size: int) -> Query:
    """Ask whether Pr(O^{i+1} = x^i x) = Pr(O^i = x^i) M_b(x): of the mass a that drafts x^i, and u where the target
    went on.

    The draw from the residual is of the share q = r_x / S, with q S = r_x; where S = 0 it does not happen (``bounds``).
    """
    p, b, m, r, h, given = step_of(rule, size)
    a, u, q = z3.Reals("a u q")
    given += [a >= 0, u >= 0, q >= 0, q <= 1, q * total(r) == r[0]]
    next_comes = cast(z3.ArithRef, m[0] + h * (1 - total(m)) * q)
    after = cast(z3.ArithRef, a * next_comes) + u * b[0]
    return Query(after == (a * p + u) * b[0], given)


def dominance(rule: SubBlockRule, size: int) -> Query:
    t, p, b, s = z3.Reals("t p b s")
    given = [t >= 0, t <= p, p <= 1, b >= 0, b <= 1, s > 0, s <= 1]
    return Query(t * minimum(ratio(b, s), 1) <= rule.survive(p, b, s), given)


def joint_token(rule: SubBlockRule, size: int) -> Query:
    """Ask whether M_s p' = p M_b for a drafted token, and residual and shortfall leave min(p M_b, M_s)."""
    p, b, s = z3.Reals("p b s")
    both, rest, short = minimum(p * b, s), rule.rest([b], [s], p)[0], positive_part(s - p * b)
    followed = z3.Implies(s > 0, s * rule.survive(p, b, s) == p * b)
    given = [p >= 0, b >= 0, b <= 1, s >= 0, s <= 1]
    return Query(z3.And(followed, *_shares(p, b, s, both, rest), short == s - both), given)


def joint_bounds(rule: SubBlockRule, size: int) -> Query:
    """Ask whether 0 <= h <= 1, 0 <= h_gamma <= 1, and nothing is drawn from an empty residual."""
    p, _, m, r, h, given = step_of(rule, size, most=None)
    last = rule.accept_all(p)
    nothing = z3.Implies(total(r) == 0, (1 - total(m)) * h == 0)
    return Query(z3.And(h >= 0, h <= 1, nothing, last >= 0, last <= 1), given)


def lemma_9(rule: SubBlockRule, size: int) -> Query:
    """Ask whether h_gamma = min(1, p), where the induction begins, and its step."""
    p, _, m, _, h, given = step_of(rule, size, most=None)
    last = rule.accept_all(p) == minimum(p, 1)
    return Query(z3.And(last, total(m) + (1 - total(m)) * h == minimum(p, 1)), given)


def lemma_8(rule: SubBlockRule, size: int) -> Query:
    """Ask whether the mass that is left, p - sum_y min, is that of max(p b - s, 0), so M_new restores p b_x; and the
    same for what the draft has too much. Token by token, p b_x named w_x.
    """
    p, w = z3.Real("p"), reals("w", size)
    s, row_s = _row("s", size)
    both, left, over = [minimum(x, y) for x, y in zip(w, s)], rule.rest(w, s, z3.RealVal(1)), residual(s, w)
    each = [z3.And(m + rest == x, m + more == y) for m, rest, more, x, y in zip(both, left, over, w, s)]
    return Query(z3.And(total(left) == p - total(both), *each), [*row_s, *(x >= 0 for x in w), total(w) == p], "QF_LRA")


class Lemma(NamedTuple):
    """A statement about one step.

    claim: the statement of the papers that it is a step of
    query: how it is asked of a rule
    """

    name: str
    claim: str
    rule: SubBlockRule
    query: Callable[[SubBlockRule, int], Query]


LEMMAS = [
    Lemma("block: token", "theorem-1", block.RULE, token),
    Lemma("block: bounds", "acceptance", block.RULE, bounds),
    Lemma("block: lemma-3", "lemma-3", block.RULE, lemma_3),
    Lemma("block: law", "theorem-1", block.RULE, law),
    Lemma("block: extension", "theorem-1", block.RULE, extension),
    Lemma("block: dominance over token", "theorem-2", block.RULE, dominance),
    Lemma("greedy: token", "lemma-9", greedy.RULE, joint_token),
    Lemma("greedy: bounds", "acceptance", greedy.RULE, joint_bounds),
    Lemma("greedy: lemma-9", "lemma-9", greedy.RULE, lemma_9),
    Lemma("greedy: lemma-8", "lemma-8", greedy.RULE, lemma_8),
]


def check(solver: z3.Solver, seconds: float) -> z3.CheckSatResult:
    """Return the solver's answer; ``z3.unknown`` after that many seconds of this process's processor time."""
    end, answered = time.process_time() + seconds, threading.Event()

    def interrupt_in_time() -> None:
        # A solver is one thread, so what is left of its processor time passes no sooner by the clock.
        while not answered.wait(max(end - time.process_time(), 0.01)):
            if time.process_time() >= end:
                solver.ctx.interrupt()

    watcher = threading.Thread(target=interrupt_in_time, daemon=True)
    watcher.start()
    try:
        return solver.check()
    finally:
        answered.set()
        watcher.join()
