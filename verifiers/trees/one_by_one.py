"""Rules that test siblings one after the other: multi-round rejection and what is made of it, and naive sampling."""

from ..arithmetic import minimum, normalised, or_else, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings


def multi_round(siblings: Siblings, chance: Chance) -> Choice:
    """Accept x_i with probability min(1, p(x_i) / q_i(x_i)), else p <- norm(max(p - q_i, 0)); at the end Y ~ p.

    q_i: the row that x_i was drawn from.
    Guarantee: valid where x_i was drawn from q_i given its elder siblings. So with replacement (q_i = M_s), from
    several drafts, without replacement, and for tokens that were not drawn at all (q_i a point mass).
    Source: Miao et al. 2024 (SpecInfer), Algorithm 2.
    """
    p = list(siblings.target)
    for x, q in zip(siblings.tokens, siblings.drafts, strict=True):
        if chance.flip(minimum(ratio(p[x], q[x]), 1)):
            return Choice(x, True)
        p = normalised(or_else(residual(p, q), p))
    return Choice(chance.draw(p), False)


def without_replacement(siblings: Siblings, chance: Chance) -> Choice:
    """Accept x_i with probability min(1, p(x_i) / q(x_i)), else p <- norm(max(p - q, 0)), q <- norm(q without x_i).

    q starts as the row of the first sibling; the rows of the others are not looked at. Where it is used up, Y ~ p.
    Guarantee: valid where siblings are drawn without replacement; with as many siblings as tokens of positive
    probability one of them is accepted whenever the target allows no other token.
    Source: Chen et al. 2024 (Sequoia), Algorithm 2; Li et al. 2024 (EAGLE); Jeon et al. 2024; Yang et al. 2024.
    """
    p, q = list(siblings.target), list(siblings.drafts[0])
    for k, x in enumerate(siblings.tokens):
        if sum(q) == 0:
            break
        q = normalised(q) if k > 0 else q
        if chance.flip(minimum(ratio(p[x], q[x]), 1)):
            return Choice(x, True)
        p = normalised(or_else(residual(p, q), p))
        q[x] = 0
    return Choice(chance.draw(p), False)


def naive_sampling(siblings: Siblings, chance: Chance) -> Choice:
    """Draw y ~ M_b. It is accepted if a sibling has the token y.

    Guarantee: valid for any way of drafting, known or not: y never depends on the drafts. With k independent drafts
    Pr(accepted) = sum_x M_b(x) (1 - (1 - M_s(x))^k).
    Source: Miao et al. 2024 (SpecInfer), Section 4.3, the baseline "naive sampling".
    """
    y = chance.draw(siblings.target)
    return Choice(y, y in siblings.tokens)


def top_tokens(siblings: Siblings, chance: Chance) -> Choice:
    """Accept x_i with probability p(x_i), else p <- norm(p without x_i); at the end Y ~ p.

    Guarantee: valid for any choice of distinct siblings that does not depend on the target's sample; Pr(accepted) is
    the target's mass on them. It is multi-round rejection with q_i a point mass.
    Source: SafeAILab/EAGLE, evaluate_posterior (EAGLE-2 and later, temperature above 0).
    """
    p = list(siblings.target)
    for x in siblings.tokens:
        if chance.flip(p[x]):
            return Choice(x, True)
        p = normalised(or_else([0 if t == x else w for t, w in enumerate(p)], p))
    return Choice(chance.draw(p), False)
