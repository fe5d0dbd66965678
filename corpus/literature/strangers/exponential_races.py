"""Exponential races, derived from the abstract: the first of one race are the drafts, the target's pick is its own."""

from functools import lru_cache

from draftproof.verifiers.arithmetic import Number, Row, normalised
from draftproof.verifiers.chance import Chance
from draftproof.verifiers.trees.descent import Choice, Siblings, descend
from draftproof.verifiers.trees.draft_tree import WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.in_floats import function_of
from draftproof.verifiers.trees.registry import TreeReference

Sum = dict[tuple[Number, Number], Number]
"""(a, b) -> coefficient of a sum of exponentials, sum of coefficient exp(-a s - b t)."""

Pieces = list[tuple[Number, Number | None, Sum]]
"""A function of the times s and t: between each two ratios s / t a sum; None for no end."""


def picks(target: Row, draft: Row, tokens: tuple[int, ...], y: int) -> Number:
    """Pr(the draft's race begins with these tokens in order, and the target picks y).

    All E_v are exponential; token v is at E_v / q_v in the draft's race, and at E_v / p_v in the target's, where y is
    first, at t. So v cannot come before p_v t / q_v in the draft's, and then comes at the rate q_v; y comes at p_y t /
    q_y. s: the time of the last of the tokens so far, over which the next integrates.
    """
    come: Pieces = [(0, None, {(0, 0): 1})]
    ratio = {v: p / q for v, (p, q) in enumerate(zip(target, draft, strict=True)) if q != 0}
    others = [v for v in range(len(target)) if v not in tokens and v != y]
    for x in tokens:
        if x == y:
            there = next((law for low, high, law in come if low <= ratio[x] and (high is None or ratio[x] < high)), {})
            come = [(ratio[x], None, _add({}, there, ratio[x], target[y], target[y]))]
            if x == tokens[-1]:
                late = sum(max(draft[v] * ratio[x], target[v]) for v in others)
                return sum(c / (b + late) for (_, b), c in come[0][2].items())
            continue
        first = [(max(low, ratio[x]), high, law) for low, high, law in come if high is None or high > ratio[x]]
        come = [(low, high, {(a + draft[x], b): c * draft[x] for (a, b), c in law.items()}) for low, high, law in first]
        if x != tokens[-1]:
            come = _integrated(come)
    end = None if y in tokens else ratio.get(y)
    total = 0
    for low, high, law in come:
        high = end if high is None else high if end is None else min(high, end)
        inner = sorted(
            {ratio[v] for v in others if v in ratio and low < ratio[v] and (high is None or ratio[v] < high)}
        )
        for start, stop in zip([low, *inner], [*inner, high], strict=True):
            if stop is not None and stop <= start:
                continue
            later = [v for v in others if v in ratio and ratio[v] <= start]
            plus_a = sum(draft[v] for v in later)
            plus_b = sum(target[v] for v in others if v not in later) + (0 if y in tokens else target[y])
            for (a, b), c in ((((a + plus_a), b + plus_b), c) for (a, b), c in law.items()):
                total += c * (1 / (b + a * start) - (1 / (b + a * stop) if stop is not None else 0)) / a
    return total if y in tokens else total * target[y]


def _integrated(pieces: Pieces) -> Pieces:
    """Over the time from where they begin to s."""
    made, before = [], {}
    for low, high, law in pieces:
        here = dict(before)
        for (a, b), c in law.items():
            here = _add(here, {(a, b): c / a}, low)
            here[a, b] = here.get((a, b), 0) - c / a
        made.append((low, high, here))
        before = _add({}, here, high) if high is not None else {}
    return made


def _add(to: Sum, law: Sum, ratio: Number, rate: Number = 0, weight: Number = 1) -> Sum:
    """Plus weight exp(-rate t) times the law where s is so many t."""
    for (a, b), c in law.items():
        to[0, b + a * ratio + rate] = to.get((0, b + a * ratio + rate), 0) + weight * c
    return to


@lru_cache(maxsize=4096)
def given_order(target: Row, draft: Row, tokens: tuple[int, ...]) -> list[Number]:
    """Return the law of the target's pick, given the first tokens of the draft's race, [V]."""
    return normalised([picks(target, draft, tokens, y) if p != 0 else 0 for y, p in enumerate(target)])


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Return the target's pick in the race of which the siblings are the first; accepted if it is one of them.

    Guarantee: valid for siblings drawn without replacement; with one it is ``shared_gumbel``.
    Source: Kobus and Gunduz 2025 (ERSD, 2504.15475), the abstract; the law is derived here.
    """
    y = chance.draw(given_order(tuple(siblings.target), tuple(siblings.drafts[0]), siblings.tokens))
    return Choice(y, y in siblings.tokens)


RULE = TreeReference("exponential-races", descend(step), "Kobus and Gunduz 2025, derived from the abstract",
                     (WITHOUT_REPLACEMENT,), step=step)  # fmt: skip
verify = function_of(RULE)
