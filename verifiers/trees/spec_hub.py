"""SpecHub: two drafts of which one is always the likeliest token, the hub; verified by a plan in closed form."""

from ..arithmetic import Row, minimum, or_else, positive_part, quotient, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings


def hub(row: Row) -> int:
    """Return the likeliest token of the draft's row; ties to the smaller id."""
    return max(range(len(row)), key=lambda t: (row[t], -t))


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Return the next token, and whether it is one of the drafts: the hub and another one, or one alone.

    First the tokens x that are not the hub, as the first draft and then as the second; then the hub, for what is left
    of the pairs that begin with it, and of those that end with it; else Y from what is left of the target. One alone,
    which is all that there is of a path or a row that is sure, is verified as a token.
    Guarantee: valid for x ~ M_s and the hub or, if x is the hub, another token by M_s without it; no valid rule
        accepts more of such pairs.
    Source: Sun, Zhou, Chen and Sun 2024 (SpecHub); MasterGodzilla/Speculative_decoding_OT at b67e1213, MyTree.verify.
    """
    target, row, tokens = siblings.target, siblings.drafts[0], siblings.tokens
    if len(tokens) == 1:
        if chance.flip(minimum(ratio(target[tokens[0]], row[tokens[0]]), 1)):
            return Choice(tokens[0], True)
        return Choice(chance.draw(or_else(residual(target, row), target)), False)
    most = hub(row)
    others = sum(q for x, q in enumerate(row) if x != most)
    left, pairs, taken, share = list(target), {}, {}, {}
    for begins in (False, True):  # with the hub: of each pair of another token with it, its mass and what is accepted
        pairs[begins] = [0 if x == most else row[most] * q / others if begins else q for x, q in enumerate(row)]
        taken[begins] = [minimum(p, mass) for p, mass in zip(left, pairs[begins])]
        left = [p - mass for p, mass in zip(left, taken[begins])]
    for begins in (True, False):
        rest = sum(mass - some for mass, some in zip(pairs[begins], taken[begins]))
        share[begins] = minimum(quotient(left[most], rest, 1), 1)
        left[most] = positive_part(left[most] - rest)
    begins = tokens[0] == most
    other = tokens[1] if begins else tokens[0]
    if chance.flip(quotient(taken[begins][other], pairs[begins][other], 1)):
        return Choice(other, True)
    if chance.flip(share[begins]):
        return Choice(most, True)
    return Choice(chance.draw(or_else(left, target)), False)
