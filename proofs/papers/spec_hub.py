"""SpecHub: two drafts of which one is always the likeliest token, the hub; verified by a plan in closed form."""

from ...verifiers.arithmetic import Row, minimum, positive_part, quotient
from ...verifiers.chance import Chance

Pair = tuple[int, int]
"""The two drafts, in drawing order."""


def hub(row: Row) -> int:
    """The likeliest token of the draft's row; ties to the smaller id."""
    return max(range(len(row)), key=lambda t: (row[t], -t))


def drawn_pair(row: Row, chance: Chance) -> Pair:
    """x ~ M_s; the second draft is the hub, or, if x is the hub, another token by M_s without it."""
    x, a = chance.draw(row), hub(row)
    if x != a or row[a] == sum(row):
        return x, a
    return a, chance.draw([0 if t == a else q for t, q in enumerate(row)])


def accept_of_pair(target: Row, row: Row, pair: Pair, chance: Chance) -> tuple[int, bool]:
    """The next token, and whether it is one of the drafts.

    First the tokens i that are not the hub a, as the first draft and then as the second; then a, for what is left of
    the pairs that begin with it, and of those that end with it; else Y from what is left of the target.
    Guarantee: valid for pairs of ``drawn_pair``.
    Source: Sun, Zhou, Chen and Sun 2024 (SpecHub); MasterGodzilla/Speculative_decoding_OT at b67e1213, MyTree.verify.
    """
    a, one = hub(row), sum(row)
    others = [t for t in range(len(row)) if t != a]
    first = {i: row[i] for i in others}
    second = {i: quotient(row[a] * row[i], one - row[a], 0) for i in others}
    if row[a] == one:  # the pair is the hub twice
        second[a] = one
    left = list(target)
    taken: dict[Pair, object] = {}
    for pairs in (first, second):
        for i, mass in pairs.items():
            if i != a:
                moved = minimum(left[i], mass)
                left[i] -= moved
                taken[(i, a) if pairs is first else (a, i)] = moved
    rest = {True: [], False: []}  # by whether the pair begins with the hub: the pairs and what is left of them
    for i in others:
        rest[False].append(((i, a), first[i] - taken[i, a]))
        rest[True].append(((a, i), second[i] - taken[a, i]))
    if a in second:
        rest[True].append(((a, a), second[a]))
    share = {}
    for begins in (True, False):
        total = sum(m for _, m in rest[begins])
        share[begins] = minimum(quotient(left[a], total, 1), 1)
        left[a] = positive_part(left[a] - total)
    begins = pair[0] == a
    other = pair[1] if begins else pair[0]
    mass = second[other] if begins else first[other]
    if other != a and chance.flip(taken[pair] / mass):
        return other, True
    if chance.flip(share[begins]):
        return a, True
    return chance.draw(left), False
