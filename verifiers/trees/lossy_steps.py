"""Steps of lossy rules: what engines and papers accept beyond what speculative sampling does.

All but the first two verify a single draft at each node.
"""

from collections.abc import Callable
from math import sqrt

from ..arithmetic import Number, Row, minimum, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings, Step
from .typical import as_float


def thresholds_step(single: int = 10, accumulated: int = 10) -> Step:
    """Flip one coin u for all siblings: x_i is accepted if u <= (p(x_1) + .. + p(x_i)) / accumulated or p(x_i) >=
    single.

    After all rejections Y ~ p without the siblings.
    single, accumulated: in tenths.
    Guarantee: with both 1 and distinct siblings valid, and the rule for chosen tokens; equal siblings are counted
        twice. Below 1 not valid: one sibling x comes out with c = min(1, p(x) / accumulated), or 1 from ``single`` on,
        c - p(x) too often.
    Source: SGLang, tree_speculative_sampling_target_only (threshold_single, threshold_acc).
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        p, mass = siblings.target, 0
        left = 1  # Pr(u is above all that was accepted so far)
        for x in siblings.tokens:
            mass = mass + p[x]
            above = 1 - minimum(10 * mass / accumulated, 1)
            if 10 * p[x] >= single or left == 0 or chance.flip(1 - above / left):
                return Choice(x, True)
            left = above
        return Choice(chance.draw([0 if t in siblings.tokens else w for t, w in enumerate(p)]), False)

    return step


def top_n_step(n: int = 2, tenths: int = 6) -> Step:
    """Accept the first sibling among the n likeliest tokens with p(x) >= max p - delta, delta in tenths; else Y ~ p.

    Ties go to the smaller id.
    Guarantee: not valid. With one draft, and A the tokens that pass, the law is q(x) [x in A] + q(not A) p(x).
    Source: TensorRT-LLM, relaxed acceptance of multi-token prediction (N = 10, delta = 0.6; n = 2 here, for V of 2 or
        3).
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        p = siblings.target
        best = sorted(range(len(p)), key=lambda t: (-p[t], t))[:n]
        for x in siblings.tokens:
            if x in best and 10 * (p[best[0]] - p[x]) <= tenths:
                return Choice(x, True)
        return Choice(chance.draw(p), False)

    return step


def ensemble_step(part: int = 1, whole: int = 2) -> Step:
    """Verify a token against v = w p + (1 - w) q, w = part / whole.

    Guarantee: not valid for w < 1. Each token follows v where a draft is verified, and p after the whole block; so the
    first token is (1 - w) TV(p, q) away from the target.
    Source: DIVERSED (2604.07622); transformers, assistant_ensemble_weight.
    """

    def mixed(p: Number, q: Number) -> Number:
        return (part * p + (whole - part) * q) / whole

    def step(siblings: Siblings, chance: Chance) -> Choice:
        (x,), (q,) = siblings.tokens, siblings.drafts
        p = siblings.target
        if chance.flip(minimum(ratio(mixed(p[x], q[x]), q[x]), 1)):
            return Choice(x, True)
        return Choice(chance.draw(residual(list(map(mixed, p, q)), q)), False)

    return step


def entropy_adaptive_step(tenths: int = 3) -> Step:
    """Verify a token: accept with probability min(1, p(x) / q(x) + t), t = tolerance (1 - max p).

    tenths: the tolerance, VLLM_EARS_TOLERANCE.
    Guarantee: not valid. TV of one token = sum over q > p of min(q - p, t q): what is accepted beyond min(p, q); it is
        drawn from the rejected mass, all of which lies where p > q.
    Source: vllm#31483, vllm-ascend#7845, by their descriptions: the uniform is lowered by tolerance x (1 - max p).
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        (x,), (q,) = siblings.tokens, siblings.drafts
        p = siblings.target
        lowered = tenths * (1 - max(p)) / 10
        if chance.flip(minimum(ratio(p[x], q[x]) + lowered, 1) if p[x] != 0 or lowered != 0 else 0):
            return Choice(x, True)
        return Choice(chance.draw(residual(p, q)), False)

    return step


def not_unlikely(p: Row, x: int) -> bool:
    """Return the judge of the rule ``judge``, in place of a trained one: p(x) is at least a tenth of the largest."""
    return 10 * p[x] >= max(p)


def judge_step(keeps: Callable[[Row, int], bool] = not_unlikely) -> Step:
    """Accept x if the judge keeps it, else by token verification.

    Guarantee: not valid. TV of one token = sum over the kept x with q > p of q(x) - p(x): what the judge keeps beyond
        p; where it keeps all it is TV(p, q).
    Source: Bachmann et al. 2025 (Judge Decoding), by the abstract; a judge that sees the target's row is ours.
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        (x,), (q,) = siblings.tokens, siblings.drafts
        p = siblings.target
        if keeps(p, x) or chance.flip(minimum(ratio(p[x], q[x]), 1)):
            return Choice(x, True)
        return Choice(chance.draw(residual(p, q)), False)

    return step


FINE = 2**40
"""The raised probability is rounded to this denominator."""


DELTA = 0.1
"""Largest half of the chi-square divergence of h from p under the rule ``cactus``."""


def peak(target: Row, x: int, delta: float) -> Number:
    """Return h(x) = min(1, p(x) + sqrt(2 delta p(x) (1 - p(x))))."""
    p, one = as_float(target[x]), sum(target)
    more = int(sqrt(max(2 * delta * p * (1 - p), 0)) * FINE)
    return minimum(target[x] + one * more / FINE, one)


def raised(target: Row, x: int, h: Number) -> list[Number]:
    """Return h: the other tokens of p are scaled to what h(x) leaves, [V]."""
    one = sum(target)
    share = (one - h) / (one - target[x]) if target[x] != one else 0
    return [h if t == x else w * share for t, w in enumerate(target)]


def cactus_step(delta: float = DELTA) -> Step:
    """Verify a token against h, which the drafted token itself decides.

    Guarantee: not valid. What comes out is no mixture of the h: each is used where its own token is drafted.
    Source: Hao and Mou 2026 (Cactus); MANGA-UOFA/Cactus at 3b01b816, cactus/cactus.py, solve_constraint.
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        (x,), (q,) = siblings.tokens, siblings.drafts
        p = siblings.target
        if p[x] > q[x]:  # h(x) is at least p(x)
            return Choice(x, True)
        h = peak(p, x, delta)
        if chance.flip(minimum(ratio(h, q[x]), 1)):
            return Choice(x, True)
        return Choice(chance.draw(residual(raised(p, x, h), q)), False)

    return step
